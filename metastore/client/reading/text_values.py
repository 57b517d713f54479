"""Converts the columns of text files to the types of their table, as Hive's LazySimpleSerDe does."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metastore.client.errors import UnreadableTableError
from metastore.client.reading.schema import Column
from metastore.client.reading.values import scalar
from metastore.domain.keys import KeyKind, kind_of

_LENGTH: Final = re.compile(r"\s*(?:var)?char\s*\(\s*(\d+)\s*\)\s*", re.IGNORECASE)
_INTEGER: Final = r"^([+-]?[0-9]+)(?:\.[0-9]*)?$"
_NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_DATE: Final = r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
_TIME: Final = r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,9}))?"
_SPELLINGS: Final = {
    KeyKind.INTEGER: _INTEGER,
    KeyKind.DECIMAL: f"^{_NUMBER}$",
    KeyKind.FLOAT: rf"^\s*(?:{_NUMBER}[fFdD]?|[+-]?(?:NaN|Infinity))\s*$",
    KeyKind.DOUBLE: rf"^\s*(?:{_NUMBER}[fFdD]?|[+-]?(?:NaN|Infinity))\s*$",
    KeyKind.BOOLEAN: "(?i)^(?:true|false)$",
    KeyKind.DATE: f"^{_DATE}$",
    KeyKind.TIMESTAMP: f"^{_DATE} {_TIME}$",
}
"""The texts that are values in a file. Values of partitions have more spellings."""
_MOMENT: Final = re.compile(f"{_DATE}(?: {_TIME})?")
_NO_TEXT: Final = pa.scalar(None, pa.string())


def check_readable(table: str, column: Column) -> None:
    """Raises UnreadableTableError for a column with several values in a text."""
    if pa.types.is_nested(column.arrow):
        raise UnreadableTableError(
            f"{table}: column {column.name} is {column.type}, which is not read from text files: name the other "
            "columns with columns=, or read it with Spark"
        )


def accepted(texts: pa.Array, column: Column) -> pa.Array:
    """Returns texts as the serde takes them: cut to the length of the type, without fractions of integers, and NULL for
    those that are no values of the type.
    """
    kind = kind_of(column.type)
    if spelling := _SPELLINGS.get(kind):
        texts = pc.if_else(pc.match_substring_regex(texts, spelling), texts, _NO_TEXT)
    if kind is KeyKind.INTEGER:
        return pc.replace_substring_regex(texts, _INTEGER, r"\1")
    length = _LENGTH.fullmatch(column.type)
    return pc.utf8_slice_codeunits(texts, 0, int(length[1])) if length else texts


def values(texts: pa.Array, column: Column) -> pa.Array:
    """Returns the value of each text; NULL if it is none of the type. Days, hours, minutes and seconds after the last
    one count on, as in Java: 2020-02-30 is 2020-03-01.
    """
    found = [scalar(column.type, text).as_py() for text in texts.to_pylist()]
    if (kind := kind_of(column.type)) in (KeyKind.DATE, KeyKind.TIMESTAMP):
        days = kind is KeyKind.DATE
        found = [
            _counted_on(text, days=days) if one is None else one
            for one, text in zip(found, texts.to_pylist(), strict=True)
        ]
    return pa.array(found, column.arrow)


def _counted_on(text: str | None, *, days: bool) -> date | datetime | None:
    match = _MOMENT.fullmatch(text or "")
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    if not (year and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    passed = timedelta(day - 1, hours=hour, minutes=minute, seconds=second)
    passed += timedelta(microseconds=int((match[7] or "0")[:6].ljust(6, "0")))
    try:
        moment = datetime(year, month, 1) + passed  # noqa: DTZ001 - Hive's timestamps have no zone
    except OverflowError:  # after the year 9999
        return None
    return moment.date() if days else moment
