"""Hive's bucket hash in plain Python, written from its definition, and the values of Hive's and Trino's own tests."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

_FLOAT_MAX, _DOUBLE_MAX = 3.4028234663852886e38, 1.7976931348623157e308
_INFINITY, _NAN = float("inf"), float("nan")
_EPOCH = datetime.date(1970, 1, 1)

# Hive's type, value, hash of version 1, of version 2 (None: no source has it).
VECTORS: Sequence[tuple[str, Any, int | None, int | None]] = (
    ("string", "Trino rocks", 1132136730, -399107423),
    ("string", "", 0, -965378730),
    ("varchar(50)", "", 1, -965378730),
    ("string", "test string", -318923937, -138301454),
    ("varchar(50)", "test string", -189841218, -138301454),
    ("string", "\u5f3a\u5927\u7684Trino\u5f15\u64ce", 1688501507, 1784416344),
    ("varchar(50)", "\u5f3a\u5927\u7684Trino\u5f15\u64ce", 1899852420, 1784416344),
    ("string", "\U00020ffc\U00020ffd\U00020ffe\U00020fff", -1810797254, -697348811),
    ("varchar(50)", "\U00020ffc\U00020ffd\U00020ffe\U00020fff", -457487557, -697348811),
    ("string", "a", 97, 1086686554),
    ("string", "ab", 3105, 398604456),
    ("string", "abc", 96354, -885266671),
    ("string", "abcd", 2987074, -873246740),
    ("varchar(50)", "a", 128, 1086686554),
    ("varchar(50)", "ab", 4066, 398604456),
    ("varchar(50)", "abc", 126145, -885266671),
    ("varchar(50)", "abcd", 3910595, -873246740),
    ("string", "\u00e9", -1978, -527561221),
    ("string", "abc\u00e9", 92594216, -1562959021),
    ("string", "\u65e5\u672c", -844066782, 529705047),
    ("char(3)", "a  ", 128, 1086686554),
    ("boolean", True, 1, 1),
    ("boolean", False, 0, 0),
    ("tinyint", -128, -128, -128),
    ("smallint", 300, 300, 2107031704),
    ("smallint", -(2**15), -(2**15), 1342976838),
    ("smallint", 2**15 - 1, 2**15 - 1, -684075052),
    ("int", 300000, 300000, -678663480),
    ("int", -(2**31), -(2**31), 1194881028),
    ("int", 2**31 - 1, 2**31 - 1, 1133859967),
    *(
        ("int", value, value, murmured)
        for value, murmured in (
            (0, 1362653161),
            (1, 1321152925),
            (2, -249917244),
            (3, 1183246022),
            (10, -1062676744),
            (100, 924521621),
            (-1, 1626716813),
        )
    ),
    ("bigint", 300000000000, -647710651, -888935297),
    ("bigint", -(2**63), -(2**31), 1728983947),
    ("bigint", 2**63 - 1, -(2**31), -536577852),
    ("bigint", 0, 0, 1754797035),
    ("bigint", 1, 1, -913662660),
    ("bigint", 2, 2, 924626559),
    ("bigint", 3, 3, 1382921593),
    ("bigint", 10, 10, 1757052779),
    ("bigint", 100, 100, 635063951),
    ("bigint", -1, 0, -237789309),
    ("float", 12.34, 1095069860, -381747602),
    ("float", -_FLOAT_MAX, -8388609, 470252243),
    ("float", 2.0**-149, 1, 1206721797),
    ("float", _INFINITY, 2139095040, -292175804),
    ("float", -_INFINITY, -8388608, -1433270801),
    ("float", _NAN, 2143289344, -480354314),
    ("float", -0.0, -(2**31), -1185332889),
    ("float", 0.0, 0, 1362653161),
    ("double", 12.34, 986311098, -2070733568),
    ("double", -_DOUBLE_MAX, 1048576, 14392725),
    ("double", 2.0**-1074, 1, -8838199),
    ("double", _INFINITY, 2146435072, 1614292060),
    ("double", -_INFINITY, -1048576, 141388605),
    ("double", _NAN, 2146959360, 1138026565),
    ("date", datetime.date(1970, 1, 1), 0, 1362653161),
    ("date", datetime.date(2015, 11, 19), 16758, 8542395),
    ("date", datetime.date(1950, 11, 19), -6983, -431619185),
    ("array<smallint>", [5, 8, 13], 5066, -905011156),
    ("array<string>", ["test1", "test2", "test3", "test4"], 957612994, 1305539282),
    ("array<array<bigint>>", [[10, 20], [-10, -20], [None]], 326368, 611324477),
    ("map<string,bigint>", {"key": 123, "key2": 123456789, "key3": -123456}, 127880789, -1910999650),
    # 31 * unscaled + scale, without trailing zeros; version 2 ignores the scale: 15 is the byte 15.
    ("decimal(10,2)", Decimal("1.50"), 31 * 15 + 1, None),
    ("decimal(10,2)", Decimal("0.00"), 0, None),
    ("binary", bytearray(b"a"), 128, None),
    ("struct<a:int,b:string>", (1, "two"), 31 + 115276, None),
)
NULLS = (
    *("string", "varchar(3)", "boolean", "int", "bigint", "float", "double", "decimal(10,2)", "date", "timestamp"),
    *("array<int>", "map<int,string>", "struct<x:int>"),
)
# Hive's columns, values, and the hash of all of them.
ROWS: Sequence[tuple[Sequence[tuple[str, Any]], int | None, int | None]] = (
    (
        (("float", 12.34), ("array<smallint>", [5, 8, 13]), ("map<string,bigint>", {"key": 123})),
        95411006,
        932898434,
    ),
    (
        (
            ("double", None),
            ("array<smallint>", [5, 8, 13]),
            ("boolean", None),
            ("map<string,bigint>", {"key": 123}),
            ("tinyint", None),
        ),
        154207826,
        -1120812524,
    ),
    ((("int", 1), ("string", "two"), ("boolean", True)), 3574518, None),
)


def signed(value: int) -> int:
    """Returns the low 32 bits, as Java's int."""
    return (value & 0xFFFFFFFF) - ((value & 0x80000000) << 1)


def first(kind: str, value: Any) -> int:
    """Returns the hash of version 1."""
    return 0 if value is None else signed(_FIRST[kind](value))


def second(kind: str, value: Any) -> int:
    """Returns the hash of version 2."""
    return 0 if value is None else signed(_SECOND[kind](value))


def together(hashes: Sequence[int]) -> int:
    """Returns the hash of several columns."""
    total = 0
    for digest in hashes:
        total = 31 * total + digest
    return signed(total)


def _polynomial(data: bytes, start: int) -> int:
    total = start
    for byte in struct.unpack(f"{len(data)}b", data):
        total = 31 * total + byte
    return total


def _folded(value: int) -> int:
    unsigned = value & 0xFFFFFFFFFFFFFFFF
    return (unsigned >> 32) ^ unsigned


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & 0xFFFFFFFF


def _mixed(block: int) -> int:
    return _rotated(block * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF


def murmur(data: bytes) -> int:
    """Returns MurmurHash3 (x86, 32 bits) from Hive's seed. The last one to three bytes are signed, as in Hive."""
    total, whole = 104729, len(data) // 4 * 4
    for (block,) in struct.iter_unpack("<I", data[:whole]):
        total = (_rotated(total ^ _mixed(block), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    tail = 0
    for position, byte in enumerate(struct.unpack(f"{len(data) - whole}b", data[whole:])):
        tail ^= byte << (8 * position)
    if len(data) > whole:
        total ^= _mixed(tail & 0xFFFFFFFF)
    total ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        total = (total ^ (total >> shift)) * factor & 0xFFFFFFFF
    return total ^ (total >> 16)


def _double_bits(value: float) -> int:
    return 0x7FF8000000000000 if value != value else struct.unpack(">q", struct.pack(">d", value))[0]


def _days(value: datetime.date) -> int:
    return (value - _EPOCH).days


def _unscaled(value: Decimal) -> int:
    sign, digits, _ = value.normalize().as_tuple()
    return int("".join(map(str, digits))) * (-1 if sign else 1)


def _two_complement(value: int) -> bytes:
    return value.to_bytes((value if value >= 0 else ~value).bit_length() // 8 + 1, "big", signed=True)


_FIRST: dict[str, Callable[[Any], int]] = {
    "int": int,
    "bigint": _folded,
    "string": lambda value: _polynomial(value.encode(), 0),
    "varchar(9)": lambda value: _polynomial(value.encode(), 1),
    "double": lambda value: _folded(_double_bits(value)),
    "date": _days,
    "binary": lambda value: _polynomial(bytes(value), 1),
}
_SECOND: dict[str, Callable[[Any], int]] = {
    "smallint": lambda value: murmur(struct.pack(">h", value)),
    "int": lambda value: murmur(struct.pack(">i", value)),
    "bigint": lambda value: murmur(struct.pack(">q", value)),
    "string": lambda value: murmur(value.encode()),
    "varchar(9)": lambda value: murmur(value.encode()),
    "double": lambda value: murmur(struct.pack(">d", float(_double_bits(value)))),
    "date": lambda value: murmur(struct.pack(">i", _days(value))),
    "decimal(20,4)": lambda value: murmur(_two_complement(_unscaled(value))),
}
