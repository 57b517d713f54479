"""From the value of a partition to the name of its directory: Hive's rule, or a function that the table names.

Readers take locations from the metastore, so the name matters to who looks at the directories, and to file systems
that do not take every name (Hive's design of dynamic partitions, question 3). The function is recorded on the table,
so that all writers of this library agree; the name of the partition itself is always Hive's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

from metastore.client.structs import Table
from metastore.domain.partition_names import DEFAULT_PARTITION, escape
from spark_client.errors import InvalidInsertError

FUNCTION = "partition.directory.function"
HIVE = "hive"
# Bytes that file systems take in one name: ext4, XFS, HDFS by default, and every other that is common.
MAX_NAME = 255
# What `short` leaves as it is, in bytes: a column's name may have 128 characters, and the sign between has one.
_SHORT = 120
_HASH_LENGTH = 16

DirectoryFunction = Callable[[str], str]


def _short(value: str) -> str:
    """Returns the value, or the beginning of a long one and its hash."""
    if len(escape(value).encode()) <= _SHORT:
        return value
    room, kept = _SHORT - _HASH_LENGTH - 1, ""
    for char in value:
        room -= len(escape(char).encode())
        if room < 0:
            break
        kept += char
    return f"{kept}~{_hash(value)}"


def _hash_prefix(value: str) -> str:
    """Four digits of its hash before the value: object stores spread keys by their beginning."""
    return f"{_hash(value)[:4]}-{value}"


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:_HASH_LENGTH]


_FUNCTIONS: dict[str, DirectoryFunction] = {HIVE: str, "short": _short, "hash-prefix": _hash_prefix}


def register_directory_function(name: str, function: DirectoryFunction) -> None:
    """Makes a function known that a table may name in its property `partition.directory.function`.

    It gets the text of a partition's value and gives the text that the directory shows instead, which is escaped as
    Hive escapes; it must give the same for the same value, always, and different texts for different values. Raises
    ValueError for the name of another function.
    """
    if _FUNCTIONS.setdefault(name.lower(), function) is not function:
        raise ValueError(f"{name} is the name of another directory function; choose one of your own")


def has_own_names(table: Table) -> bool:
    """True if directories are not named as partitions are. Raises InvalidInsertError for an unknown function."""
    return _function_name(table) != HIVE


def directory_path(table: Table, values: Sequence[str], names: Sequence[str] = ()) -> str:
    """`c1=v1/c2=v2`, below the table's directory, for the values of its first partition columns.

    `names`: of the partition columns, where directories have others than the catalog.

    Raises InvalidInsertError for an unknown function, and for a name that is too long.
    """
    function = _FUNCTIONS[_function_name(table)]
    parts = []
    keys = names or [column.name.lower() for column in table.partition_columns]
    for key, value in zip(keys, values, strict=False):
        shown = value if value == DEFAULT_PARTITION else str(function(value))
        part = f"{escape(key)}={escape(shown)}"
        if len(part.encode()) > MAX_NAME:
            raise InvalidInsertError(
                f"{table.full_name}: the directory of {key} = '{value[:40]}…' would have a name of "
                f"{len(part.encode())} bytes, and file systems take {MAX_NAME}; give the table the property "
                f"'{FUNCTION}' = 'short'"
            )
        parts.append(part)
    return "/".join(parts)


def check_distinct(table: Table, partitions: Iterable[Sequence[str]]) -> None:
    """Raises InvalidInsertError if two partitions would be in one directory."""
    taken: dict[str, Sequence[str]] = {}
    for values in partitions:
        path = directory_path(table, values)
        if taken.setdefault(path, values) is not values:
            raise InvalidInsertError(
                f"{table.full_name}: partitions {list(taken[path])} and {list(values)} would both be in {path}; "
                f"the function '{_function_name(table)}' must give different names to different values"
            )


def _function_name(table: Table) -> str:
    name = table.parameters.get(FUNCTION, HIVE).lower()
    if name not in _FUNCTIONS:
        raise InvalidInsertError(
            f"{table.full_name} names its directories by the function '{name}', which is not known here (known: "
            f"{', '.join(sorted(_FUNCTIONS))}); spark_client.register_directory_function('{name}', …) makes it so"
        )
    return name
