"""Parses CREATE EXTERNAL TABLE without LOCATION. Spark rejects it; Hive uses the location of a managed table. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader

_CANDIDATE = re.compile(r"\bexternal\b", re.IGNORECASE)
# With one of these words the statement has a location or belongs to another module.
_EXCLUDED = ("LOCATION", "SKEWED", "LIKE", "USING")


@dataclass(frozen=True, slots=True)
class CreateExternalTable:
    """CREATE EXTERNAL TABLE. `table` is the name as written, `text` the statement without its semicolon."""

    table: str
    text: str


def parse(text: str) -> CreateExternalTable | None:
    """Returns the statement, or None if it is Spark's or has a query."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if not reader.take("CREATE", "EXTERNAL", "TABLE"):
        return None
    reader.take("IF", "NOT", "EXISTS")
    try:
        table = reader.multipart_name()
        while (word := reader.peek()) is not None:
            if reader.at_query() or (not word.depth and word.matches(*_EXCLUDED)):
                return None
            reader.next()
    except InvalidStatementError:
        return None  # Spark's parser reports the position of the error
    return CreateExternalTable(table, text[: reader.end]) if table else None
