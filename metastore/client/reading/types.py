"""The Arrow types of Hive's types.

TIMESTAMP has no time zone, as in Hive: its values are the times of day in UTC, which sessions with the time zone UTC
show.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import pyarrow as pa

from metastore.client.errors import UnreadableTableError

_SIMPLE: Final = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "double precision": pa.float64(),
    "string": pa.string(),
    "varchar": pa.string(),
    "char": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp with local time zone": pa.timestamp("us", "UTC"),
    "void": pa.null(),
}
_DECIMALS: Final = ("decimal", "dec", "numeric")
_TOKEN: Final = re.compile(r"[<>(),:]|`[^`]*(?:``[^`]*)*`|[^<>(),:`]+")


@lru_cache(maxsize=4096)
def arrow_type(type_string: str) -> pa.DataType:
    """Returns the Arrow type of a Hive type string. Raises UnreadableTableError for a type that Arrow does not have."""
    tokens = [token for match in _TOKEN.finditer(type_string) if (token := match.group().strip())]
    try:
        parsed, rest = _parse(tokens, 0)
    except (IndexError, ValueError):
        parsed, rest = None, 0
    if parsed is None or rest != len(tokens):
        raise UnreadableTableError(f"Arrow has no type for {type_string}")
    return parsed


@lru_cache(maxsize=4096)
def char_width(type_string: str) -> int:
    """Returns the n of char(n), 0 for any other type. Values are padded with blanks to this width, as in Spark."""
    match = re.fullmatch(r"\s*char\s*\(\s*(\d+)\s*\)\s*", type_string, re.IGNORECASE)
    return int(match[1]) if match else 0


def _parse(tokens: list[str], at: int) -> tuple[pa.DataType | None, int]:
    """Returns the type that begins at a token, and the position after it. The type is None if Arrow lacks it."""
    name, at = " ".join(tokens[at].lower().split()), at + 1
    if "(" in tokens[at : at + 1]:
        end = tokens.index(")", at)
        numbers = [int(text) for text in tokens[at + 1 : end] if text != ","]
        return (pa.decimal128(*[*numbers, 0][:2]) if name in _DECIMALS else _SIMPLE.get(name)), end + 1
    if name in ("array", "map", "struct"):
        return _nested(name, tokens, at)
    return (pa.decimal128(10, 0) if name in _DECIMALS else _SIMPLE.get(name)), at


def _nested(name: str, tokens: list[str], at: int) -> tuple[pa.DataType | None, int]:
    names: list[str] = []
    members: list[pa.DataType] = []
    at += 1  # <
    while tokens[at] != ">":
        at += tokens[at] == ","
        if name == "struct":
            colon = tokens.index(":", at)
            names.append("".join(tokens[at:colon]).strip("`").replace("``", "`"))
            at = colon + 1
        member, at = _parse(tokens, at)
        if member is None:
            return None, at
        members.append(member)
    if name == "array":
        return pa.list_(pa.field("element", members[0])), at + 1
    if name == "map":
        return pa.map_(members[0], members[1]), at + 1
    return pa.struct(list(zip(names, members, strict=True))), at + 1
