"""Sort keys: texts whose byte order equals the order of the values, for all types.

One B-tree index on text therefore serves equality and range conditions on partition keys of every type.
"""

from __future__ import annotations

import enum
import re
import struct
from collections.abc import Iterable
from functools import partial
from typing import Final

from metastore import caches
from metastore.domain.names import fold
from metastore.domain.partition_names import DEFAULT_PARTITION


class KeyKind(enum.Enum):
    """Kinds of types by the order of their values."""

    STRING = "string"
    CHAR = "char"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    DOUBLE = "double"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BOOLEAN = "boolean"
    OTHER = "other"  # order and equality are unknown

    @property
    def is_text(self) -> bool:
        """True if values compare as texts. Only then is the name of the default partition an ordinary value."""
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
# Spellings that Spark and Hive accept; Doris writes 1 and 0.
_BOOLEANS = dict.fromkeys(("true", "t", "yes", "y", "1"), "true") | dict.fromkeys(
    ("false", "f", "no", "n", "0"), "false"
)

# The key of a number starts with its region. Within a region, texts compare as the numbers do.
_MINUS_INFINITY, _NEGATIVE, _ZERO, _POSITIVE, _INFINITY, _NAN = "012345"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_REVERSED = str.maketrans(_DIGITS, _DIGITS[::-1])
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def kind_of(type_string: str) -> KeyKind:
    """Returns the kind of a Hive type string: `varchar(10)`, `decimal(5,2)`, `int` …"""
    name = fold(type_string).partition("(")[0].partition("<")[0]
    return _KINDS.get(" ".join(name.split()), KeyKind.OTHER)


def sort_key(kind: KeyKind, text: str) -> str | None:
    """Returns the sort key of a value. The bytes of keys of one kind compare as the values do.

    Equal values have equal keys: 01, 1 and 1.0; 2020-1-5 and 2020-01-05; a char with and without padding. Numbers are
    exact at any size; NaN is the greatest, as in Spark. Returns None if `text` is not a value of the kind, if it is the
    default partition and stands for NULL, or if the kind is OTHER.
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


def sort_keys(kinds: Iterable[KeyKind], values: Iterable[str]) -> list[str | None]:
    """Returns the sort key of each value. Keys that differ from the text are cached."""
    return [text if kind is KeyKind.STRING else _CACHED[kind](text) for kind, text in zip(kinds, values, strict=False)]


def may_equal(one: str, other: str) -> bool:
    """Returns whether two texts are the same value of some type: 00 and 0 are, as numbers."""
    keys = (sort_keys([kind, kind], [one, other]) for kind in KeyKind)
    return any(key is not None and key == second for key, second in keys)


@caches.cached(4096)
def _number(text: str) -> str | None:
    """Returns region, exponent, and digits without leading and trailing zeros.

    Keys of negative numbers have complemented digits and a final character greater than all digits: of two negative
    numbers with a common prefix, the longer one is the smaller.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction, exponent = match.groups(default="")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return _ZERO
    body = _exponent(int(exponent or 0) + len(digits) - len(fraction)) + digits.rstrip("0")
    return f"{_NEGATIVE}{body.translate(_REVERSED)}~" if sign == "-" else _POSITIVE + body


_CACHED: Final = {kind: caches.cached(4096)(partial(sort_key, kind)) for kind in KeyKind}


def _exponent(value: int) -> str:
    """Returns an exponent after its length as a letter, so that more digits sort higher.

    Negative exponents have a capital letter and complemented digits.
    """
    digits = str(abs(value))
    if value >= 0:
        return chr(ord("a") + len(digits)) + digits
    return chr(ord("Z") - len(digits)) + digits.translate(_REVERSED)


def _floating(text: str, *, single: bool) -> str | None:
    """Returns the key of the nearest number of the type, so that two texts of one number have one key."""
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
    # `repr` is the shortest text that parses to this number, so it is unique.
    return _number(repr(number))


def _single(number: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _date(text: str) -> str | None:
    """Returns yyyy-MM-dd. A colon before years after 9999 sorts them last."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = (int(part) for part in match.groups())
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1]:
        return None
    if (month, day) == (2, 29) and (year % 4 or (year % 100 == 0 and year % 400)):
        return None
    return f"{year:04d}-{month:02d}-{day:02d}" if year <= 9999 else f":{year:07d}-{month:02d}-{day:02d}"


def _timestamp(text: str) -> str | None:
    """Returns yyyy-MM-dd HH:mm:ss[.f] without trailing zeros, or None for a text with a time zone."""
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
