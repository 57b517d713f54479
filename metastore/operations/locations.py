"""The locations that a call carries: location fields, and the properties from which clients read locations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from thrift.Thrift import TType

from metastore.domain.location_properties import is_relative, named_locations
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor

FIELDS: Final = frozenset(("location", "locationUri", "managedLocationUri", "rootPath", "uri"))
"""The fields of the IDL's structs that hold a location."""
_COPIES: Final = frozenset(("creationMetadata",))
"""Fields that repeat other tables, as a materialized view does with its sources. Only their names are stored."""
_VALUES: Final = "skewedColValueLocationMaps"
"""The field whose map holds a location for each skewed value."""

Reader = Callable[[Any], Iterable[str | None]]


class _Plan(NamedTuple):
    """How to find the locations in a struct: readers of its own fields, and the fields that hold other structs."""

    readers: tuple[tuple[str, Reader], ...]
    structs: tuple[str, ...]
    lists: tuple[str, ...]


def locations_in(*structs: Any) -> tuple[str, ...]:
    """Returns the locations in generated structs, at any depth. Unset structs (None) have none."""
    return tuple(dict.fromkeys(text for struct in structs for text in _walk(struct) if text))


def _walk(struct: Any) -> Iterator[str | None]:
    if struct is None:
        return
    kind: Any = type(struct)
    plan = _plan(kind)
    for name, reader in plan.readers:
        value = getattr(struct, name)
        if value:
            yield from reader(value)
    for name in plan.structs:
        yield from _walk(getattr(struct, name))
    for name in plan.lists:
        for item in getattr(struct, name) or ():
            yield from _walk(item)


@cache
def _plan(struct: Any) -> _Plan:
    readers: list[tuple[str, Reader]] = []
    structs, lists = [], []
    for _, kind, name, details, *_ in _specs(struct):
        if name in _COPIES:
            continue
        if kind == TType.STRING and name in FIELDS:
            readers.append((name, _own_location if struct is StorageDescriptor else lambda value: (value,)))
        elif kind == TType.MAP and name == _VALUES:
            readers.append((name, lambda value: value.values()))
        elif kind == TType.MAP and (details[0], details[2]) == (TType.STRING, TType.STRING):
            readers.append((name, named_locations))
        elif kind == TType.STRUCT and _has_locations(details[0]):
            structs.append(name)
        elif kind in (TType.LIST, TType.SET) and details[0] == TType.STRUCT and _has_locations(details[1][0]):
            lists.append(name)
    return _Plan(tuple(readers), tuple(structs), tuple(lists))


def _own_location(location: str) -> tuple[str, ...]:
    """Returns nothing for a name, which the server resolves against the table's location or rejects."""
    return () if is_relative(location) else (location,)


def _has_locations(struct: type[Any], seen: frozenset[type[Any]] = frozenset()) -> bool:
    """Returns whether a struct can hold a location, so that the walk skips the others, such as columns."""
    if struct in seen:
        return False
    for _, kind, name, details, *_ in _specs(struct):
        if (kind == TType.STRING and name in FIELDS) or kind == TType.MAP:
            return True
        inner = details[0] if kind == TType.STRUCT else details[1][0] if _is_list_of_structs(kind, details) else None
        if inner is not None and _has_locations(inner, seen | {struct}):
            return True
    return False


def _is_list_of_structs(kind: int, details: Any) -> bool:
    return kind in (TType.LIST, TType.SET) and details[0] == TType.STRUCT


def _specs(struct: type[Any]) -> Iterator[Any]:
    return (spec for spec in struct.thrift_spec if spec is not None)
