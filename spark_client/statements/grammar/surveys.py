"""Parses SHOW SKEW, SHOW SCANS and SHOW BUCKET PROBLEMS. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader, usage
from spark_client.statements.grammar.skew_clause import columns

_CANDIDATE = re.compile(r"\bshow\s+(?:skew|scans|bucket|dropped|history|dependencies)\b", re.IGNORECASE)
_COMMANDS = {
    "DROPPED": "metastore dropped",
    "HISTORY": "metastore history DATABASE.TABLE",
    "DEPENDENCIES": "metastore dependencies DATABASE.TABLE",
}
"""What one looks for as a statement and is a command of the shell. Spark would miss the word FUNCTIONS in it."""


_QUERIES = ("SELECT", "WITH", "FROM", "TABLE", "VALUES", "MAP", "REDUCE", "(")  # first words of a query


@dataclass(frozen=True, slots=True)
class ShowSkew:
    """SHOW SKEW IN table [(columns)]: the skew of the combined columns, or of each column of the table."""

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowScans:
    """SHOW SCANS OF query."""

    query: str


@dataclass(frozen=True, slots=True)
class ShowBucketProblems:
    """SHOW BUCKET PROBLEMS IN table [WITH ROWS]."""

    table: str
    rows: bool


Statement = ShowSkew | ShowScans | ShowBucketProblems


def parse(text: str) -> Statement | None:
    """Returns the statement, or None if it is Spark's. Raises InvalidStatementError for a syntax error."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if reader.take("SHOW", "SCANS"):
        with usage("SHOW SCANS OF SELECT …"):
            reader.expect("OF")
            query = reader.peek()
            if query and not any(map(query.matches, _QUERIES)):
                reader.expect("SELECT")
            return ShowScans(text[reader.next().start :].rstrip("; \n"))
    if reader.take("SHOW", "SKEW"):
        with usage("SHOW SKEW IN table [(columns)]"):
            reader.expect("IN")
            table = reader.table_name()
            return _at_end(reader, ShowSkew(table, columns(reader) if reader.peek() else ()))
    for word, command in _COMMANDS.items():
        if reader.take("SHOW", word):
            raise InvalidStatementError(f"SHOW {word} is not a statement; run  {command}  in a shell")
    if reader.take("SHOW", "BUCKET"):
        with usage("SHOW BUCKET PROBLEMS IN table [WITH ROWS]"):
            reader.expect("PROBLEMS")
            reader.expect("IN")
            return _at_end(reader, ShowBucketProblems(reader.table_name(), reader.take("WITH", "ROWS")))
    return None


def _at_end(reader: Reader, statement: Statement) -> Statement:
    reader.expect_end()
    return statement
