"""Names of partitions: `column=value/column=value`, escaped as Hive's FileUtils and Warehouse do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from metastore import text_cache
from metastore.domain.names import fold
from metastore.errors import InvalidInputError, InvalidObjectError

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"

# Hive stores 767 characters. A B-tree entry of PostgreSQL holds 2,704 bytes, the table's id included.
MAX_NAME_CHARACTERS = 2_000
MAX_NAME_BYTES = 2_600

ESCAPED = r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]"
"""What Hive escapes in a name, as a pattern of Python's and of Java's regular expressions."""

_ESCAPED = re.compile(ESCAPED)
# Java's parseInt takes a sign, so Hive reads %+1 as U+0001.
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@text_cache.cached(10_000)  # days and hours come again and again
def escape(text: str) -> str:
    """Returns a text as part of a name; empty, it is the default partition (Hive's FileUtils.escapePathName)."""
    return _ESCAPED.sub(lambda found: f"%{ord(found.group()):02X}", text) or DEFAULT_PARTITION


def unescape(text: str) -> str:
    """Returns the text of a part of a name; what is no escape sequence stays (Hive's FileUtils.unescapePathName)."""
    return _ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), text)


@text_cache.cached(10_000)
def _escaped_column(name: str) -> str:
    return f"{escape(fold(name))}="


def value_path(columns: Sequence[str], values: Sequence[str | None]) -> str:
    """Returns `c1=v1/c2=v2`: a partition's name, or the directory of a skewed value (Hive's Warehouse.makePartName)."""
    pairs = zip(columns, values, strict=True)
    return "/".join([_escaped_column(column) + escape(value or "") for column, value in pairs])


def partition_name(columns: Sequence[str], values: Sequence[str | None]) -> str:
    """Returns the name of the partition with these values (Hive's Warehouse.makePartName); None and "" are its default.

    Raises InvalidInputError for a wrong number of values, InvalidObjectError for a name that cannot be stored.
    """
    _check_arity(columns, values)
    name = value_path(columns, values)
    _check_length(name)
    return name


def parse_name(name: str) -> list[tuple[str, str]]:
    """Returns the (column, value) pairs of a partition name, unescaped, in its order and case; the default partition is
    a value here.

    A component without `=`, or with nothing on one side of it, is passed over (Hive's Warehouse.makeSpecFromName).
    Raises InvalidInputError for an empty name, InvalidObjectError for one that no partition can have.
    """
    if not name:
        raise InvalidInputError("Partition name is invalid: it is empty")
    _check_length(name)
    pairs = []
    for component in name.split("/"):
        column, _, value = component.partition("=")
        if column and value:
            pairs.append((unescape(column), unescape(value)))
    _check_storable(value for _, value in pairs)
    return pairs


def values_of(columns: Sequence[str], name: str) -> list[str]:
    """Returns the values of a partition name in the order of `columns`. Their order in the name is free, their case is
    not; others are ignored.

    Raises InvalidInputError for an empty name, InvalidObjectError if a column is missing (Hive's
    HMSHandler.getPartValsFromName).
    """
    return _values_of(columns, dict(parse_name(name)))


def _values_of(columns: Sequence[str], found: Mapping[str, str]) -> list[str]:
    missing = next((column for column in columns if fold(column) not in found), None)
    if missing is not None:
        raise InvalidObjectError(f"incomplete partition name - missing {fold(missing)}")
    return [found[fold(column)] for column in columns]


def canonical_name(columns: Sequence[str], name: str | None) -> str:
    """Returns a partition name as it is stored, columns in order and in lower case. What names no partition stays as it
    is.
    """
    try:
        found = {fold(column): value for column, value in parse_name(name or "")}
        return partition_name(columns, _values_of(columns, found))
    except (InvalidInputError, InvalidObjectError):
        return name or ""


def checked_name(columns: Sequence[str], values: Sequence[str | None] | None) -> str:
    """Returns the name of the partition with these values (see `partition_name`), none of which may be missing.

    Refuses values that make no partition: none, a null, a wrong number (InvalidInputError), or what cannot be
    stored, by its characters or its length (InvalidObjectError). The empty string is legal: the default partition.
    """
    if not values:
        raise InvalidInputError("The partition values cannot be null or empty.")
    if None in values:
        raise InvalidInputError("Partition value cannot be null.")
    name = partition_name(columns, values)
    _check_storable(cast(Sequence[str], values))
    return name


def first_invalid_character(values: Iterable[str]) -> str | None:
    """Returns the first character that no partition value may hold (NUL; a lone surrogate), or None if all are fine."""
    found = _UNSTORABLE.search(" ".join(values))
    return found and found.group()


def _check_arity(columns: Sequence[str], values: Sequence[str | None]) -> None:
    if not columns or len(columns) != len(values):
        keys, given = ", ".join(columns), ", ".join(str(value) for value in values)
        raise InvalidInputError(f"Invalid partition key & values; keys [{keys}], values [{given}]")


def _check_storable(values: Iterable[str]) -> None:
    character = first_invalid_character(values)
    if character is not None:
        raise InvalidObjectError(
            f"A partition value holds the character U+{ord(character):04X}, which cannot be stored"
        )


def _check_length(name: str) -> None:
    characters, size = len(name), len(name.encode("utf-8", "surrogatepass"))
    if characters > MAX_NAME_CHARACTERS or size > MAX_NAME_BYTES:
        raise InvalidObjectError(
            f"The partition name {name[:60]}… is too long: {characters:,} characters in {size:,} bytes, "
            f"at most {MAX_NAME_CHARACTERS:,} in {MAX_NAME_BYTES:,} are stored"
        )
