"""Names the directory of a partition by its values: by Hive's rule, or by a function that the table selects.

Readers take locations from the metastore, so the name matters only to people who look at directories, and to file
systems that do not accept every name (question 3 of Hive's design of dynamic partitions). The function is a property of
the table, so that all writers of this library agree. The name of the partition itself always follows Hive's rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

from metastore.client.structs import Table
from metastore.domain.partition_names import DEFAULT_PARTITION, escape
from spark_client.errors import InvalidInsertError

FUNCTION = "partition.directory.function"
HIVE = "hive"
# Maximum length of a file name, in bytes: the limit of ext4, XFS, HDFS (by default) and every other common file system.
MAX_NAME = 255
# Longest value that `short` leaves unchanged, in bytes. A column name may take 128 and the equals sign one byte.
_SHORT = 120
_HASH_LENGTH = 16

DirectoryFunction = Callable[[str], str]


def _short(value: str) -> str:
    """Returns the value, or for a long value its beginning and its hash."""
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
    """Returns the value after four digits of its hash. Object stores distribute keys by their prefix."""
    return f"{_hash(value)[:4]}-{value}"


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:_HASH_LENGTH]


_FUNCTIONS: dict[str, DirectoryFunction] = {HIVE: str, "short": _short, "hash-prefix": _hash_prefix}


def register_directory_function(name: str, function: DirectoryFunction) -> None:
    """Registers a function that tables may select by their property `partition.directory.function`.

    The function maps the text of a partition value to the text in the directory's name, which is then escaped as Hive
    escapes it. It must always return the same text for the same value, and different texts for different values.

    Raises ValueError if the name belongs to another function.
    """
    if _FUNCTIONS.setdefault(name.lower(), function) is not function:
        raise ValueError(f"directory function {name} is already registered; choose another name")


def has_own_names(table: Table) -> bool:
    """Returns whether directories are not named by Hive's rule. Raises InvalidInsertError for an unknown function."""
    return _function_name(table) != HIVE


def directory_path(table: Table, values: Sequence[str], names: Sequence[str] = ()) -> str:
    """Returns the path `c1=v1/c2=v2` below the table's directory for the values of the first partition columns.

    `names` are the names of the partition columns in directories, if they differ from the catalog's.

    Raises InvalidInsertError for an unknown function and for a name that is too long.
    """
    function = _FUNCTIONS[_function_name(table)]
    parts = []
    keys = names or [column.name.lower() for column in table.partition_columns]
    for key, value in zip(keys, values, strict=False):
        text = value if value == DEFAULT_PARTITION else str(function(value))
        part = f"{escape(key)}={escape(text)}"
        if len(part.encode()) > MAX_NAME:
            raise InvalidInsertError(
                f"{table.full_name}: the directory name of {key} = '{value[:40]}…' has {len(part.encode())} bytes, and "
                f"file systems allow {MAX_NAME}; set the table property '{FUNCTION}' = 'short'"
            )
        parts.append(part)
    return "/".join(parts)


def check_distinct(table: Table, partitions: Iterable[Sequence[str]]) -> None:
    """Raises InvalidInsertError if two partitions would share a directory."""
    taken: dict[str, Sequence[str]] = {}
    for values in partitions:
        path = directory_path(table, values)
        if taken.setdefault(path, values) is not values:
            raise InvalidInsertError(
                f"{table.full_name}: partitions {list(taken[path])} and {list(values)} would share the directory "
                f"{path}; the function '{_function_name(table)}' must return different names for different values"
            )


def _function_name(table: Table) -> str:
    name = table.parameters.get(FUNCTION, HIVE).lower()
    if name not in _FUNCTIONS:
        raise InvalidInsertError(
            f"{table.full_name} names its directories by the function '{name}', which is not registered (registered: "
            f"{', '.join(sorted(_FUNCTIONS))}); call spark_client.register_directory_function('{name}', …)"
        )
    return name
