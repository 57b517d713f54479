"""Keeps skew definitions when clients that do not know them alter tables and partitions.

Spark leaves `skewedInfo` out of partitions and sends an empty one with tables. If the server stored that, a rename
would make the directories of skewed values invisible.
"""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.names import fold, fold_column
from metastore.encoding.structs import shallow_copy
from metastore.errors import InvalidOperationError
from metastore.services.files.moves import Move, relocate_skew
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table

# Hive's clients name the statement in the context of ALTER TABLE (HiveMetaStore.ALTER_TABLE_OPERATION_TYPE).
OPERATION = "alterTableOpType"


def keep_partition_skew(old: Partition, new: Partition) -> None:
    """Keeps the skew of a partition if the client sends none."""
    if new.sd.skewedInfo is None:
        _keep(old.sd, new.sd)


def keep_table_skew(old: Table, new: Table, context: Mapping[str, str]) -> None:
    """Keeps a table's skew if the client sends an empty one and does not name its statement.

    Raises InvalidOperationError if a skewed column would change.
    """
    if OPERATION not in context and not _has_skew(new.sd):
        _keep(old.sd, new.sd)
    _check_columns(old, new)


def _check_columns(old: Table, new: Table) -> None:
    """Raises InvalidOperationError for the changes that Hive's AlterTableChangeColumnAnalyzer rejects."""
    before, after = (
        {fold_column(column.name): fold(column.type) for column in table.sd.cols or []} for table in (old, new)
    )
    still = {fold_column(name) for name in new.sd.skewedInfo.skewedColNames or []} if new.sd.skewedInfo else set()
    for name in old.sd.skewedInfo.skewedColNames:
        if name in still and name in before and after.get(name) != before[name]:
            change = f"its type {before[name]} would be {after[name]}" if name in after else "it would be dropped"
            raise InvalidOperationError(
                f"[Error 10207]: {name} is a skewed column. It's not allowed to rename skewed column or change skewed "
                f"column type. (table {old.dbName}.{old.tableName}: {change}; make it NOT SKEWED first)"
            )


def _has_skew(sd: StorageDescriptor) -> bool:
    info = sd.skewedInfo
    return info is not None and bool(info.skewedColNames or info.skewedColValues or info.skewedColValueLocationMaps)


def _keep(old: StorageDescriptor, new: StorageDescriptor) -> None:
    """Keeps the old skew. If the whole table or partition moves, the directories of its values move with it: a client
    that copied the location has copied them, too, and a missing directory contains no rows. Scans always read the files
    directly in the new location (services/scans.py).
    """
    new.skewedInfo = shallow_copy(old.skewedInfo)
    new.storedAsSubDirectories = old.storedAsSubDirectories
    if not (old.location and new.location) or paths.same(old.location, new.location):
        return
    locations = new.skewedInfo.skewedColValueLocationMaps
    new.skewedInfo.skewedColValueLocationMaps = {
        value: location
        for value, location in locations.items()
        if paths.absolute([location]) and paths.is_below(location, old.location)
    }
    relocate_skew(new, Move(old.location, paths.normalise(new.location)))
