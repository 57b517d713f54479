"""The statements about skew, which Spark's own parser refuses: text in, frozen dataclasses out. Pure.

Grammar: Hive's HiveParser.g (tableSkewed, storedAsDirs) and AlterClauseParser.g. A statement is claimed only where
these words stand outside brackets, quotes and comments; any other text is left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.reader import Reader
from spark_client.statements.tokens import Token, tokens

_SUSPICIOUS = re.compile(r"\bskewed\b|\bdirectories\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SkewedBy:
    """SKEWED BY (columns) ON (values): each value is as many SQL literals, as written, as there are columns."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    directories: bool


@dataclass(frozen=True, slots=True)
class CreateSkewedTable:
    """CREATE TABLE … SKEWED BY …; `statement` is what is left for Spark's parser."""

    statement: str
    skewed_by: SkewedBy


@dataclass(frozen=True, slots=True)
class AlterTableSkewed:
    """ALTER TABLE … SKEWED BY …; `table` is the name as written."""

    table: str
    skewed_by: SkewedBy


@dataclass(frozen=True, slots=True)
class AlterTableNotSkewed:
    """ALTER TABLE … NOT SKEWED, or (`keep_skew`) NOT STORED AS DIRECTORIES."""

    table: str
    keep_skew: bool


Statement = CreateSkewedTable | AlterTableSkewed | AlterTableNotSkewed


def parse(text: str) -> Statement | None:
    """The statement, or None where it is Spark's to parse. Raises InvalidStatementError for a broken clause."""
    if not _SUSPICIOUS.search(text):
        return None
    words = [token for token in tokens(text) if not token.says(";") or token.depth]
    if len(words) < 3:
        return None
    if words[0].says("CREATE") and "TABLE" in (word.text.upper() for word in words[1:3]):
        return _create(text, words)
    if words[0].says("ALTER") and words[1].says("TABLE"):
        return _alter(text, words)
    return None


def _create(text: str, words: Sequence[Token]) -> CreateSkewedTable | None:
    """Cuts out SKEWED BY, and STORED AS DIRECTORIES wherever it stands; a query after AS is not looked into."""
    cuts: list[tuple[int, int]] = []
    clause, directories = None, False
    reader = Reader(text, words)
    while (word := reader.peek()) is not None:
        start = word.start
        if word.depth:
            reader.next()
        elif reader.take("STORED", "AS", "DIRECTORIES"):
            directories = True
            cuts.append((start, reader.end))
        elif reader.take("SKEWED", "BY"):
            if clause is not None:
                raise InvalidStatementError("SKEWED BY stands twice in CREATE TABLE")
            clause = _columns(reader), _values(reader)
            cuts.append((start, reader.end))
        elif word.says("AS") and not reader.follows("STORED"):
            break
        else:
            reader.next()
    if clause is None:
        return None
    columns, values = clause
    return CreateSkewedTable(_without(text, cuts), _skewed_by(columns, values, directories=directories))


def _alter(text: str, words: Sequence[Token]) -> AlterTableSkewed | AlterTableNotSkewed | None:
    reader = Reader(text, words[2:])
    table = reader.multipart_name()
    if table is None:
        return None
    in_partition = reader.take("PARTITION") and reader.skip_brackets()
    if reader.take("SKEWED", "BY"):
        columns, values = _columns(reader), _values(reader)
        directories = reader.take("STORED", "AS", "DIRECTORIES")
        statement: AlterTableSkewed | AlterTableNotSkewed = AlterTableSkewed(
            table, _skewed_by(columns, values, directories=directories)
        )
    elif reader.take("NOT", "SKEWED"):
        statement = AlterTableNotSkewed(table, keep_skew=False)
    elif reader.take("NOT", "STORED", "AS", "DIRECTORIES"):
        statement = AlterTableNotSkewed(table, keep_skew=True)
    else:
        return None
    reader.expect_end()
    if in_partition:
        raise InvalidStatementError(f"ALTER TABLE {table} PARTITION: the skew can be changed for the whole table only")
    return statement


def _columns(reader: Reader) -> tuple[str, ...]:
    """(c1, c2 …)"""
    columns: list[str] = []
    reader.expect("(")
    while not reader.take(")"):
        if columns:
            reader.expect(",")
        columns.append(reader.identifier())
    return tuple(columns)


def _values(reader: Reader) -> tuple[tuple[str, ...], ...]:
    """ON (v1, v2 …), or ON ((v1, w1), (v2, w2) …)"""
    values: list[tuple[str, ...]] = []
    reader.expect("ON")
    reader.expect("(")
    while not reader.take(")"):
        if values:
            reader.expect(",")
        values.append(_tuple(reader) if reader.take("(") else (reader.literal(),))
    return tuple(values)


def _tuple(reader: Reader) -> tuple[str, ...]:
    literals: list[str] = []
    while not reader.take(")"):
        if literals:
            reader.expect(",")
        literals.append(reader.literal())
    return tuple(literals)


def _skewed_by(columns: tuple[str, ...], values: tuple[tuple[str, ...], ...], *, directories: bool) -> SkewedBy:
    """Checks what needs no table, with the texts and codes of Hive's ErrorMsg."""
    if not columns:
        raise InvalidStatementError("[Error 10200]: No skewed column name.")
    if not values:
        raise InvalidStatementError("[Error 10201]: No skewed values.")
    doubled = next((name for name in columns if columns.count(name) > 1), None)
    if doubled is not None:
        raise InvalidStatementError(f"[Error 10202]: Duplicate skewed column name: {doubled}")
    uneven = next((value for value in values if len(value) != len(columns)), None)
    if uneven is not None:
        raise InvalidStatementError(
            "[Error 10206]: The number of skewed column names and the number of skewed column values are different: "
            f"{len(columns)} : {len(uneven)} in ({', '.join(uneven)})"
        )
    return SkewedBy(columns, values, directories)


def _without(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(cuts):
        text = f"{text[:start].rstrip()} {text[end:].lstrip()}"
    return text.strip()
