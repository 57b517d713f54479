"""Parses SHOW CREATE DATABASE of Hive and Doris. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader

_CANDIDATE = re.compile(r"\bcreate\s+(?:database|schema)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ShowCreateDatabase:
    """SHOW CREATE DATABASE or SHOW CREATE SCHEMA. The name is as written."""

    database: str


def parse(text: str) -> ShowCreateDatabase | None:
    """Returns the statement, or None if it is Spark's. Raises InvalidStatementError if the name is missing."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if not (reader.take("SHOW", "CREATE", "DATABASE") or reader.take("SHOW", "CREATE", "SCHEMA")):
        return None
    name = reader.multipart_name()
    if name is None:
        raise InvalidStatementError("SHOW CREATE DATABASE needs the name of a database")
    reader.expect_end()
    return ShowCreateDatabase(name)
