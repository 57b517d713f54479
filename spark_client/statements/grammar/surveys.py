"""Parses SHOW SKEW, SHOW SCANS and SHOW BUCKET PROBLEMS. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.skew_clause import columns

_CANDIDATE = re.compile(r"\bshow\s+(?:skew|scans|bucket)\b", re.IGNORECASE)


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
    statement: Statement
    if reader.take("SHOW", "SCANS", "OF"):
        query = reader.peek()
        if query is None:
            raise InvalidStatementError("SHOW SCANS OF needs a query")
        return ShowScans(text[query.start :].rstrip("; \n"))
    if reader.take("SHOW", "SKEW", "IN"):
        following = (table := _table(reader)) and reader.peek()
        statement = ShowSkew(table, columns(reader) if following else ())
    elif reader.take("SHOW", "BUCKET", "PROBLEMS", "IN"):
        statement = ShowBucketProblems(_table(reader), reader.take("WITH", "ROWS"))
    else:
        return None
    reader.expect_end()
    return statement


def _table(reader: Reader) -> str:
    name = reader.multipart_name()
    if name is None:
        raise InvalidStatementError("expected the name of a table after IN")
    return name
