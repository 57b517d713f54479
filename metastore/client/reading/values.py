"""Converts texts of partition values, filters and column defaults to values of Arrow types."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from metastore.client.reading.types import arrow_type, char_width
from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.partition_names import DEFAULT_PARTITION

_kind: Final = lru_cache(maxsize=4096)(kind_of)
_DIGITS: Final = 38  # of Hive's longest decimal
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SQL_CAST: Final = re.compile(r"CAST\((?P<value>.*) AS [^()]*(?:\([0-9, ]*\))?\)", re.DOTALL | re.IGNORECASE)
_SQL_TYPED: Final = re.compile(
    r"(?:DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ)\s*(?P<value>'.*')", re.DOTALL | re.IGNORECASE
)
_SQL_TEXT: Final = re.compile(r"'(?P<text>(?:[^'\\]|\\.|'')*)'", re.DOTALL)
_SQL_NUMBER: Final = re.compile(r"(?P<value>-?[0-9.]+(?:[eE][+-]?[0-9]+)?)(?:L|S|Y|D|F|BD)?", re.IGNORECASE)


def scalar(type_string: str, text: str | None) -> pa.Scalar:
    """Returns the value of a text that Hive has written, as in the name of a partition. The default partition is NULL.

    A text that is no value of the type is NULL, as in Hive. Raises UnreadableTableError for a type that Arrow lacks.
    """
    wanted = arrow_type(type_string)
    value = None if text is None or text == DEFAULT_PARTITION else python_value(type_string, text)
    if isinstance(value, Decimal) and pa.types.is_decimal(wanted):
        value = _rounded(value, wanted.scale)
    try:
        return pa.scalar(value, wanted)
    except (pa.ArrowInvalid, OverflowError, ValueError):
        return pa.scalar(None, wanted)


def python_value(type_string: str, text: str) -> Any:
    """Returns a text as a Python value of a Hive type: int, Decimal, float, bool, date, datetime or str.

    None if it is no value of the type, or cannot be in Arrow.
    """
    kind = _kind(type_string)
    if kind is KeyKind.STRING:
        return text
    if kind is KeyKind.OTHER:
        return _other(type_string, text)
    if sort_key(kind, text) is None:
        return None
    match kind:
        case KeyKind.CHAR:
            return text.rstrip(" ").ljust(char_width(type_string))
        case KeyKind.INTEGER:
            number = _decimal(text)
            return int(number) if number is not None and number == number.to_integral_value() else None
        case KeyKind.DECIMAL:
            return _decimal(text)
        case KeyKind.FLOAT | KeyKind.DOUBLE:
            text = text.strip()
            return float(text[:-1] if text[-1:] in "dDfF" and text.lower()[-3:] != "inf" else text)
        case KeyKind.BOOLEAN:
            return sort_key(kind, text) == "true"
        case KeyKind.DATE:
            return _day(sort_key(kind, text) or "")
        case _:
            return moment(text)


def moment(text: str) -> int | None:
    """Returns microseconds since 1970 of a timestamp without a time zone. Digits after the sixth are dropped.

    None if the text is no timestamp, or of a year after 9999.
    """
    key = sort_key(KeyKind.TIMESTAMP, text)
    if key is None or key.startswith(":"):
        return None
    clock, _, fraction = key.partition(".")
    passed = datetime.fromisoformat(clock).replace(tzinfo=UTC) - _EPOCH if key >= "0001" else None
    return None if passed is None else passed // timedelta(microseconds=1) + int(fraction[:6].ljust(6, "0") or 0)


def default_value(type_string: str, expression: str) -> pa.Scalar | None:
    """Returns the value of a default, which Spark stores as the SQL text of a constant. None if it is no such text.

    Raises UnreadableTableError for a type that Arrow lacks.
    """
    text = expression.strip()
    while match := _SQL_CAST.fullmatch(text) or _SQL_TYPED.fullmatch(text):
        text = match["value"].strip()
    if text.upper() in ("NULL", "TRUE", "FALSE"):
        return scalar(type_string, None if text.upper() == "NULL" else text.lower())
    if match := _SQL_TEXT.fullmatch(text):
        text = re.sub(r"\\(.)", r"\1", match["text"].replace("''", "'"))
    elif match := _SQL_NUMBER.fullmatch(text):
        text = match["value"]
    else:
        return None
    found = scalar(type_string, text)
    return found if found.is_valid else None


def _other(type_string: str, text: str) -> Any:
    """Returns a value of a type without an order in the catalog."""
    name = type_string.strip().lower()
    if name == "binary":
        return text.encode()
    return moment(text) if name.startswith("timestamp") else None


def _rounded(value: Decimal, scale: int) -> Decimal:
    with localcontext(prec=2 * _DIGITS):
        return value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP) if value.adjusted() < _DIGITS else value


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return None


def _day(key: str) -> date | None:
    try:
        return date.fromisoformat(key)
    except ValueError:  # a year after 9999
        return None
