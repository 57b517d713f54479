"""Constants of Hive's expressions: their values, and the texts that compare with keys of partitions as they do."""

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
# What a double tells apart: decimal digits.
_DOUBLE_DIGITS = 15


def node_type(node: JavaObject) -> HiveType | None:
    """Returns the type that an expression says it has; None for one of several parts."""
    found = node.fields["typeInfo"]
    if not isinstance(found, JavaObject) or not isinstance(found.fields.get("typeName"), str):
        return None
    size = int(found.fields.get("length", found.fields.get("precision", 0)))
    return HiveType(found.fields["typeName"], size, int(found.fields.get("scale", 0)))


def constant_value(node: JavaObject) -> TypedValue:
    """Returns the value of a constant. Raises IndeterminateError for what is not known here."""
    kind = node_type(node)
    if kind is None:
        raise IndeterminateError
    return typed(kind, node.fields["value"])


def typed(kind: HiveType, value: Any) -> TypedValue:
    """Returns a value as Kryo wrote it. Raises IndeterminateError where it is not of the type."""
    if value is None:
        return TypedValue(kind if kind.name != "void" else _VOID, None)
    found = _value(kind, value)
    if found is None:
        raise IndeterminateError
    return TypedValue(kind, found)


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
    """Reads a HiveDecimal: 48 digits in three numbers of 16, the lowest first."""
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
    """Returns the day whose midnight this is, in the zone of whoever wrote it, wherever that may be.

    Zones are less than 10 hours behind UTC, or less than 12 before: of the few beyond (Auckland in summer is as far
    before as Pago Pago is behind) only the server's own is taken.
    """
    local = _local(millis)
    if local is not None and (local.hour, local.minute, local.second) == (0, 0, 0):
        return local.date()
    day, rest = divmod(millis, _DAY)
    if 10 * _HOUR <= rest <= 12 * _HOUR:
        return None
    found = _EPOCH + day + (rest > 12 * _HOUR)
    return datetime.date.fromordinal(found) if 1 <= found <= datetime.date.max.toordinal() else None


def _local(millis: int) -> datetime.datetime | None:
    """Returns it in the server's zone."""
    try:
        return datetime.datetime.fromtimestamp(millis // 1000, tz=datetime.UTC).astimezone().replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None


def _timestamp(value: Any) -> Instant | None:
    """Reads an instant of Hive 2.3 in the server's zone, as Hive's own metastore does."""
    if isinstance(value, EpochMillis):
        local = _local(value.millis)
        if local is None or value.nanos is None or not 0 <= value.nanos < 10**9:
            return None
        return Instant(local.date(), local.hour, local.minute, local.second, value.nanos)
    if isinstance(value, JavaObject) and value.name == f"{VALUES}Timestamp":
        found = value.fields["localDateTime"]
        return Instant(*found) if isinstance(found, tuple) else None
    return None


def literal(key: HiveType, kind: KeyKind, compared_as: HiveType, constant: TypedValue) -> str | None:
    """Returns the text that compares with keys of a type as the constant does in Hive; None where there is none.

    `compared_as`: the key's type, or a wider one that it is cast to. Hive compares two types as a third one: only what
    comes out the same when both are read as the key's type is given a text.
    """
    of, value = constant.kind.name, constant.value
    if kind.is_text:
        return _text(kind, constant)
    if kind is KeyKind.BOOLEAN:
        return str(value).lower() if of == "boolean" else None
    if kind is KeyKind.DATE:
        return value.isoformat() if of == "date" else None
    if kind is KeyKind.TIMESTAMP:
        return _moment(value) if of == "timestamp" else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return _number(key, compared_as, of, value)


def _moment(value: Instant) -> str:
    return f"{value.day} {value.hour:02d}:{value.minute:02d}:{value.second:02d}.{value.nanos:09d}"


def _text(kind: KeyKind, constant: TypedValue) -> str | None:
    """Returns a constant as text; None where padding decides: only a char is compared without its blanks."""
    if not is_text(constant.kind):
        return None
    text = str(constant.value)
    if (kind is KeyKind.CHAR) != (constant.kind.name == "char") and text != text.rstrip(" "):
        return None
    return text


def _number(key: HiveType, compared_as: HiveType, of: str, value: float | Decimal) -> str | None:
    """Whole numbers and decimals compare exactly; with a double, what a double cannot tell apart does not."""
    if of not in _FLOATS and compared_as.name not in _FLOATS:
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if key.name == "float":
        return _single(value, compared_as.name if compared_as.name == "double" else of)
    if key.name == "bigint" and not -_EXACT_AS_DOUBLE <= value <= _EXACT_AS_DOUBLE:
        return None
    if key.name == "decimal" and (of == "float" or not 0 < key.size <= _DOUBLE_DIGITS):
        return None
    if isinstance(value, float):
        return repr(value)
    is_exact = Decimal(float(value)) == value or len(Decimal(value).as_tuple().digits) <= _DOUBLE_DIGITS
    return str(value) if is_exact else None


def _single(value: float | Decimal, of: str) -> str | None:
    """Returns a key of four bytes: with a double, only what it can be itself."""
    if of != "double":
        return repr(value) if isinstance(value, float) else str(value)
    try:
        exact = Decimal(struct.unpack("f", struct.pack("f", value))[0]) == Decimal(value)
    except OverflowError:
        return None
    return str(value) if exact else None
