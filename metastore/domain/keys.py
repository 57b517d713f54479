"""Sort keys: texts whose byte order is the order of the values they stand for, whatever the type.

So one B-tree on text serves equality and ranges on partition keys of every type.
"""

from __future__ import annotations

import enum
import re
import struct

from metastore import text_cache
from metastore.domain.names import fold
from metastore.domain.partition_names import DEFAULT_PARTITION


class KeyKind(enum.Enum):
    """How values of a type compare."""

    STRING = "string"
    CHAR = "char"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    DOUBLE = "double"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BOOLEAN = "boolean"
    OTHER = "other"  # nothing is known of their order, nor of their equality

    @property
    def is_text(self) -> bool:
        """Tells whether values compare as texts. Only then is the default partition's name a value like others."""
        return self in (KeyKind.STRING, KeyKind.CHAR)

    @property
    def is_number(self) -> bool:
        return self in (KeyKind.INTEGER, KeyKind.DECIMAL, KeyKind.FLOAT, KeyKind.DOUBLE)


_KINDS = {
    "string": KeyKind.STRING,
    "varchar": KeyKind.STRING,
    "char": KeyKind.CHAR,
    "tinyint": KeyKind.INTEGER,
    "smallint": KeyKind.INTEGER,
    "int": KeyKind.INTEGER,
    "integer": KeyKind.INTEGER,
    "bigint": KeyKind.INTEGER,
    "decimal": KeyKind.DECIMAL,
    "dec": KeyKind.DECIMAL,
    "numeric": KeyKind.DECIMAL,
    "float": KeyKind.FLOAT,
    "real": KeyKind.FLOAT,
    "double": KeyKind.DOUBLE,
    "double precision": KeyKind.DOUBLE,
    "date": KeyKind.DATE,
    "timestamp": KeyKind.TIMESTAMP,
    "boolean": KeyKind.BOOLEAN,
}

_NUMBER = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,18}))?")
_SPECIAL_FLOAT = re.compile(r"([+-]?)(inf|infinity|nan)")
_DATE = re.compile(r"\+?([0-9]{4,7})-([0-9]{1,2})-([0-9]{1,2})")
_TIME = re.compile(r"[ T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?")
# What Spark and Hive take for a boolean; Doris writes 1 and 0.
_BOOLEANS = dict.fromkeys(("true", "t", "yes", "y", "1"), "true") | dict.fromkeys(
    ("false", "f", "no", "n", "0"), "false"
)

# A number's key opens with its region; within one, texts compare as the numbers do.
_MINUS_INFINITY, _NEGATIVE, _ZERO, _POSITIVE, _INFINITY, _NAN = "012345"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_REVERSED = str.maketrans(_DIGITS, _DIGITS[::-1])
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def kind_of(type_string: str) -> KeyKind:
    """Tells how values of a Hive type compare, by its name: `varchar(10)`, `decimal(5,2)`, `int` …"""
    name = fold(type_string).partition("(")[0].partition("<")[0]
    return _KINDS.get(" ".join(name.split()), KeyKind.OTHER)


def sort_key(kind: KeyKind, text: str) -> str | None:
    """Returns a text that compares, by the bytes of its UTF-8 form, with other keys of its kind as the values do.

    Equal values have one key: 01, 1 and 1.0; 2020-1-5 and 2020-01-05; a char with and without its padding. Numbers are
    exact at any size, with NaN the greatest, as in Spark. None: `text` is no value of the kind, or the default
    partition where that means NULL, or the kind is OTHER.
    """
    if kind is KeyKind.STRING:
        return text
    if kind is KeyKind.CHAR:
        return text.rstrip(" ")
    if text == DEFAULT_PARTITION:
        return None
    text = text.strip()
    match kind:
        case KeyKind.INTEGER | KeyKind.DECIMAL:
            return _number(text)
        case KeyKind.FLOAT | KeyKind.DOUBLE:
            return _floating(text, single=kind is KeyKind.FLOAT)
        case KeyKind.DATE:
            return _date(re.split("[ T]", text, maxsplit=1)[0])
        case KeyKind.TIMESTAMP:
            return _timestamp(text)
        case KeyKind.BOOLEAN:
            return _BOOLEANS.get(text.lower())
    return None


@text_cache.cached(4096)
def _number(text: str) -> str | None:
    """Writes region, exponent, digits without zeros at either end. Below zero all of it is reversed, and closed by a
    character beyond all digits, since there the longer of two texts with one beginning is the smaller number.
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, whole, fraction, exponent = found.groups(default="")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return _ZERO
    body = _exponent(int(exponent or 0) + len(digits) - len(fraction)) + digits.rstrip("0")
    return f"{_NEGATIVE}{body.translate(_REVERSED)}~" if sign == "-" else _POSITIVE + body


def _exponent(value: int) -> str:
    """Writes an exponent. Its length goes first, as a letter, so that more digits are more. Below zero: a capital, and
    all reversed.
    """
    digits = str(abs(value))
    if value >= 0:
        return chr(ord("a") + len(digits)) + digits
    return chr(ord("Z") - len(digits)) + digits.translate(_REVERSED)


def _floating(text: str, *, single: bool) -> str | None:
    """Writes the key by the nearest number of the type: two texts of one number are one key."""
    special = _SPECIAL_FLOAT.fullmatch(text.lower())
    if special is not None:
        sign, name = special.groups()
        return _NAN if name == "nan" else _MINUS_INFINITY if sign == "-" else _INFINITY
    text = text[:-1] if text[-1:] in "dDfF" else text
    if not _NUMBER.fullmatch(text):
        return None
    number = _single(float(text)) if single else float(text)
    if number in (float("inf"), float("-inf")):
        return _INFINITY if number > 0 else _MINUS_INFINITY
    # The shortest text of a number orders as the numbers do.
    return _number(repr(number))


def _single(number: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _date(text: str) -> str | None:
    """Writes yyyy-MM-dd. Years beyond 9999 sort behind the others by their first character."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day = (int(part) for part in found.groups())
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1]:
        return None
    if (month, day) == (2, 29) and (year % 4 or (year % 100 == 0 and year % 400)):
        return None
    return f"{year:04d}-{month:02d}-{day:02d}" if year <= 9999 else f":{year:07d}-{month:02d}-{day:02d}"


def _timestamp(text: str) -> str | None:
    """Writes yyyy-MM-dd HH:mm:ss[.f], the fraction without zeros at its end. With a time zone, it is no such value."""
    day, separator, _ = text.partition("T" if "T" in text else " ")
    date, time = _date(day), _TIME.fullmatch(text[len(day) :])
    if date is None or (separator and time is None):
        return None
    if time is None:
        return f"{date} 00:00:00"
    hour, minute, second, fraction = time.groups(default="0")
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    fraction = fraction.rstrip("0")
    clock = f"{int(hour):02d}:{int(minute):02d}:{int(second):02d}"
    return f"{date} {clock}.{fraction}" if fraction else f"{date} {clock}"
