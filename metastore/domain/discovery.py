"""The partitions that the directories of an external table stand for. Pure: a function lists the directories.

Names are read as Hive's MSCK reads them: `column=value` on a level for each partition column, escaped or not, the
column in any case. Directories below those of partitions are never listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from metastore.domain.data_files import is_data_name
from metastore.domain.names import fold_column
from metastore.domain.partition_names import (
    DEFAULT_PARTITION,
    escape,
    first_invalid_character,
    partition_name,
    unescape,
    value_path,
)
from metastore.errors import InvalidInputError, InvalidObjectError

_WHOLE: Final = re.compile("[+-]?[0-9]{1,30}")
_DATE: Final = re.compile(r"[0-9]{4,}-[0-9]{1,2}-[0-9]{1,2}")
_INTEGERS: Final = ("tinyint", "smallint", "int", "integer", "bigint")


class Folder(NamedTuple):
    """A directory to list. Only subdirectories whose names are not less than `first` are needed."""

    location: str
    first: str = ""


ListFolders = Callable[[Sequence[Folder]], Iterable[Sequence[str] | None]]
"""Returns the names of the subdirectories of each directory, at least those needed; None if it does not exist."""


class FoundPartition(NamedTuple):
    """A partition for which there is a directory. `values`: unescaped; `location`: of the directory."""

    name: str
    values: tuple[str, ...]
    location: str


@dataclass(slots=True)
class Found:
    """The directories of a table.

    Attributes:
        new: partitions that the metastore does not have, by name.
        seen: names of all partitions for which a directory was found.
        strange: relative paths of directories that are no partitions, with the reason.
        exists: whether the table's directory exists.
    """

    new: list[FoundPartition] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    strange: list[str] = field(default_factory=list)
    exists: bool = True


class _Branch(NamedTuple):
    """A directory above partitions. `is_edge`: it stands for the first values of the greatest known partition."""

    location: str
    path: str
    values: tuple[str, ...]
    is_edge: bool


def find_partitions(
    location: str, keys: Sequence[tuple[str, str]], known: Iterable[str], folders: ListFolders, *, newer: bool
) -> Found:
    """Compares the directories of a table with its partitions, one level after the other.

    Args:
        location: the table's.
        keys: names and types of its partition columns.
        known: names of its partitions.
        folders: lists directories. It is called once for each level.
        newer: leaves out partitions that come before the greatest known one, in the order of numbers and of names as
            Hive writes them. Fewer directories are listed.

    Raises what `folders` raises.
    """
    found, names = Found(), set(known)
    edge = _greatest(keys, names) if newer else None
    level = [_Branch(location.rstrip("/"), "", (), is_edge=edge is not None)]
    for number, (key, kind) in enumerate(keys):
        least = edge[number] if edge is not None else None
        asked = [Folder(branch.location, _first(key, kind, least) if branch.is_edge else "") for branch in level]
        below: list[_Branch] = []
        for branch, listed in zip(level, folders(asked), strict=True):
            if listed is None and not number:
                found.exists = False
            below += _below(found, branch, key, kind, listed or (), least)
        level = below
    columns = [key for key, _ in keys]
    for branch in level:
        _add(found, names, columns, branch)
    found.new.sort()
    return found


def _below(
    found: Found, branch: _Branch, key: str, kind: str, listed: Iterable[str], least: str | None
) -> Iterator[_Branch]:
    """Yields the subdirectories of a directory that stand for values of a column, and notes the others."""
    for name in sorted(listed):
        if not is_data_name(name):
            continue
        path = f"{branch.path}{name}"
        value, problem = _value(key, kind, name)
        if problem:
            found.strange.append(f"{path}: {problem}")
            continue
        is_edge = branch.is_edge and value == least
        if branch.is_edge and least is not None and not is_edge and _comes_before(kind, value, least):
            continue
        yield _Branch(f"{branch.location}/{name}", f"{path}/", (*branch.values, value), is_edge)


def _add(found: Found, known: set[str], columns: Sequence[str], branch: _Branch) -> None:
    """Notes the directory of a partition."""
    path = branch.path.rstrip("/")
    try:
        name = partition_name(columns, branch.values)
    except (InvalidInputError, InvalidObjectError) as error:
        found.strange.append(f"{path[:60]}: {error}")
        return
    if name in found.seen:
        found.strange.append(f"{path}: another directory has the same values")
        return
    found.seen.add(name)
    if name not in known:
        found.new.append(FoundPartition(name, branch.values, branch.location))


def _value(key: str, kind: str, name: str) -> tuple[str, str | None]:
    """Returns the value that a directory stands for, or why it stands for none."""
    column, equals, text = name.partition("=")
    if not equals or fold_column(unescape(column)) != fold_column(key):
        return "", f"its name does not begin with {key}="
    value = unescape(text)
    if not value:
        return "", "it has no value"
    if first_invalid_character([value]) is not None:
        return "", "a character of its name cannot be stored"
    if value == DEFAULT_PARTITION:
        return value, None
    if kind in _INTEGERS and not _WHOLE.fullmatch(value):
        return "", f"{key} is {kind}"
    if kind == "date" and not _DATE.fullmatch(value):
        return "", f"{key} is a date"
    return value, None


def _greatest(keys: Sequence[tuple[str, str]], known: Iterable[str]) -> tuple[str, ...] | None:
    """Returns the values of the greatest partition in the order of its columns; None if there is none.

    Default partitions, and values that are no number where the column is one, do not count.
    """
    kinds = [kind for _, kind in keys]
    rows = (tuple(unescape(part.partition("=")[2]) for part in name.split("/")) for name in known)
    return max(
        (values for values in rows if len(values) == len(keys) and all(map(_is_ordered, kinds, values))),
        key=lambda values: tuple(map(_order, kinds, values)),
        default=None,
    )


def _is_ordered(kind: str, value: str) -> bool:
    return value != DEFAULT_PARTITION and (kind not in _INTEGERS or bool(_WHOLE.fullmatch(value)))


def _order(kind: str, value: str) -> tuple[int, str]:
    """Returns the rank of a value among those of its column: numbers by size, others by their names."""
    return (int(value), "") if kind in _INTEGERS else (0, escape(value))


def _comes_before(kind: str, value: str, least: str) -> bool:
    """Returns whether a value is less than another one. The default partition never is."""
    return value != DEFAULT_PARTITION and _order(kind, value) < _order(kind, least)


def _first(key: str, kind: str, least: str | None) -> str:
    """Returns the least name of a directory whose value is not less than `least`; "" if names say nothing about it:
    numbers do not have the order of their names.
    """
    return "" if least is None or kind in _INTEGERS else value_path([key], [least])
