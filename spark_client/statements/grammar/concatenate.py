"""ALTER TABLE … [PARTITION (…)] CONCATENATE: text in, a frozen dataclass out. Pure.

Grammar: Hive's AlterClauseParser.g.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.statements.grammar.reader import Reader

_CANDIDATE = re.compile(r"\bconcatenate\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Concatenate:
    """`table` is the name as written, `partition` the clause as written, with its brackets."""

    table: str
    partition: str | None


def parse(text: str) -> Concatenate | None:
    """Returns the statement, or None where it is Spark's to parse. Raises InvalidStatementError for a broken clause."""
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
