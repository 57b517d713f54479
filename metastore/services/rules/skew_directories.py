"""Directories of skewed values that exist before their table or partition is created, as for MSCK."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.skew_directories import existing_directories
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table


def has_directories(sd: StorageDescriptor) -> bool:
    """Tells whether skewed values have directories of their own."""
    return bool(sd.storedAsSubDirectories and sd.skewedInfo.skewedColNames)


def lacks_locations(owner: Table | Partition) -> bool:
    """Tells whether skewed values may have directories, but the client names none."""
    return has_directories(owner.sd) and not owner.sd.skewedInfo.skewedColValueLocationMaps


def register_directories(owners: Iterable[Table | Partition], warehouse: Warehouse) -> None:
    """Registers the existing directories of declared values. Scans find rows of a value only if it is registered.

    Scans always read directories of other values (`services.entry.scans`). Locations outside of the roots are ignored.
    """
    for owner in owners:
        if warehouse.roots.within([owner.sd.location]):
            owner.sd.skewedInfo.skewedColValueLocationMaps = _existing(owner.sd, warehouse)


def _existing(sd: StorageDescriptor, warehouse: Warehouse) -> dict[tuple[str, ...], str]:
    columns, values = sd.skewedInfo.skewedColNames, sd.skewedInfo.skewedColValues
    names = existing_directories(columns, values, lambda name: _children(sd.location, name, warehouse))
    return {value: paths.join(sd.location, name) for value, name in names.items()}


def _children(location: str, name: str, warehouse: Warehouse) -> list[str]:
    """Returns the names of the directories in directory `name` (empty: the location itself)."""
    _, below = warehouse.children(paths.join(location, name) if name else location)
    return [paths.name(child) for child in below]
