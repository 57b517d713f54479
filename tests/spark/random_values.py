"""SQL of random values of every type that a table may have."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

TEXTS = (
    *(
        "a",
        "B",
        "",
        "é",
        "x y",
        "a=b",
        "1",
        "00",
        "%41",
        "it's",
        "a\\b",
        "/",
        "__x",
        ".y",
        "日本",
        '"q"',
        "100%",
        "a:b",
    ),
    *("#", "{x}", " x", "*", "null", "a,b"),
)
SIMPLE = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9,2)", "decimal(30,4)"),
    *("decimal(18,0)", "decimal(38,18)", "string", "varchar(9)", "char(6)", "binary", "date", "timestamp"),
)
NESTED = (
    *("array<int>", "map<string,bigint>", "struct<f:int,g:string>", "array<struct<f:date,g:array<double>>>"),
    *("map<date,array<string>>", "struct<h:struct<b:binary,d:decimal(9,2)>,c:char(3)>", "array<timestamp>"),
)
KEYS = (
    *("string", "string", "int", "date", "decimal(6,1)", "bigint", "varchar(9)", "boolean", "timestamp", "double"),
    *("char(4)", "tinyint", "smallint", "float"),
)
_DAYS = ("0001-01-01", "1582-10-10", "1899-12-31", "9999-12-31")
_MOMENTS = ("0001-01-02 03:04:05", "1883-11-18 12:00:00.000001", "1969-12-31 23:59:59.999999", "9999-12-30 23:59:59.5")


def value(random: Random, kind: str) -> str:
    """Returns SQL for a random value of a type; NULL now and then."""
    return f"CAST(NULL AS {kind})" if random.random() < 0.15 else _some(random, kind)


def _some(random: Random, kind: str) -> str:
    name = kind.partition("(")[0].partition("<")[0]
    if name in _MADE:
        return _MADE[name](random, kind)
    number: Any = {
        "boolean": random.choice(("true", "false")),
        "tinyint": random.randint(-128, 127),
        "smallint": random.randint(-(2**15), 2**15 - 1),
        "float": random.choice(("'NaN'", "'-Infinity'", -0.0, 1.5, 1e30, "'1.4e-45'")),
        "double": random.choice(("'NaN'", "'Infinity'", -0.0, 0.1, 1e300, "'4.9e-324'")),
        "decimal": Decimal(random.randint(-9999, 9999)) / 10,
    }.get(name, random.randint(-100, 100))
    return f"CAST({number} AS {kind})"


def _text(random: Random, kind: str) -> str:
    text = random.choice([each for each in TEXTS if len(each) <= 3] if kind == "char(3)" else TEXTS)
    return f"CAST('{text.replace(chr(92), chr(92) * 2).replace(chr(39), chr(92) + chr(39))}' AS {kind})"


def _binary(random: Random, kind: str) -> str:
    return random.choice((f"X'{random.randbytes(3).hex()}'", "X''", _text(random, kind)))


def _date(random: Random, _: str) -> str:
    day = datetime.date(2026, 1, 1) + datetime.timedelta(random.randint(-9000, 9000))
    return f"DATE '{random.choice(_DAYS) if random.random() < 0.2 else day}'"


def _timestamp(random: Random, kind: str) -> str:
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(
        seconds=random.randint(-(10**9), 10**9), microseconds=random.choice((0, 1, 999999))
    )
    text = random.choice(_MOMENTS) if random.random() < 0.2 else f"{moment:%Y-%m-%d %H:%M:%S.%f}"
    return f"{kind.upper()} '{text}'"


def _array(random: Random, kind: str) -> str:
    member = kind[len("array<") : -1]
    members = ", ".join(value(random, member) for _ in range(random.randint(0, 3)))
    return f"CAST(array({members}) AS {kind})"


def _map(random: Random, kind: str) -> str:
    key, _, member = kind[len("map<") : -1].partition(",")
    entries = {_some(random, key): value(random, member) for _ in range(random.randint(0, 2))}
    return f"CAST(map({', '.join(f'{each}, {entries[each]}' for each in entries)}) AS {kind})"


def _struct(random: Random, kind: str) -> str:
    fields = [field.partition(":")[::2] for field in split_members(kind[len("struct<") : -1])]
    members = [f"'{name}', {value(random, member)}" for name, member in fields]
    return f"CAST(named_struct({', '.join(members)}) AS {kind})"


def split_members(text: str) -> list[str]:
    """Splits the members of a nested type at the commas that are not in a member's own brackets."""
    members, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            members.append("")
        else:
            members[-1] += character
    return members


_MADE: dict[str, Callable[[Random, str], str]] = {
    **dict.fromkeys(("string", "varchar", "char"), _text),
    **dict.fromkeys(("timestamp", "timestamp_ntz", "timestamp_ltz"), _timestamp),
    "binary": _binary,
    "date": _date,
    "array": _array,
    "map": _map,
    "struct": _struct,
}
