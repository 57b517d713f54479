"""Where rows of skewed values lie: names of directories below a partition, or beginnings of the names of its files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from metastore.domain.partition_names import parse_name, value_path
from metastore.errors import InvalidObjectError

DEFAULT_DIRECTORY: Final = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
"""Where rows lie whose values are not listed, once per skewed column (Hive's ListBucketingPrunerUtils)."""

FLAT_DEFAULT: Final = "skew="
"""How, in the flat layout, the names of files of all other values begin."""

# What Hive escapes never holds a `=`, so no name of a directory ends with one.
_FLAT, _FLAT_END = "skew.", "="
_LONGEST_PREFIX = 150  # bytes: most file systems allow 255 for a name, and the rest of it is needed


def default_directory(columns: int) -> str:
    """Returns the name, below a partition, of the directory for values that are not listed."""
    return "/".join([DEFAULT_DIRECTORY] * columns)


def skew_directories(columns: Sequence[str], values: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Returns names of directories below a partition: the default one first, then one for each value in its order.

    Two values may have one name (the empty string and null have): a later one gets a name of its own, because a
    directory of a skewed value must hold nothing else.
    """
    names = [default_directory(len(columns))]
    for value in values:
        path = value_path(columns, value)
        names.append(next(name for name in _candidates(path) if name not in names))
    return tuple(names)


def existing_directories(
    columns: Sequence[str], values: Sequence[Sequence[str]], children: Callable[[str], Iterable[str]]
) -> dict[tuple[str, ...], str]:
    """Returns the directories of values that are there, by value, as names below a partition.

    `children` lists the names of the directories in one of a name below the partition, which is empty for itself.
    """
    declared = dict(zip(skew_directories(columns, values)[1:], map(tuple, values), strict=True))
    names = [""]
    for column in columns:
        beginning = value_path([column], [""]).partition("=")[0] + "="
        below = ((name, child) for name in names for child in children(name))
        names = [f"{name}/{child}".lstrip("/") for name, child in below if child.startswith(beginning)]
    found = {declared.get(name) or _values(name): name for name in names}
    return {value: name for value, name in found.items() if len(value) == len(columns)}


def flat_prefix(columns: Sequence[str], value: Sequence[str]) -> str:
    """Returns how, in the flat layout, the names of the files of a declared value begin: `skew.x=1,s=a=`."""
    return f"{_FLAT}{value_path(columns, value).replace('/', ',')}{_FLAT_END}"


def flat_prefixes(columns: Sequence[str], values: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Returns how names of files begin: those of all other values, then those of each value in its order.

    A value whose name is too long for that has a directory. Where an earlier value has the name, a number follows.
    """
    names: list[str] = []
    for value in values:
        name = flat_prefix(columns, value)
        names.append(f"{name}{len(names)}{_FLAT_END}" if name in names else name)
    directories = skew_directories(columns, values)[1:]
    short = (len(name.encode()) <= _LONGEST_PREFIX for name in names)
    pairs = zip(names, directories, short, strict=True)
    return (FLAT_DEFAULT, *(name if fits else directory for name, directory, fits in pairs))


def is_flat(place: str) -> bool:
    """Tells the beginning of names of files (true) from a directory."""
    return place.endswith(_FLAT_END)


def file_path(place: str, name: str) -> str:
    """Returns a file of this name in a directory, or with that beginning."""
    return f"{place}{name}" if is_flat(place) else f"{place}/{name}"


def _values(name: str) -> tuple[str, ...]:
    """Returns the values that a directory is named by; none where it is nobody's: `x=`, or what no value can hold."""
    with suppress(InvalidObjectError):
        return tuple(value for _, value in parse_name(name))
    return ()


def _candidates(path: str) -> Iterator[str]:
    yield path
    yield from (f"{path}_{number}" for number in itertools.count(1))
