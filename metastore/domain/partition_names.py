"""Partition names: `column=value/column=value`, escaped as in Hive's FileUtils and Warehouse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from metastore import caches
from metastore.domain.names import fold, fold_column
from metastore.errors import InvalidInputError, InvalidObjectError

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"

# Hive's limit is 767 characters. The limit here is a B-tree entry of PostgreSQL: 2,704 bytes, with the table id.
MAX_NAME_CHARACTERS = 2_000
MAX_NAME_BYTES = 2_600

ESCAPED = r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]"
"""Characters that Hive escapes in names, as a regular expression for Python and Java."""

_ESCAPED = re.compile(ESCAPED)
# Hive decodes %+1 as U+0001, because Java's parseInt accepts a sign.
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@caches.cached(10_000)  # days and hours recur
def escape(text: str) -> str:
    """Escapes a text for a name. The empty text is the default partition (Hive's FileUtils.escapePathName)."""
    return _ESCAPED.sub(lambda match: f"%{ord(match.group()):02X}", text) or DEFAULT_PARTITION


def unescape(text: str) -> str:
    """Decodes escape sequences. Invalid sequences stay unchanged (Hive's FileUtils.unescapePathName)."""
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), text)


@caches.cached(10_000)
def _escaped_column(name: str) -> str:
    return f"{escape(fold_column(name))}="


def value_path(columns: Sequence[str], values: Sequence[str | None]) -> str:
    """Returns `c1=v1/c2=v2`: a partition name or the directory of a skewed value (Hive's Warehouse.makePartName)."""
    pairs = zip(columns, values, strict=True)
    return "/".join([_escaped_column(column) + escape(value or "") for column, value in pairs])


def value_paths(columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> list[str | None]:
    """Returns the `value_path` of each row, None for a row with another number of values."""
    width, prefixes = len(columns), [_escaped_column(column) for column in columns]
    return [
        "/".join([prefix + escape(value or "") for prefix, value in zip(prefixes, values, strict=True)])
        if len(values) == width
        else None
        for values in rows
    ]


def partition_name(columns: Sequence[str], values: Sequence[str | None]) -> str:
    """Returns the name of the partition with these values (Hive's Warehouse.makePartName).

    None and "" become the default partition. Raises InvalidInputError for a wrong number of values, InvalidObjectError
    for a name that is too long.
    """
    _check_arity(columns, values)
    name = value_path(columns, values)
    _check_length(name)
    return name


def parse_name(name: str) -> list[tuple[str, str]]:
    """Returns the unescaped (column, value) pairs of a partition name, in its order and case.

    The name of the default partition is returned as a value. Components without a column, `=` or value are skipped
    (Hive's Warehouse.makeSpecFromName). Raises InvalidInputError for an empty name, InvalidObjectError for a name that
    no partition can have.
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
    """Returns the values of a partition name in the order of `columns` (Hive's HMSHandler.getPartValsFromName).

    The name may have its columns in any order, in lower case; other columns are ignored. Raises InvalidInputError for
    an empty name, InvalidObjectError if a column is missing.
    """
    return _values_of(columns, dict(parse_name(name)))


def _values_of(columns: Sequence[str], pairs: Mapping[str, str]) -> list[str]:
    missing = next((column for column in columns if fold_column(column) not in pairs), None)
    if missing is not None:
        raise InvalidObjectError(f"incomplete partition name - missing {fold(missing)}")
    return [pairs[fold_column(column)] for column in columns]


def canonical_name(columns: Sequence[str], name: str | None) -> str:
    """Returns the stored form of a partition name: columns in the table's order and in lower case.

    Other texts are returned unchanged.
    """
    try:
        pairs = {fold_column(column): value for column, value in parse_name(name or "")}
        return partition_name(columns, _values_of(columns, pairs))
    except (InvalidInputError, InvalidObjectError):
        return name or ""


def checked_name(columns: Sequence[str], values: Sequence[str | None] | None) -> str:
    """Returns the name of the partition with these values, like `partition_name`, after validating them.

    Raises InvalidInputError if there are no values, too few or too many, or a null, and InvalidObjectError for values
    that cannot be stored because of their characters or length. The empty string is valid: the default partition.
    """
    if not values:
        raise InvalidInputError("The partition values cannot be null or empty.")
    if None in values:
        raise InvalidInputError("Partition value cannot be null.")
    name = partition_name(columns, values)
    _check_storable(cast(Sequence[str], values))
    return name


def first_invalid_character(values: Iterable[str]) -> str | None:
    """Returns the first character that PostgreSQL cannot store (NUL or a lone surrogate), or None."""
    match = _UNSTORABLE.search(" ".join(values))
    return match and match.group()


def _check_arity(columns: Sequence[str], values: Sequence[str | None]) -> None:
    if not columns or len(columns) != len(values):
        keys, texts = ", ".join(columns), ", ".join(str(value) for value in values)
        raise InvalidInputError(f"Invalid partition key & values; keys [{keys}], values [{texts}]")


def _check_storable(values: Iterable[str]) -> None:
    character = first_invalid_character(values)
    if character is not None:
        raise InvalidObjectError(
            f"A partition value contains the character U+{ord(character):04X}, which cannot be stored"
        )


def _check_length(name: str) -> None:
    characters, size = len(name), len(name.encode("utf-8", "surrogatepass"))
    if characters > MAX_NAME_CHARACTERS or size > MAX_NAME_BYTES:
        raise InvalidObjectError(
            f"The partition name {name[:60]}… is too long: {characters:,} characters in {size:,} bytes, "
            f"the maximum is {MAX_NAME_CHARACTERS:,} in {MAX_NAME_BYTES:,}"
        )
