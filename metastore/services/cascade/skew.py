"""What becomes of skew when tables and partitions change, above all in the hands of clients that know nothing of it.

Spark leaves `skewedInfo` out of partitions, and sends an empty one with tables, whatever it changes. Taken
at its word, a rename would make the directories of heavy values invisible.
"""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.names import fold
from metastore.errors import InvalidOperationError
from metastore.services.files.moves import Move, relocate
from metastore.structs import shallow_copy
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table

# Hive's clients name the statement in the context of ALTER TABLE (HiveMetaStore.ALTER_TABLE_OPERATION_TYPE).
OPERATION = "alterTableOpType"


def keep_partition_skew(old: Partition, new: Partition) -> None:
    """Keeps the skew of a partition that says nothing of it."""
    if new.sd.skewedInfo is None:
        _keep(old.sd, new.sd)


def keep_table_skew(old: Table, new: Table, context: Mapping[str, str]) -> None:
    """Keeps a table's skew when an empty one is sent, unless the client says which statement it comes from.

    Raises InvalidOperationError where a skewed column would change.
    """
    if OPERATION not in context and not _says_skew(new.sd):
        _keep(old.sd, new.sd)
    _check_columns(old, new)


def _check_columns(old: Table, new: Table) -> None:
    """Refuses (InvalidOperationError) what Hive's AlterTableChangeColumnAnalyzer does."""
    before, after = ({fold(column.name): fold(column.type) for column in table.sd.cols or []} for table in (old, new))
    still = {fold(name) for name in new.sd.skewedInfo.skewedColNames or []} if new.sd.skewedInfo else set()
    for name in old.sd.skewedInfo.skewedColNames:
        if name in still and name in before and after.get(name) != before[name]:
            change = f"its type {before[name]} would be {after[name]}" if name in after else "it would be gone"
            raise InvalidOperationError(
                f"[Error 10207]: {name} is a skewed column. It's not allowed to rename skewed column or change skewed "
                f"column type. (table {old.dbName}.{old.tableName}: {change}; make it NOT SKEWED first)"
            )


def _says_skew(sd: StorageDescriptor) -> bool:
    info = sd.skewedInfo
    return info is not None and bool(info.skewedColNames or info.skewedColValues or info.skewedColValueLocationMaps)


def _keep(old: StorageDescriptor, new: StorageDescriptor) -> None:
    """Keeps the old skew. If the whole table or partition moves, the directories of its values move along: a client
    that copied the location has copied them, and a missing directory holds no rows. Scans always read the files
    directly in the new location (services/entry/scans.py).
    """
    new.skewedInfo = shallow_copy(old.skewedInfo)
    new.storedAsSubDirectories = old.storedAsSubDirectories
    if not (old.location and new.location) or paths.same(old.location, new.location):
        return
    places = new.skewedInfo.skewedColValueLocationMaps
    new.skewedInfo.skewedColValueLocationMaps = {
        value: place
        for value, place in places.items()
        if paths.absolute([place]) and paths.is_below(place, old.location)
    }
    relocate(new, Move(old.location, paths.normalise(new.location)))
