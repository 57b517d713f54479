"""Parses ALTER TABLE … [PARTITION (…)] CONCATENATE. Pure.

Grammar: Hive's AlterClauseParser.g.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.statements.grammar.reader import Reader

_CANDIDATE = re.compile(r"\bconcatenate\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Concatenate:
    """ALTER TABLE … CONCATENATE. The table and the partition clause (with parentheses) are as written."""

    table: str
    partition: str | None


def parse(text: str) -> Concatenate | None:
    """Returns the statement, or None if it is Spark's. Raises InvalidStatementError for a syntax error."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if not reader.take("ALTER", "TABLE"):
        return None
    table = reader.multipart_name()
    partition = reader.brackets() if reader.take("PARTITION") else None
    if table is None or not reader.take("CONCATENATE"):
        return None
    reader.expect_end()
    return Concatenate(table, partition)
