"""Parses EXPIRE name [DRY RUN]. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.statements.grammar.reader import Reader, usage

_CANDIDATE = re.compile(r"\bexpire\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Expire:
    """EXPIRE. The name is as written."""

    table: str
    dry_run: bool = False


def parse(text: str) -> Expire | None:
    """Returns the statement, or None if it is Spark's. Raises InvalidStatementError for a syntax error."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if not reader.take("EXPIRE"):
        return None
    with usage("EXPIRE name [DRY RUN]"):
        table = reader.table_name()
        dry_run = reader.take("DRY", "RUN")
        reader.expect_end()
    return Expire(table, dry_run)
