"""Where rows of skewed values lie: names of directories below a partition, or beginnings of the names of its files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from metastore.domain.partition_names import value_path

DEFAULT_DIRECTORY: Final = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
"""Where rows lie whose values are not listed, once per skewed column (Hive's ListBucketingPrunerUtils)."""

FLAT_DEFAULT: Final = "skew="
"""How, in the flat layout, the names of files of all other values begin."""

# What Hive escapes never holds a `=`, so no name of a directory ends with one.
_FLAT, _FLAT_END = "skew.", "="
_LONGEST_PREFIX = 150  # bytes: most file systems allow 255 for a name, and the rest of it is needed


def skew_directories(columns: Sequence[str], values: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Returns names of directories below a partition: the default one first, then one for each value in its order.

    Two values may have one name (the empty string and null have): a later one gets a name of its own, because a
    directory of a skewed value must hold nothing else.
    """
    names = ["/".join([DEFAULT_DIRECTORY] * len(columns))]
    for value in values:
        path = value_path(columns, value)
        names.append(next(name for name in _candidates(path) if name not in names))
    return tuple(names)


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


def inside(place: str, name: str) -> str:
    """Returns a file of this name in a directory, or with that beginning."""
    return f"{place}{name}" if is_flat(place) else f"{place}/{name}"


def _candidates(path: str) -> Iterator[str]:
    yield path
    yield from (f"{path}_{number}" for number in itertools.count(1))
