"""Keeps bucket definitions correct when tables and partitions change: the buckets of existing files do not change."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.buckets import buckets
from metastore.domain.names import fold, fold_column
from metastore.errors import InvalidOperationError
from metastore.services.cascade.skew import OPERATION
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table


def keep_partition_buckets(table: Table, old: Partition, new: Partition) -> None:
    """Keeps the buckets of a partition of a bucketed table if the client sends none.

    Spark always leaves them out. Hive's NOT CLUSTERED sends -1 buckets.
    """
    if new.sd.numBuckets or new.sd.bucketCols or not _columns(table.sd):
        return
    new.sd.numBuckets, new.sd.bucketCols, new.sd.sortCols = old.sd.numBuckets, old.sd.bucketCols, old.sd.sortCols


def keep_table_order(old: Table, new: Table, context: Mapping[str, str]) -> None:
    """Keeps the sort order of a table whose buckets stay, unless the client names its statement.

    Spark leaves out descending orders.
    """
    same = new.sd.numBuckets == old.sd.numBuckets and _columns(new.sd) == _columns(old.sd)
    if OPERATION not in context and same and not new.sd.sortCols:
        new.sd.sortCols = old.sd.sortCols


def check_bucketing_columns(old: Table, new: Table) -> None:
    """Raises InvalidOperationError if the type of a bucketing column would change.

    The hash of a value depends on its type, and nothing would distinguish old files from new ones. Lengths and
    precisions do not change the hash. Partitions with columns of their own keep their types.
    """
    before, after = (
        {fold_column(c.name): fold(c.type).partition("(")[0] for c in table.sd.cols} for table in (old, new)
    )
    for name in sorted(_columns(old.sd) & _columns(new.sd) & before.keys() & after.keys()):
        if before[name] != after[name]:
            raise InvalidOperationError(
                f"{old.dbName}.{old.tableName} is CLUSTERED BY {name}, and its files are bucketed by the type "
                f"{before[name]}, which cannot change to {after[name]}: make it NOT CLUSTERED, or copy it to a new "
                "table"
            )


def _columns(sd: StorageDescriptor) -> set[str]:
    return {fold_column(name) for name in buckets(sd.bucketCols, sd.numBuckets).columns}
