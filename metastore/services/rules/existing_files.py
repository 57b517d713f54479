"""Files that exist before their table or partition is created, as for MSCK and external tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from metastore.domain.column_statistics import updates_statistics
from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from metastore.domain.skew_directories import existing_directories
from metastore.errors import InvalidObjectError
from metastore.services.rules.tables import count, fill_statistics, has_statistics, is_managed
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table

Owner = TypeVar("Owner", Table, Partition)


def count_files(owners: Sequence[Owner], warehouse: Warehouse, context: Mapping[str, str]) -> None:
    """Fills in statistics that the client has not sent. Those that it calls accurate do not cover these files.

    `context`: the client's properties. With DO_NOT_UPDATE_STATS, files are not counted, as in Hive 3.
    """
    uncounted = [owner for owner in owners if not has_statistics(owner.parameters)]
    counted = count(uncounted, warehouse) if updates_statistics(context) else {}
    fill_statistics(uncounted, counted, context)


def find_skewed_directories(owners: Sequence[Owner], warehouse: Warehouse) -> None:
    """Fills in directories of skewed values that the client has not sent.

    Scans find rows of a declared value only if its directory is registered. They always read directories of other
    values (`services.scans`). Locations outside of the roots are ignored.
    """
    for owner in owners:
        if not has_directories(owner.sd) or owner.sd.skewedInfo.skewedColValueLocationMaps:
            continue
        if warehouse.roots.within([owner.sd.location]):
            owner.sd.skewedInfo.skewedColValueLocationMaps = _skewed_directories(owner.sd, warehouse)


def has_directories(sd: StorageDescriptor) -> bool:
    """Returns whether skewed values have directories of their own."""
    info = sd.skewedInfo
    return bool(sd.storedAsSubDirectories and info and info.skewedColNames and info.skewedColValues)


def _skewed_directories(sd: StorageDescriptor, warehouse: Warehouse) -> dict[tuple[str, ...], str]:
    def children(name: str) -> list[str]:
        _, below = warehouse.children(paths.join(sd.location, name) if name else sd.location)
        return [paths.name(child) for child in below]

    names = existing_directories(sd.skewedInfo.skewedColNames, sd.skewedInfo.skewedColValues, children)
    return {value: paths.join(sd.location, name) for value, name in names.items()}


def check_newest(tables: Iterable[Table], warehouse: Warehouse) -> None:
    """Raises InvalidObjectError if an external table would show outdated rows, which another table has replaced."""
    for table in tables:
        if is_managed(table) or not warehouse.roots.within([table.sd.location]):
            continue
        inside, _ = warehouse.children(table.sd.location)
        for name in (paths.name(file.location) for file in inside):
            if name.startswith(NEWER_ROWS_MARKER):
                raise InvalidObjectError(
                    f"{table.sd.location} holds rows that were replaced. Newer rows are in its _versions: UNDROP the "
                    f"table that wrote them, or remove {name} to read the old ones"
                )
