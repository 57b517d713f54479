"""SHOW CREATE DATABASE, as Hive and Doris have it: text in, a frozen dataclass out. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader

_CANDIDATE = re.compile(r"\bcreate\s+(?:database|schema)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ShowCreateDatabase:
    """SHOW CREATE DATABASE, or SCHEMA; the name as written."""

    database: str


def parse(text: str) -> ShowCreateDatabase | None:
    """Returns the statement, or None where it is Spark's. Raises InvalidStatementError where it names nothing."""
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
