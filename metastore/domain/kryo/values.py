"""Hive's types and values: parsing of partition texts, and casts.

Whole numbers are int, decimals Decimal, float and double float, strings str (a char without its padding), dates date,
timestamps an Instant, and NULL None. Functions raise IndeterminateError where Hive's versions differ or its rule is
unknown.
"""

from __future__ import annotations

import datetime
import math
import re
import struct
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple


class IndeterminateError(Exception):
    """Hive's result is not known for certain: its versions differ, or the rule is unknown."""


class Instant(NamedTuple):
    """A timestamp without a time zone."""

    day: datetime.date
    hour: int
    minute: int
    second: int
    nanos: int


class HiveType(NamedTuple):
    """A primitive type: `decimal(10,2)` is ("decimal", 10, 2), `char(5)` is ("char", 5), `int` is ("int",)."""

    name: str
    size: int = 0
    scale: int = 0


_DIGITS = Context(prec=200)
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_TEXTS = frozenset({"string", "varchar", "char"})
_FLOATS = frozenset({"float", "double"})
_BOOLEANS = {"true": True, "false": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_TRUNCATED = re.compile(r"([+-]?[0-9]{1,19})\.[0-9]*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_TIMESTAMP = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?")
_TYPE = re.compile(r"([a-z]+)(?:\(([0-9]{1,5})(?:,([0-9]{1,2}))?\))?")


def hive_type(text: str) -> HiveType:
    """Parses the type string of a partition key. Raises IndeterminateError for an unsupported type."""
    match = _TYPE.fullmatch(text)
    if match is None:
        raise IndeterminateError
    return HiveType(match[1], int(match[2] or 0), int(match[3] or 0))


def is_number(kind: HiveType) -> bool:
    return kind.name in _BITS or kind.name in _FLOATS or kind.name == "decimal"


def is_text(kind: HiveType) -> bool:
    return kind.name in _TEXTS


def fits(kind: HiveType, value: Any) -> bool:
    """Returns whether the value is of the type. A message may declare any type for any value."""
    if value is None:
        return True
    if kind.name in _BITS:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind.name in _FLOATS:
        return isinstance(value, float)
    if is_text(kind):
        return isinstance(value, str)
    expected = {"boolean": bool, "decimal": Decimal, "date": datetime.date, "timestamp": Instant}.get(kind.name)
    return expected is not None and isinstance(value, expected)


def read(kind: HiveType, text: str) -> Any:
    """Parses the stored text of a partition value. Raises IndeterminateError if it is not a value of the type."""
    if is_text(kind):
        return _cut(kind, text)
    if kind.name == "boolean":
        if text not in _BOOLEANS:
            raise IndeterminateError
        return _BOOLEANS[text]
    value = None if text != text.strip() else converted(HiveType("string"), kind, text)
    if value is None:
        raise IndeterminateError
    return value


def converted(source: HiveType, target: HiveType, value: Any) -> Any:
    """Converts a value as Hive's casts do. NULL stays NULL; raises IndeterminateError for an unknown conversion."""
    if value is None or source == target:
        return value
    if is_text(target):
        return _cut(target, _as_text(source, value))
    if is_number(target):
        return _as_number(source, target, value)
    if target.name == "date":
        return _as_date(source, value)
    if target.name == "timestamp":
        return _as_timestamp(source, value)
    raise IndeterminateError


def _cut(kind: HiveType, text: str) -> str:
    if kind.name == "char":
        return text[: kind.size].rstrip(" ") if kind.size else text.rstrip(" ")
    return text[: kind.size] if kind.name == "varchar" and kind.size else text


def _as_text(source: HiveType, value: Any) -> str:
    if is_text(source):
        return str(value)
    if source.name in _BITS or source.name == "date":
        return str(value)
    raise IndeterminateError


def _as_number(source: HiveType, target: HiveType, value: Any) -> Any:
    if is_text(source):
        return _parsed(target, value)
    if source.name == "boolean":
        value = int(value)
    elif not is_number(source):
        raise IndeterminateError
    if target.name in _BITS:
        return _whole(target, value)
    if target.name == "decimal":
        if source.name in _FLOATS:
            raise IndeterminateError
        return _fitted(target, Decimal(value))
    return _floating(target, float(value))


def _whole(target: HiveType, value: Any) -> int:
    """Converts to a whole number as Java does: doubles saturate, NaN is 0, whole numbers lose their high bits."""
    bits = _BITS[target.name]
    if isinstance(value, float):
        limit = 1 << (63 if bits == 64 else 31)
        value = 0 if math.isnan(value) else int(max(-limit, min(limit - 1, value)))
    elif isinstance(value, Decimal) and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise IndeterminateError  # later versions return NULL
    return ((int(value) + (1 << bits - 1)) & ((1 << bits) - 1)) - (1 << bits - 1)


def _fitted(target: HiveType, value: Decimal) -> Decimal | None:
    """Rounds to the scale. Returns None (NULL) if the value has too many integer digits."""
    precision, scale = target.size or 10, target.scale
    if not 0 <= scale <= precision <= 57 or value.adjusted() > 60 or len(value.as_tuple().digits) > 60:
        raise IndeterminateError
    rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _DIGITS)
    return None if rounded.copy_abs() >= Decimal(10) ** (precision - scale) else rounded


def _floating(target: HiveType, value: float) -> float:
    if target.name == "double":
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        raise IndeterminateError from None


def _parsed(target: HiveType, text: str) -> Any:
    """Parses a number. Returns None (NULL) for a text that is certainly not a number."""
    if target.name in _BITS:
        match = _INTEGER.fullmatch(text) or _TRUNCATED.fullmatch(text)
        if match:
            whole = int(match[1] if match.re is _TRUNCATED else text)
            if _whole(target, whole) != whole:
                raise IndeterminateError
            return whole
    elif _NUMBER.fullmatch(text):
        return _fitted(target, Decimal(text)) if target.name == "decimal" else _floating(target, float(text))
    if _cannot_be_number(text):
        return None
    raise IndeterminateError


def _cannot_be_number(text: str) -> bool:
    """Returns whether Java cannot parse the text as a number.

    True for dates and for texts without digits; Java accepts spellings such as 0x1p3, NaN and 1d.
    """
    if _DATE.fullmatch(text) or _TIMESTAMP.fullmatch(text):
        return True
    return not any(character.isdigit() for character in text) and text.strip().lower().lstrip("+-") not in (
        "nan",
        "infinity",
        "inf",
    )


def _as_date(source: HiveType, value: Any) -> datetime.date | None:
    if source.name == "timestamp":
        return value.day  # type: ignore[no-any-return] # an Instant
    if not is_text(source):
        raise IndeterminateError
    match = _DATE.fullmatch(value)
    if match is None:
        if any(character.isdigit() for character in value) and not _INTEGER.fullmatch(value):
            raise IndeterminateError
        return None
    return _day(match)


def _day(match: re.Match[str]) -> datetime.date:
    try:
        return datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        raise IndeterminateError from None  # Hive 2.3 reads February 31 as March 2 or 3


def _as_timestamp(source: HiveType, value: Any) -> Instant | None:
    if source.name == "date":
        return Instant(value, 0, 0, 0, 0)
    if not is_text(source):
        raise IndeterminateError
    match, day = _TIMESTAMP.fullmatch(value), _DATE.fullmatch(value)
    if match is None:
        if day is None:
            raise IndeterminateError
        return Instant(_day(day), 0, 0, 0, 0)
    hour, minute, second = int(match[2]), int(match[3]), int(match[4])
    date = _DATE.fullmatch(match[1])
    if date is None or hour > 23 or minute > 59 or second > 59:
        raise IndeterminateError
    return Instant(_day(date), hour, minute, second, int((match[5] or "0").ljust(9, "0")))


def common(left: HiveType, right: HiveType) -> HiveType:
    """Returns the common type in which Hive compares two types. Raises IndeterminateError for unknown combinations."""
    if left.name == right.name:
        return HiveType(left.name, 0, 0) if left.name != "decimal" else HiveType("decimal", 38, 18)
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if is_text(left) and is_text(right):
        return HiveType("string")
    names = {left.name, right.name}
    if {"date", "timestamp"} == names:
        return HiveType("timestamp")
    other = left if is_text(right) or right.name == "boolean" else right
    if is_text(left) or is_text(right):
        return HiveType("double") if is_number(other) or other.name == "boolean" else _point_in_time(other)
    if "boolean" in names and is_number(other):
        return HiveType("double")
    raise IndeterminateError


def _common_number(left: HiveType, right: HiveType) -> HiveType:
    names = (left.name, right.name)
    for name in ("double", "float"):
        if name in names:
            return HiveType(name)
    return HiveType("decimal", 57, 18) if "decimal" in names else HiveType("bigint")


def _point_in_time(kind: HiveType) -> HiveType:
    if kind.name not in ("date", "timestamp"):
        raise IndeterminateError
    return kind
