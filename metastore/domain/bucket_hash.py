"""Hive's bucket hash of values, and the hashes that the rows of a predicate can have. Pure.

The rules are those of Hive's ObjectInspectorUtils (getBucketHashCodeOld, getBucketHashCode) and Murmur3.
BucketHash.java computes the same for rows of Spark.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

from metastore.domain.expression import And, Compare, Expression, In, IsNull, NullSafeEqual, Operator, Or
from metastore.domain.keys import KeyKind, kind_of
from metastore.domain.names import fold, fold_column

Texts = frozenset[str | None]
"""Texts of values; None for NULL."""
_SEED: Final = 104729
_EPOCH: Final = date(1970, 1, 1)
_GREGORIAN: Final = date(1582, 10, 15)  # writers disagree about earlier days
_COMBINATIONS: Final = 1000  # as in Trino; beyond it, reading the files is cheaper
_WIDTHS: Final = {"smallint": ">h", "int": ">i", "integer": ">i", "bigint": ">q"}


def bucket_hash(type_string: str, value: Any, version: int) -> int | None:
    """Returns the hash of a bool, int, Decimal, date, str or None as a value of a Hive type, as Java's int.

    `version`: the bucketing_version, 1 or 2. None for other types: equal values of them may be in several buckets.
    """
    function = (_FIRST if version == 1 else _SECOND).get(_name(type_string))
    if function is None or (isinstance(value, date) and value < _GREGORIAN):
        return None
    return 0 if value is None else _signed(function(_name(type_string), value))


def possible_hashes(
    columns: Sequence[tuple[str, str]],
    predicate: Expression,
    version: int,
    parse: Callable[[str, str], Any],
) -> frozenset[int] | None:
    """Returns the bucket hashes of rows for which a predicate is true. None: any hash is possible.

    `columns`: names and types of the bucketing columns. `parse` returns the value of a text as a type, None for a text
    that is no value of it.
    """
    sets = [_texts(predicate, fold_column(name)) for name, _ in columns]
    known = [texts for texts in sets if texts is not None]
    if len(known) < len(sets) or math.prod(map(len, known)) > _COMBINATIONS:
        return None
    hashes = []
    for (_, kind), texts in zip(columns, known, strict=True):
        values = [None if text is None else parse(kind, text) for text in texts]
        found = [
            bucket_hash(kind, value, version)
            for text, value in zip(texts, values, strict=True)
            if text is None or value is not None
        ]
        if None in found:
            return None
        hashes.append([digest for digest in found if digest is not None])
    return frozenset(map(_combined, itertools.product(*hashes)))


def _texts(predicate: Expression, column: str) -> Texts | None:
    """Returns the values of a column for which a predicate can be true. None: any value."""
    match predicate:
        case And(children=children):
            known = [texts for child in children if (texts := _texts(child, column)) is not None]
            return frozenset.intersection(*known) if known else None
        case Or(children=children):
            each = [_texts(child, column) for child in children]
            known = [texts for texts in each if texts is not None]
            return frozenset().union(*known) if len(known) == len(each) else None
        case Compare(column=name, operator=Operator.EQUAL, value=value) | NullSafeEqual(column=name, value=value):
            return frozenset([value]) if name == column else None
        case In(column=name, values=values):
            return frozenset(values) if name == column else None
        case IsNull(column=name):
            return frozenset([None]) if name == column else None
    return None


def _combined(hashes: Sequence[int]) -> int:
    total = 0
    for digest in hashes:
        total = 31 * total + digest
    return _signed(total)


def _name(type_string: str) -> str:
    kind = kind_of(type_string)
    return "decimal" if kind is KeyKind.DECIMAL else fold(type_string).partition("(")[0]


def _signed(value: int) -> int:
    return (value & 0xFFFFFFFF) - ((value & 0x80000000) << 1)


def _polynomial(data: bytes, start: int) -> int:
    total = start
    for byte in struct.unpack(f"{len(data)}b", data):
        total = (31 * total + byte) & 0xFFFFFFFF
    return total


def _long(value: int) -> int:
    unsigned = value & 0xFFFFFFFFFFFFFFFF
    return (unsigned >> 32) ^ unsigned


def _unscaled(value: Decimal) -> tuple[int, int]:
    """Returns the number without trailing zeros, and its scale."""
    if not value:
        return 0, 0
    sign, digits, exponent = value.normalize().as_tuple()
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    places = int(exponent)
    return (number * 10**places, 0) if places > 0 else (number, -places)


def _first_decimal(value: Decimal) -> int:
    """BigDecimal.hashCode: 31 times that of the unscaled number, which combines its 32-bit words, plus the scale."""
    number, scale = _unscaled(value)
    magnitude, total = abs(number), 0
    for shift in range((magnitude.bit_length() + 31) // 32 - 1, -1, -1):
        total = (31 * total + (magnitude >> (32 * shift) & 0xFFFFFFFF)) & 0xFFFFFFFF
    return 31 * (-total if number < 0 else total) + scale


def _second_decimal(value: Decimal) -> int:
    number, _ = _unscaled(value)
    bits = (number if number >= 0 else ~number).bit_length()
    return _murmur(number.to_bytes(bits // 8 + 1, "big", signed=True))


def _murmur(data: bytes) -> int:
    """MurmurHash3 (x86, 32 bits) with Hive's seed. The last one to three bytes are signed, as in Hive."""
    total, whole = _SEED, len(data) // 4 * 4
    for (block,) in struct.iter_unpack("<I", data[:whole]):
        total = (_rotated(total ^ _mixed(block), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    tail = 0
    for position, byte in enumerate(struct.unpack(f"{len(data) - whole}b", data[whole:])):
        tail ^= byte << (8 * position)
    if len(data) > whole:
        total ^= _mixed(tail & 0xFFFFFFFF)
    total ^= len(data)
    total = (total ^ (total >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    total = (total ^ (total >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    return total ^ (total >> 16)


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & 0xFFFFFFFF


def _mixed(block: int) -> int:
    return _rotated(block * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF


def _days(value: date) -> int:
    return (value - _EPOCH).days


_SMALL: Final[dict[str, Callable[[str, Any], int]]] = {
    "boolean": lambda _, value: int(value),
    "tinyint": lambda _, value: int(value),
}
_FIRST: Final[dict[str, Callable[[str, Any], int]]] = {
    **_SMALL,
    **dict.fromkeys(("smallint", "int", "integer"), lambda _, value: int(value)),
    "bigint": lambda _, value: _long(value),
    "string": lambda _, value: _polynomial(value.encode(), 0),
    "varchar": lambda _, value: _polynomial(value.encode(), 1),
    "char": lambda _, value: _polynomial(value.rstrip(" ").encode(), 1),
    "date": lambda _, value: _days(value),
    "decimal": lambda _, value: _first_decimal(value),
}
_SECOND: Final[dict[str, Callable[[str, Any], int]]] = {
    **_SMALL,
    **dict.fromkeys(_WIDTHS, lambda name, value: _murmur(struct.pack(_WIDTHS[name], value))),
    "string": lambda _, value: _murmur(value.encode()),
    "varchar": lambda _, value: _murmur(value.encode()),
    "char": lambda _, value: _murmur(value.rstrip(" ").encode()),
    "date": lambda _, value: _murmur(struct.pack(">i", _days(value))),
    "decimal": lambda _, value: _second_decimal(value),
}
