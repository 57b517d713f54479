"""Gives CREATE TABLE of text its format and SerDe, which Spark would take from the default format of the session. Pure.

That format is Parquet here, and text in plain Spark. ROW FORMAT without STORED AS, and the class TextInputFormat
without a SerDe, mean text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.translation import Translation

_CANDIDATE = re.compile(r"\brow\s+format\b|\binputformat\b", re.IGNORECASE)
_TEXT = re.compile(r"""["'][\w.]*\.TextInputFormat["']""")


class _Clauses(NamedTuple):
    """The start of ROW FORMAT, whether it names a SerDe, and whether there is a format.

    `classes`: the start and end of STORED AS INPUTFORMAT … OUTPUTFORMAT … with the class of text.
    """

    row_format: int | None = None
    has_serde: bool = False
    has_format: bool = False
    classes: tuple[int, int] | None = None


def parse(text: str) -> Translation | None:
    """Returns the statement with STORED AS TEXTFILE, or None if it has a format or is another statement."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if not (reader.take("CREATE", "TABLE") or reader.take("CREATE", "EXTERNAL", "TABLE")):
        return None
    reader.take("IF", "NOT", "EXISTS")
    try:
        found = _clauses(reader) if reader.multipart_name() else _Clauses()
    except InvalidStatementError:
        return None  # a parenthesis is not closed; Spark's parser reports where
    if found.classes and not found.has_serde:
        start, end = found.classes
        return Translation(f"{text[:start]}STORED AS TEXTFILE{text[end:]}")
    if found.row_format is None or found.has_format:
        return None
    return Translation(f"{text[: found.row_format]}STORED AS TEXTFILE {text[found.row_format :]}")


def _clauses(reader: Reader) -> _Clauses:
    found = _Clauses()
    while (word := reader.peek()) is not None and not reader.at_query():
        if word.matches("("):
            reader.skip_brackets()
        elif reader.take("STORED", "AS", "DIRECTORIES"):
            continue
        elif reader.take("STORED", "AS", "INPUTFORMAT"):
            is_text = _TEXT.fullmatch(reader.literal()) and reader.take("OUTPUTFORMAT") and reader.literal()
            found = found._replace(has_format=True, classes=(word.start, reader.end) if is_text else None)
        elif reader.take("ROW", "FORMAT"):
            found = found._replace(row_format=word.start, has_serde=reader.take("SERDE"))
        else:
            found = found._replace(has_format=found.has_format or word.matches("STORED", "USING", "LIKE"))
            reader.next()
    return found
