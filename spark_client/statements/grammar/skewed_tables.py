"""The statements about skew, which Spark's own parser refuses: text in, frozen dataclasses out. Pure.

Grammar: Hive's HiveParser.g (tableSkewed, storedAsDirs) and AlterClauseParser.g. A statement is claimed only where
these words stand outside brackets, quotes and comments; any other text is left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar import skew_clause
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.skew_clause import SkewedBy
from spark_client.statements.grammar.tokens import tokens

_CANDIDATE = re.compile(r"\b(?:skewed|directories|like)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CreateSkewedTable:
    """CREATE TABLE … SKEWED BY …; `statement` is what is left for Spark's parser, `table` the name as written."""

    table: str
    statement: str
    skewed_by: SkewedBy


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """CREATE TABLE … LIKE `source` …, perhaps with a skew of its own.

    `head` stands before LIKE, `rest` behind the source's name. `has_format`: it says STORED AS or ROW FORMAT;
    `has_provider`: USING.
    """

    table: str
    head: str
    source: str
    rest: str
    has_format: bool
    has_provider: bool
    skewed_by: SkewedBy | None


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


@dataclass(frozen=True, slots=True)
class SetSkewedLocation:
    """ALTER TABLE … [PARTITION (…)] SET SKEWED LOCATION (value = 'location' …), values and locations as literals.

    `partition` is the clause as written, with its brackets.
    """

    table: str
    partition: str | None
    locations: tuple[tuple[tuple[str, ...], str], ...]


Statement = CreateSkewedTable | CreateTableLike | AlterTableSkewed | AlterTableNotSkewed | SetSkewedLocation


def parse(text: str) -> Statement | None:
    """Returns the statement, or None where it is Spark's to parse. Raises InvalidStatementError for a broken clause."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if reader.take("CREATE", "TABLE") or reader.take("CREATE", "EXTERNAL", "TABLE"):
        return _create(text, reader)
    if reader.take("ALTER", "TABLE"):
        return _alter(reader)
    return None


def _create(text: str, reader: Reader) -> CreateSkewedTable | CreateTableLike | None:
    """Cuts out SKEWED BY, and STORED AS DIRECTORIES wherever it stands; a query after AS is not looked into."""
    reader.take("IF", "NOT", "EXISTS")
    name = reader.multipart_name()
    if name is None:
        return None
    head, source = text[: reader.end], reader.multipart_name() if reader.take("LIKE") else None
    behind = reader.end
    cuts: list[tuple[int, int]] = []
    clause, directories = None, False
    while (word := reader.peek()) is not None:
        start = word.start
        if word.depth:
            reader.next()
        elif reader.take("STORED", "AS", "DIRECTORIES"):
            directories = True
            cuts.append((start, reader.end))
        elif reader.take("SKEWED", "BY"):
            if clause is not None:
                raise InvalidStatementError(f"SKEWED BY stands twice in CREATE TABLE {name}")
            clause = skew_clause.columns(reader), skew_clause.values(reader)
            cuts.append((start, reader.end))
        elif word.matches("AS") and not reader.follows("STORED"):
            _refuse_query(name, skewed=clause is not None or directories)
            return None
        else:
            reader.next()
    if directories and clause is None:
        raise InvalidStatementError(f"CREATE TABLE {name}: STORED AS DIRECTORIES needs SKEWED BY (…) ON (…) before it")
    skewed_by = skew_clause.skewed_by(name, *clause, directories=directories) if clause else None
    left = _without(text[: reader.end], cuts).rstrip()
    if source is not None:
        rest = left[behind:].strip()
        options = {word.text.upper() for word in tokens(rest) if not word.depth}
        has_format = bool(options & {"STORED", "ROW"})
        return CreateTableLike(name, head, source, rest, has_format, "USING" in options, skewed_by)
    return CreateSkewedTable(name, left, skewed_by) if skewed_by else None


def _refuse_query(table: str, *, skewed: bool) -> None:
    if skewed:
        raise InvalidStatementError(
            f"CREATE TABLE {table} AS SELECT cannot be SKEWED BY; create {table} with its columns, then INSERT INTO it"
        )


def _alter(reader: Reader) -> Statement | None:
    table = reader.multipart_name()
    if table is None:
        return None
    partition = reader.brackets() if reader.take("PARTITION") else None
    statement: Statement
    if reader.take("SKEWED", "BY"):
        columns, values = skew_clause.columns(reader), skew_clause.values(reader)
        directories = reader.take("STORED", "AS", "DIRECTORIES")
        statement = AlterTableSkewed(table, skew_clause.skewed_by(table, columns, values, directories=directories))
    elif reader.take("NOT", "SKEWED"):
        statement = AlterTableNotSkewed(table, keep_skew=False)
    elif reader.take("NOT", "STORED", "AS", "DIRECTORIES"):
        statement = AlterTableNotSkewed(table, keep_skew=True)
    elif reader.take("SET", "SKEWED", "LOCATION"):
        statement = SetSkewedLocation(table, partition, _locations(table, reader))
    else:
        return None
    reader.expect_end()
    if partition and not isinstance(statement, SetSkewedLocation):
        raise InvalidStatementError(f"ALTER TABLE {table} PARTITION: the skew can be changed for the whole table only")
    return statement


def _locations(table: str, reader: Reader) -> tuple[tuple[tuple[str, ...], str], ...]:
    """(v = 'location', (v, w) = 'location' …)"""
    found: list[tuple[tuple[str, ...], str]] = []
    reader.expect("(")
    while not reader.take(")"):
        if found:
            reader.expect(",")
        value = skew_clause.value(reader)
        token = reader.peek() if reader.take("=") else None
        if token is None or token.kind != "string":
            raise InvalidStatementError(
                f"[Error 10198]: Alter table skewed location doesn't have location map. (table {table}: "
                f"{', '.join(value)} = 'scheme:/path' is wanted)"
            )
        found.append((value, reader.literal()))
    if not found:
        raise InvalidStatementError(
            f"[Error 10197]: Alter table skewed location doesn't have locations. (table {table})"
        )
    return tuple(found)


def _without(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(cuts):
        text = f"{text[:start].rstrip()} {text[end:].lstrip()}"
    return text
