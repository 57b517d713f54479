"""Parses ALTER TABLE … ADD, DROP and RENAME COLUMN. Pure.

Grammar: Spark's SqlBaseParser.g4. For tables of the session catalog, Spark executes only ADD.
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
    """ALTER TABLE … ADD COLUMNS. Column names are in lower case."""

    table: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropColumns:
    """ALTER TABLE … DROP COLUMNS. Column names are in lower case."""

    table: str
    names: tuple[str, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """ALTER TABLE … RENAME COLUMN. `old` is in lower case, `new` as written."""

    table: str
    old: str
    new: str


ColumnStatement = AddColumns | DropColumns | RenameColumn


def parse(text: str) -> ColumnStatement | None:
    """Returns the statement, or None if it is Spark's.

    Nested fields and syntax errors are left to Spark, whose parser has better messages.
    """
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
        return AddColumns(table, tuple(Reader(part).identifier() for part in _listed(text, reader)))
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
    """Returns the items of a list separated by commas, with or without parentheses around the list."""
    first = reader.peek()
    if first is not None and first.matches("("):
        items = parts(reader.brackets())
        reader.expect_end()
        return items
    return [] if first is None else parts(f"({text[first.start :].rstrip('; ')})")
