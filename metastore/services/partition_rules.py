"""What a partition must be before it is stored (Hive's HMSHandler)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from metastore.domain.names import fold
from metastore.domain.partition_names import check_values, partition_name
from metastore.errors import InvalidInputError, InvalidObjectError
from metastore.services.table_rules import DDL_TIME, check_columns, check_descriptor, is_view
from metastore.storage.mapping.descriptors import complete
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table


def prepare(partition: Partition, table: Table, now: int) -> NamedPartition:
    """Completes a new partition of the table. `now` in seconds since 1970.

    Raises InvalidInputError (values, another table's partition) or InvalidObjectError (shape, location).
    """
    if partition is None:
        raise InvalidInputError("Partition cannot be null.")
    _check_owner(partition, table)
    partition.createTime = now
    named = complete_partition(partition, table)
    partition.parameters.setdefault(DDL_TIME, str(now))
    if is_view(table):
        if partition.sd.location:
            raise InvalidObjectError("LOCATION clause illegal for view partition")
    else:
        location = partition.sd.location or paths.partition_location(table.sd.location, named.name)
        partition.sd.location = paths.require_not_root(location)
    return named


def complete_partition(partition: Partition, table: Table, partition_id: int | None = None) -> NamedPartition:
    """Fills what is missing from the table, and checks. Raises InvalidInputError, InvalidObjectError."""
    keys = key_names(table)
    check_values(keys, partition.values)
    partition.catName, partition.dbName, partition.tableName = table.catName, table.dbName, table.tableName
    if partition.sd is None:
        partition.sd = inherited_descriptor(table)
    if partition.sd.cols is None:
        partition.sd.cols = copy.deepcopy(table.sd.cols)
    partition.sd = complete(partition.sd)
    partition.parameters = partition.parameters or {}
    partition.lastAccessTime = partition.lastAccessTime or 0
    check_columns(partition.sd.cols)
    name = partition_name(keys, partition.values)
    check_descriptor(partition.sd, keys, f"{table.dbName}.{table.tableName} partition {name}")
    return NamedPartition(name, partition, partition_id)


def inherited_descriptor(table: Table) -> object:
    """The table's storage descriptor for a new partition: its skew, but not its places."""
    sd = copy.deepcopy(table.sd)
    sd.location = None
    sd.skewedInfo.skewedColValueLocationMaps = {}
    return sd


def key_names(table: Table) -> list[str]:
    """Names of the partition columns. Raises InvalidInputError when there are none."""
    if not table.partitionKeys:
        raise InvalidInputError(f"{table.dbName}.{table.tableName} is not a partitioned table")
    return [key.name for key in table.partitionKeys]


def check_distinct(named: Sequence[NamedPartition]) -> None:
    """Raises InvalidInputError when two partitions of one call have one name."""
    seen: set[str] = set()
    for each in named:
        if each.name in seen:
            raise InvalidInputError(f"Duplicate partitions in the list: {each.name}")
        seen.add(each.name)


def updates_statistics(context: Mapping[str, str]) -> bool:
    """False where the client's context says DO_NOT_UPDATE_STATS."""
    return context.get("DO_NOT_UPDATE_STATS", "").lower() != "true"


def _check_owner(partition: Partition, table: Table) -> None:
    if not partition.dbName or not partition.tableName:
        raise InvalidInputError("The database and table name must be set in the partition.")
    # The database may come with a catalog before it; the handler has looked at it.
    if fold(partition.tableName) != table.tableName:
        raise InvalidInputError(
            f"Partition does not belong to target table {table.dbName}.{table.tableName}: it is {partition.tableName}'s"
        )
