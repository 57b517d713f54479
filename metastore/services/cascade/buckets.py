"""What becomes of buckets when tables and partitions change: rows lie where they lie, whatever a client says."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.buckets import buckets
from metastore.domain.names import fold
from metastore.errors import InvalidOperationError
from metastore.services.cascade.skew import OPERATION
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table


def keep_partition_buckets(table: Table, old: Partition, new: Partition) -> None:
    """A partition of a bucketed table that says nothing of buckets keeps them: Spark leaves them out, whatever it
    changes, and Hive's NOT CLUSTERED says -1.
    """
    if new.sd.numBuckets or new.sd.bucketCols or not _columns(table.sd):
        return
    new.sd.numBuckets, new.sd.bucketCols, new.sd.sortCols = old.sd.numBuckets, old.sd.bucketCols, old.sd.sortCols


def keep_table_order(old: Table, new: Table, context: Mapping[str, str]) -> None:
    """A table of the same buckets keeps the order of its rows, unless the client names its statement: Spark leaves out
    an order that descends.
    """
    same = new.sd.numBuckets == old.sd.numBuckets and _columns(new.sd) == _columns(old.sd)
    if OPERATION not in context and same and not new.sd.sortCols:
        new.sd.sortCols = old.sd.sortCols


def check_bucketing_columns(old: Table, new: Table) -> None:
    """Refuses (InvalidOperationError) other types of bucketing columns. Rows lie in buckets by the hash of their
    columns' types; nothing would tell the files of before from others.

    Partitions that keep their columns tell it themselves. Lengths and precisions do not matter to the hash.
    Raises InvalidOperationError.
    """
    before, after = ({fold(c.name): fold(c.type).partition("(")[0] for c in table.sd.cols} for table in (old, new))
    for name in sorted(_columns(old.sd) & _columns(new.sd) & before.keys() & after.keys()):
        if before[name] != after[name]:
            raise InvalidOperationError(
                f"{old.dbName}.{old.tableName} is CLUSTERED BY {name}, and its rows lie in buckets by the type "
                f"{before[name]}, which cannot become {after[name]}: make it NOT CLUSTERED, or a new table of its rows"
            )


def _columns(sd: StorageDescriptor) -> set[str]:
    return {fold(name) for name in buckets(sd.bucketCols, sd.numBuckets).columns}
