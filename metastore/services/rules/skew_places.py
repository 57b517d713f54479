"""Directories of skewed values that are there before what they belong to, as for MSCK: nobody says where they lie."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from metastore.domain.partition_names import parse_name, value_path
from metastore.domain.skew_places import skew_directories
from metastore.errors import InvalidObjectError
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table


def has_directories(sd: StorageDescriptor) -> bool:
    """Tells whether rows lie in directories of their values."""
    return bool(sd.storedAsSubDirectories and sd.skewedInfo.skewedColNames)


def lacks_places(owner: Table | Partition) -> bool:
    """Tells whether rows may lie in directories of their values, and none is named."""
    return has_directories(owner.sd) and not owner.sd.skewedInfo.skewedColValueLocationMaps


def find_places(owners: Iterable[Table | Partition], warehouse: Warehouse) -> None:
    """Names the directories that are there: rows of a value for which none is named are not looked for.

    Those of values that are not declared are read whatever is asked for (`services.entry.scans`). What lies outside of
    the roots is not looked at.
    """
    for owner in owners:
        if warehouse.roots.holding([owner.sd.location]):
            owner.sd.skewedInfo.skewedColValueLocationMaps = _found(owner.sd, warehouse)


def _found(sd: StorageDescriptor, warehouse: Warehouse) -> dict[tuple[str, ...], str]:
    columns, values = sd.skewedInfo.skewedColNames, sd.skewedInfo.skewedColValues
    declared = dict(zip(skew_directories(columns, values)[1:], map(tuple, values), strict=True))
    names = [""]
    for column in columns:
        beginning = value_path([column], [""]).partition("=")[0] + "="
        below = (child for name in names for child in _children(sd.location, name, warehouse))
        names = [name for name in below if name.rpartition("/")[2].startswith(beginning)]
    found = {declared.get(name) or _values(name): paths.join(sd.location, name) for name in names}
    return {value: place for value, place in found.items() if len(value) == len(columns)}


def _values(name: str) -> tuple[str, ...]:
    """Returns the values that a directory is named by; none where it is nobody's: `x=`, or what no value can hold."""
    with suppress(InvalidObjectError):
        return tuple(value for _, value in parse_name(name))
    return ()


def _children(location: str, name: str, warehouse: Warehouse) -> list[str]:
    """Returns the names of directories in one of this name below a location, as names below the location."""
    _, below = warehouse.children(paths.join(location, name) if name else location)
    return [f"{name}/{paths.name(child)}".lstrip("/") for child in below]
