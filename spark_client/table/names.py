"""How Hive names the directories of partitions and of skewed values. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

# Hive's text for null and for the empty string, in names and in values.
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# Where rows go whose skew columns hold no declared value; once per skew column (Hive's ListBucketingPrunerUtils).
DEFAULT_DIRECTORY = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
# In the flat layout, the beginnings of the names of files, by the value of their rows. Hive escapes each other `=`.
_FLAT, _FLAT_DEFAULT, _FLAT_END = "skew.", "skew=", "="
_LONGEST_PREFIX = 150  # bytes: most file systems allow 255 for a name, and the rest of it is needed
# Hive's FileUtils: control characters and these.
_ESCAPED = {*map(chr, range(0x20)), "\x7f", *"\"#%'*/:=?\\{[]^"}
# As a pattern of regular expressions, for Java's and for Python's.
ESCAPED = "[" + "".join(f"\\x{ord(char):02x}" for char in sorted(_ESCAPED)) + "]"
_HEX = set("0123456789abcdefABCDEF")
# Spark's HadoopMapReduceCommitProtocol: <base name>-<task>-<uuid>.c<number>.<compression>.<format>
_TASK = re.compile(r"-(\d{5,})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def escape(text: str) -> str:
    """The text as a directory name (Hive's FileUtils.escapePathName); empty is the default partition."""
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text) or DEFAULT_PARTITION


def unescape(name: str) -> str:
    """The text of a directory name; a `%` that no two hexadecimal digits follow stays."""
    head, *rest = name.split("%")
    return head + "".join(
        chr(int(piece[:2], 16)) + piece[2:] if len(piece) > 1 and set(piece[:2]) <= _HEX else "%" + piece
        for piece in rest
    )


def value_path(columns: Sequence[str], values: Sequence[str]) -> str:
    """`c1=v1/c2=v2`: the name of a partition, or of the directory of a skewed value (Warehouse.makePartName)."""
    return "/".join(f"{escape(column.lower())}={escape(value)}" for column, value in zip(columns, values, strict=True))


def skew_directories(columns: Sequence[str], values: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Directory names below a partition: the default directory first, then one for each value in its order.

    Two values may have one name (the empty string and null have): a later one gets a name of its own, because a
    directory of a skewed value must hold nothing else.
    """
    names = ["/".join([DEFAULT_DIRECTORY] * len(columns))]
    for value in values:
        path = value_path(columns, value)
        names.append(next(name for name in _candidates(path) if name not in names))
    return tuple(names)


def flat_prefixes(columns: Sequence[str], values: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """How, in the flat layout, names of files begin: those of all other values, then those of each value in its order.

    A value whose name is too long for that has a directory. Where an earlier value has the name, a number follows.
    """
    names: list[str] = []
    for value in values:
        name = f"{_FLAT}{value_path(columns, value).replace('/', ',')}{_FLAT_END}"
        names.append(f"{name}{len(names)}{_FLAT_END}" if name in names else name)
    directories = skew_directories(columns, values)[1:]
    short = (len(name.encode()) <= _LONGEST_PREFIX for name in names)
    pairs = zip(names, directories, short, strict=True)
    return (_FLAT_DEFAULT, *(name if fits else directory for name, directory, fits in pairs))


def is_flat(place: str) -> bool:
    """True for the beginning of names of files, false for a directory."""
    return place.endswith(_FLAT_END)


def inside(place: str, name: str) -> str:
    """A file of this name in a directory, or with that beginning."""
    return f"{place}{name}" if is_flat(place) else f"{place}/{name}"


def _candidates(path: str) -> Iterator[str]:
    yield path
    yield from (f"{path}_{number}" for number in itertools.count(1))


def task_of(location: str) -> str:
    """The number of the task that wrote a file of Spark's."""
    found = _TASK.search(location.rpartition("/")[2])
    return found[1] if found else ""
