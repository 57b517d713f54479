"""Constants of expressions: their values, and equivalent texts for comparisons with partition keys."""

from __future__ import annotations

import datetime
import math
import struct
from decimal import Decimal
from typing import Any

from metastore.domain.keys import KeyKind
from metastore.domain.kryo.functions import TypedValue
from metastore.domain.kryo.layouts import VALUES
from metastore.domain.kryo.objects import EpochMillis, JavaObject
from metastore.domain.kryo.values import HiveType, IndeterminateError, Instant, is_text

_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_FLOATS = frozenset({"float", "double"})
_VOID = HiveType("void")
_EXACT_AS_DOUBLE = 2**53
# Decimal digits that a double represents exactly.
_DOUBLE_DIGITS = 15


def node_type(node: JavaObject) -> HiveType | None:
    """Returns the declared primitive type of an expression, or None for a complex type."""
    info = node.fields["typeInfo"]
    if not isinstance(info, JavaObject) or not isinstance(info.fields.get("typeName"), str):
        return None
    size = int(info.fields.get("length", info.fields.get("precision", 0)))
    return HiveType(info.fields["typeName"], size, int(info.fields.get("scale", 0)))


def constant_value(node: JavaObject) -> TypedValue:
    """Returns the value of a constant. Raises IndeterminateError for an unsupported type."""
    kind = node_type(node)
    if kind is None:
        raise IndeterminateError
    return typed(kind, node.fields["value"])


def typed(kind: HiveType, value: Any) -> TypedValue:
    """Converts a deserialized value to the type. Raises IndeterminateError if it is not a value of the type."""
    if value is None:
        return TypedValue(kind if kind.name != "void" else _VOID, None)
    result = _value(kind, value)
    if result is None:
        raise IndeterminateError
    return TypedValue(kind, result)


def _value(kind: HiveType, value: Any) -> Any:
    if is_text(kind):
        text = value.fields.get("value") if isinstance(value, JavaObject) else value
        return text if isinstance(text, str) and "\0" not in text else None
    if kind.name == "boolean":
        return value if isinstance(value, bool) else None
    if kind.name in _INTEGERS:
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    if kind.name in _FLOATS:
        return value if isinstance(value, float) and math.isfinite(value) else None
    match kind.name:
        case "decimal":
            return _decimal(value)
        case "date":
            return _date(value)
        case "timestamp":
            return _timestamp(value)
    return None


def _decimal(value: Any) -> Decimal | None:
    """Converts a HiveDecimal: 48 digits in three numbers of 16 digits, the least significant first."""
    if not isinstance(value, JavaObject) or value.name != f"{VALUES}HiveDecimal":
        return None
    parts = [value.fields[name] for name in ("fast2", "fast1", "fast0")]
    scale = value.fields["fastScale"]
    if not all(0 <= part < 10**16 for part in parts) or not 0 <= scale <= 38:
        return None
    digits = int("".join(f"{part:016d}" for part in parts))
    return Decimal(-digits if value.fields["fastSignum"] < 0 else digits).scaleb(-scale)


def _date(value: Any) -> datetime.date | None:
    if isinstance(value, EpochMillis):
        return _day_of(value.millis)
    if isinstance(value, JavaObject) and value.name == f"{VALUES}Date":
        day = value.fields["localDate"]
        return day if isinstance(day, datetime.date) else None
    return None


_HOUR = 3_600_000
_DAY = 24 * _HOUR
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def _day_of(millis: int) -> datetime.date | None:
    """Returns the day that begins at `millis` in the unknown time zone of the client.

    Hive 2.3 sends a date as its midnight in the client's time zone. The day is unambiguous for zones between UTC-10 and
    UTC+12. Other zones overlap (Auckland in summer, UTC+13, has the same time of day as UTC-11), so a time in that
    range is accepted only if it is midnight in the server's own zone. Returns None otherwise.
    """
    local = _local(millis)
    if local is not None and (local.hour, local.minute, local.second) == (0, 0, 0):
        return local.date()
    day, rest = divmod(millis, _DAY)
    if 10 * _HOUR <= rest <= 12 * _HOUR:
        return None
    ordinal = _EPOCH + day + (rest > 12 * _HOUR)
    return datetime.date.fromordinal(ordinal) if 1 <= ordinal <= datetime.date.max.toordinal() else None


def _local(millis: int) -> datetime.datetime | None:
    """Returns the local time in the server's time zone, or None if it is out of range."""
    try:
        return datetime.datetime.fromtimestamp(millis // 1000, tz=datetime.UTC).astimezone().replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None


def _timestamp(value: Any) -> Instant | None:
    """Converts a timestamp. Timestamps of Hive 2.3 are in the server's time zone, as in Hive's metastore."""
    if isinstance(value, EpochMillis):
        local = _local(value.millis)
        if local is None or value.nanos is None or not 0 <= value.nanos < 10**9:
            return None
        return Instant(local.date(), local.hour, local.minute, local.second, value.nanos)
    if isinstance(value, JavaObject) and value.name == f"{VALUES}Timestamp":
        parts = value.fields["localDateTime"]
        return Instant(*parts) if isinstance(parts, tuple) else None
    return None


def literal(key: HiveType, kind: KeyKind, compared_as: HiveType, constant: TypedValue) -> str | None:
    """Returns a text that compares with keys of the type as the constant does in Hive, or None if there is none.

    Hive compares values of two types as a common third type. There is an equivalent text only if a comparison as the
    key's type has the same result.

    Args:
        key: type of the key.
        kind: kind of this type.
        compared_as: type of the key in the comparison: its own type, or a wider one that it is cast to.
        constant: the constant.
    """
    constant_type, value = constant.kind.name, constant.value
    if kind.is_text:
        return _text(kind, constant)
    if kind is KeyKind.BOOLEAN:
        return str(value).lower() if constant_type == "boolean" else None
    if kind is KeyKind.DATE:
        return value.isoformat() if constant_type == "date" else None
    if kind is KeyKind.TIMESTAMP:
        return _moment(value) if constant_type == "timestamp" else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return _number(key, compared_as, constant_type, value)


def _moment(value: Instant) -> str:
    return f"{value.day} {value.hour:02d}:{value.minute:02d}:{value.second:02d}.{value.nanos:09d}"


def _text(kind: KeyKind, constant: TypedValue) -> str | None:
    """Returns the text of a constant, or None if trailing blanks decide: only comparisons of char ignore them."""
    if not is_text(constant.kind):
        return None
    text = str(constant.value)
    if (kind is KeyKind.CHAR) != (constant.kind.name == "char") and text != text.rstrip(" "):
        return None
    return text


def _number(key: HiveType, compared_as: HiveType, constant_type: str, value: float | Decimal) -> str | None:
    """Returns the text of a number, or None if a comparison as double could be inexact.

    Hive compares whole numbers and decimals exactly, unless the key or the constant is a floating-point number.
    """
    if constant_type not in _FLOATS and compared_as.name not in _FLOATS:
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if key.name == "float":
        return _single(value, compared_as.name if compared_as.name == "double" else constant_type)
    if key.name == "bigint" and not -_EXACT_AS_DOUBLE <= value <= _EXACT_AS_DOUBLE:
        return None
    if key.name == "decimal" and (constant_type == "float" or not 0 < key.size <= _DOUBLE_DIGITS):
        return None
    if isinstance(value, float):
        return repr(value)
    is_exact = Decimal(float(value)) == value or len(Decimal(value).as_tuple().digits) <= _DOUBLE_DIGITS
    return str(value) if is_exact else None


def _single(value: float | Decimal, compared_as: str) -> str | None:
    """Returns the text for a float key, or None if it is compared as double and the constant is not a float value."""
    if compared_as != "double":
        return repr(value) if isinstance(value, float) else str(value)
    try:
        exact = Decimal(struct.unpack("f", struct.pack("f", value))[0]) == Decimal(value)
    except OverflowError:
        return None
    return str(value) if exact else None
