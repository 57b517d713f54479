"""Where the rows of skewed values are stored.

With list bucketing, each value has a directory below the partition. In the flat layout, the files of a value are
directly in the partition, and their names start with a prefix for the value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from metastore.domain.partition_names import parse_name, value_path
from metastore.errors import InvalidObjectError

DEFAULT_DIRECTORY: Final = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
"""Directory name for values that are not declared, once per skewed column (Hive's ListBucketingPrunerUtils)."""

FLAT_DEFAULT: Final = "skew="
"""File name prefix of values that are not declared, in the flat layout."""

# Hive escapes `=` in values, so no directory name ends with it.
_FLAT, _FLAT_END = "skew.", "="
_LONGEST_PREFIX = 150  # bytes; most file systems allow 255 for a name, and the query id follows


def default_directory(columns: int) -> str:
    """Returns the path, relative to a partition, of the directory for values that are not declared."""
    return "/".join([DEFAULT_DIRECTORY] * columns)


def skew_directories(columns: Sequence[str], values: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Returns paths relative to a partition: first the default directory, then one for each value in its order.

    Two values can have the same path (the empty string and NULL). The later one gets a number as a suffix, because the
    directory of a skewed value must not contain other values.
    """
    names = [default_directory(len(columns))]
    for value in values:
        path = value_path(columns, value)
        names.append(next(name for name in _candidates(path) if name not in names))
    return tuple(names)


def existing_directories(
    columns: Sequence[str], values: Sequence[Sequence[str]], children: Callable[[str], Iterable[str]]
) -> dict[tuple[str, ...], str]:
    """Returns the existing directories of values, as paths relative to a partition, by value.

    `children` lists the names of the directories in a path relative to the partition; "" is the partition itself.
    """
    declared = dict(zip(skew_directories(columns, values)[1:], map(tuple, values), strict=True))
    names = [""]
    for column in columns:
        prefix = value_path([column], [""]).partition("=")[0] + "="
        below = ((name, child) for name in names for child in children(name))
        names = [f"{name}/{child}".lstrip("/") for name, child in below if child.startswith(prefix)]
    existing = {declared.get(name) or _values(name): name for name in names}
    return {value: name for value, name in existing.items() if len(value) == len(columns)}


def flat_prefix(columns: Sequence[str], value: Sequence[str]) -> str:
    """Returns the file name prefix of a declared value in the flat layout: `skew.x=1,s=a=`."""
    return f"{_FLAT}{value_path(columns, value).replace('/', ',')}{_FLAT_END}"


def flat_prefixes(columns: Sequence[str], values: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Returns file name prefixes: first for values that are not declared, then for each declared value in its order.

    If an earlier value has the same prefix, the prefix ends with a number. A value whose prefix would be too long is
    stored in a directory instead; then the entry is the path of the directory.
    """
    names: list[str] = []
    for value in values:
        name = flat_prefix(columns, value)
        names.append(f"{name}{len(names)}{_FLAT_END}" if name in names else name)
    directories = skew_directories(columns, values)[1:]
    short = (len(name.encode()) <= _LONGEST_PREFIX for name in names)
    pairs = zip(names, directories, short, strict=True)
    return (FLAT_DEFAULT, *(name if fits else directory for name, directory, fits in pairs))


def is_flat(entry: str) -> bool:
    """Returns whether an entry of `flat_prefixes` is a prefix of file names, and not a directory."""
    return entry.endswith(_FLAT_END)


def file_path(entry: str, name: str) -> str:
    """Returns the path of a file for an entry of `flat_prefixes`, relative to the partition."""
    return f"{entry}{name}" if is_flat(entry) else f"{entry}/{name}"


def _values(name: str) -> tuple[str, ...]:
    """Returns the values in the path of a directory; empty if it is not that of a value, such as `x=`."""
    with suppress(InvalidObjectError):
        return tuple(value for _, value in parse_name(name))
    return ()


def _candidates(path: str) -> Iterator[str]:
    yield path
    yield from (f"{path}_{number}" for number in itertools.count(1))
