"""Parses statements about skew, which Spark's parser rejects. Pure.

Grammar: Hive's HiveParser.g (tableSkewed, storedAsDirs) and AlterClauseParser.g. Words inside parentheses, quotes and
comments do not count.
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
    """CREATE TABLE … SKEWED BY …. `statement` is the text without the skew clauses. `table` is the name as written."""

    table: str
    statement: str
    skewed_by: SkewedBy


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """CREATE TABLE … LIKE, with or without a skew clause.

    Attributes:
        table: The name as written.
        head: The text before LIKE.
        source: The name after LIKE, as written.
        rest: The text after the source, without the skew clauses.
        has_format: The statement has STORED AS or ROW FORMAT.
        has_provider: The statement has USING.
        skewed_by: The skew clause, or None.
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
    """ALTER TABLE … SKEWED BY …. `table` is the name as written."""

    table: str
    skewed_by: SkewedBy


@dataclass(frozen=True, slots=True)
class AlterTableNotSkewed:
    """ALTER TABLE … NOT SKEWED, or NOT STORED AS DIRECTORIES (`keep_skew`)."""

    table: str
    keep_skew: bool


@dataclass(frozen=True, slots=True)
class SetSkewedLocation:
    """ALTER TABLE … [PARTITION (…)] SET SKEWED LOCATION (value = 'location' …).

    Values and locations are literals. `partition` is the clause as written, with parentheses.
    """

    table: str
    partition: str | None
    locations: tuple[tuple[tuple[str, ...], str], ...]


Statement = CreateSkewedTable | CreateTableLike | AlterTableSkewed | AlterTableNotSkewed | SetSkewedLocation


def parse(text: str) -> Statement | None:
    """Returns the statement, or None if it is Spark's. Raises InvalidStatementError for a syntax error."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if reader.take("CREATE", "TABLE") or reader.take("CREATE", "EXTERNAL", "TABLE"):
        return _create(text, reader)
    if reader.take("ALTER", "TABLE"):
        return _alter(reader)
    return None


def _create(text: str, reader: Reader) -> CreateSkewedTable | CreateTableLike | None:
    """Removes SKEWED BY and STORED AS DIRECTORIES, in any position, from CREATE TABLE. Stops at AS before a query."""
    reader.take("IF", "NOT", "EXISTS")
    name = reader.multipart_name()
    if name is None:
        return None
    head, source = text[: reader.end], reader.multipart_name() if reader.take("LIKE") else None
    rest_start = reader.end
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
                raise InvalidStatementError(f"CREATE TABLE {name} has two SKEWED BY clauses: remove one")
            clause = skew_clause.columns_and_values(reader)
            cuts.append((start, reader.end))
        elif reader.at_query():
            _reject_query(name, skewed=clause is not None or directories)
            return None
        else:
            reader.next()
    if directories and clause is None:
        raise InvalidStatementError(f"CREATE TABLE {name}: STORED AS DIRECTORIES needs SKEWED BY (…) ON (…) before it")
    skewed_by = skew_clause.skewed_by(name, *clause, directories=directories) if clause else None
    remaining = _without(text[: reader.end], cuts).rstrip()
    if source is not None:
        rest = remaining[rest_start:].strip()
        options = {word.text.upper() for word in tokens(rest) if not word.depth}
        has_format = bool(options & {"STORED", "ROW"})
        return CreateTableLike(name, head, source, rest, has_format, "USING" in options, skewed_by)
    return CreateSkewedTable(name, remaining, skewed_by) if skewed_by else None


def _reject_query(table: str, *, skewed: bool) -> None:
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
        columns, values = skew_clause.columns_and_values(reader)
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
    """Parses (v = 'location', (v, w) = 'location' …)."""
    locations: list[tuple[tuple[str, ...], str]] = []
    reader.expect("(")
    while not reader.take(")"):
        if locations:
            reader.expect(",")
        value = skew_clause.value(reader)
        token = reader.peek() if reader.take("=") else None
        if token is None or token.kind != "string":
            raise InvalidStatementError(
                f"[Error 10198]: Alter table skewed location doesn't have location map. (table {table}: "
                f"{', '.join(value)} = 'scheme:/path' is expected)"
            )
        locations.append((value, reader.literal()))
    if not locations:
        raise InvalidStatementError(
            f"[Error 10197]: Alter table skewed location doesn't have locations. (table {table})"
        )
    return tuple(locations)


def _without(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    """Returns the text without the ranges, which must be sorted."""
    for start, end in reversed(cuts):
        text = f"{text[:start].rstrip()} {text[end:].lstrip()}"
    return text
