"""Adds STORED AS TEXTFILE to CREATE TABLE … ROW FORMAT without a format: separators have a meaning in text only. Pure.

Spark would combine ROW FORMAT with the default format of the session, which is Parquet here, and text in plain Spark.
"""

from __future__ import annotations

import re

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.translation import Translation

_CANDIDATE = re.compile(r"\brow\s+format\b", re.IGNORECASE)


def parse(text: str) -> Translation | None:
    """Returns the statement with its format, or None if it has one or is another statement."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if not (reader.take("CREATE", "TABLE") or reader.take("CREATE", "EXTERNAL", "TABLE")):
        return None
    reader.take("IF", "NOT", "EXISTS")
    try:
        start = _start_of_row_format(reader) if reader.multipart_name() else None
    except InvalidStatementError:
        return None  # a parenthesis is not closed; Spark's parser reports where
    return None if start is None else Translation(f"{text[:start]}STORED AS TEXTFILE {text[start:]}")


def _start_of_row_format(reader: Reader) -> int | None:
    start = None
    while (word := reader.peek()) is not None and not reader.at_query():
        if word.matches("("):
            reader.skip_brackets()
        elif reader.take("STORED", "AS", "DIRECTORIES"):
            continue
        elif word.matches("STORED", "USING", "LIKE"):
            return None
        elif reader.take("ROW", "FORMAT"):
            start = word.start
        else:
            reader.next()
    return start
