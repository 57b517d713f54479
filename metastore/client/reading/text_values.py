"""Converts the columns of text files to the types of their table, as Hive's LazySimpleSerDe does."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metastore.client.errors import UnreadableTableError
from metastore.client.reading.schema import Column
from metastore.client.reading.values import scalar
from metastore.domain.keys import KeyKind, kind_of

_LENGTH: Final = re.compile(r"\s*(?:var)?char\s*\(\s*(\d+)\s*\)\s*", re.IGNORECASE)
_DAY: Final = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*")
_NO_TEXT: Final = pa.scalar(None, pa.string())


def check_readable(table: str, column: Column) -> None:
    """Raises UnreadableTableError for a column with several values in a text."""
    if pa.types.is_nested(column.arrow):
        raise UnreadableTableError(
            f"{table}: column {column.name} is {column.type}, which is not read from text files: name the other "
            "columns with columns=, or read it with Spark"
        )


def accepted(texts: pa.Array, column: Column) -> pa.Array:
    """Returns texts as the serde takes them: cut, without fractions of integers, and NULL for spellings of partition
    values that are none in files.
    """
    match kind_of(column.type):
        case KeyKind.INTEGER:
            whole = pc.replace_substring_regex(texts, r"^(\s*[+-]?[0-9]+)\.[0-9]*(\s*)$", r"\1\2")
            return pc.if_else(pc.match_substring_regex(texts, "[eE]"), _NO_TEXT, whole)
        case KeyKind.BOOLEAN:
            return pc.if_else(pc.match_substring_regex(texts, "(?i)^(true|false)$"), texts, _NO_TEXT)
        case KeyKind.FLOAT | KeyKind.DOUBLE:
            is_spelled = pc.match_substring_regex(texts, "(?i)[in]")
            is_java = pc.match_substring_regex(texts, r"^\s*[+-]?(NaN|Infinity)\s*$")
            return pc.if_else(pc.or_(pc.invert(is_spelled), is_java), texts, _NO_TEXT)
    length = _LENGTH.fullmatch(column.type)
    return pc.utf8_slice_codeunits(texts, 0, int(length[1])) if length else texts


def values(texts: pa.Array, column: Column) -> pa.Array:
    """Returns the value of each text; NULL if it is none of the type. A day after the last of its month counts on."""
    found = [scalar(column.type, text).as_py() for text in texts.to_pylist()]
    if kind_of(column.type) is KeyKind.DATE:
        found = [_day(text) if one is None else one for one, text in zip(found, texts.to_pylist(), strict=True)]
    return pa.array(found, column.arrow)


def _day(text: str | None) -> date | None:
    match = _DAY.fullmatch(text or "")
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    return date(year, month, 1) + timedelta(day - 1) if year and 1 <= month <= 12 and 1 <= day <= 31 else None
