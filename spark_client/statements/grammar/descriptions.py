"""Parses DESCRIBE EXTENDED and SHOW CREATE TABLE, whose results include the skew of a table. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.statements.grammar.reader import Reader

_CANDIDATE = re.compile(r"\b(?:extended|formatted|create)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """DESCRIBE EXTENDED or FORMATTED of a table or partition. `partition` is the clause as written."""

    table: str
    partition: str | None


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    """SHOW CREATE TABLE, with or without AS SERDE."""

    table: str


def parse(text: str) -> DescribeTable | ShowCreateTable | None:
    """Returns the statement, or None if it is Spark's. DESCRIBE of a column or AS JSON is."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if reader.take("SHOW", "CREATE", "TABLE"):
        table = reader.multipart_name()
        reader.take("AS", "SERDE")
        return ShowCreateTable(table) if table and reader.peek() is None else None
    if not (reader.take("DESCRIBE") or reader.take("DESC")):
        return None
    reader.take("TABLE")
    if not (reader.take("EXTENDED") or reader.take("FORMATTED")):
        return None
    table = reader.multipart_name()
    partition = reader.brackets() if reader.take("PARTITION") else None
    return DescribeTable(table, partition) if table and reader.peek() is None else None
