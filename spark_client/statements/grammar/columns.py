"""ALTER TABLE … ADD, DROP and RENAME COLUMN: text in, a frozen dataclass out. Pure.

Grammar: Spark's SqlBaseParser.g4. Spark carries out ADD alone for tables of its session's catalog.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.tokens import parts

_CANDIDATE = re.compile(r"\b(?:add|drop|rename)\s+columns?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AddColumns:
    """Names in lower case."""

    table: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropColumns:
    """Names in lower case."""

    table: str
    names: tuple[str, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """`old` in lower case, `new` as written."""

    table: str
    old: str
    new: str


ColumnStatement = AddColumns | DropColumns | RenameColumn


def parse(text: str) -> ColumnStatement | None:
    """Returns the statement; None where it is none, or cannot be read, or is about a part of a column: Spark's parser
    says more."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if not reader.take("ALTER", "TABLE"):
        return None
    table = reader.multipart_name()
    try:
        return None if table is None else _statement(text, table, reader)
    except InvalidStatementError:
        return None


def _statement(text: str, table: str, reader: Reader) -> ColumnStatement | None:
    if reader.take("RENAME", "COLUMN"):
        old = reader.identifier()
        reader.expect("TO")
        new = reader.next()
        reader.expect_end()
        return RenameColumn(table, old, new.text[1:-1].replace("``", "`") if new.kind == "quoted" else new.text)
    if reader.take("ADD", "COLUMN") or reader.take("ADD", "COLUMNS"):
        listed = _listed(text, reader)
        return AddColumns(table, tuple(Reader(part).identifier() for part in listed))
    if not (reader.take("DROP", "COLUMN") or reader.take("DROP", "COLUMNS")):
        return None
    if_exists = reader.take("IF", "EXISTS")
    names = []
    for part in _listed(text, reader):
        column = Reader(part)
        names.append(column.identifier())
        column.expect_end()
    return DropColumns(table, tuple(names), if_exists)


def _listed(text: str, reader: Reader) -> list[str]:
    """Returns what stands between the commas, with brackets around all or without."""
    first = reader.peek()
    if first is not None and first.matches("("):
        found = parts(reader.brackets())
        reader.expect_end()
        return found
    return [] if first is None else parts(f"({text[first.start :].rstrip('; ')})")
