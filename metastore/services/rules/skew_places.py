"""Directories of skewed values that are there before what they belong to, as for MSCK: nobody says where they lie."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.skew_directories import existing_directories
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
        if warehouse.roots.within([owner.sd.location]):
            owner.sd.skewedInfo.skewedColValueLocationMaps = _found(owner.sd, warehouse)


def _found(sd: StorageDescriptor, warehouse: Warehouse) -> dict[tuple[str, ...], str]:
    columns, values = sd.skewedInfo.skewedColNames, sd.skewedInfo.skewedColValues
    found = existing_directories(columns, values, lambda name: _children(sd.location, name, warehouse))
    return {value: paths.join(sd.location, name) for value, name in found.items()}


def _children(location: str, name: str, warehouse: Warehouse) -> list[str]:
    """Returns the names of the directories in one of this name below a location."""
    _, below = warehouse.children(paths.join(location, name) if name else location)
    return [paths.name(child) for child in below]
