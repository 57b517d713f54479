"""Requirements for partitions, column statistics, and files that clients report."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.location_properties import is_relative
from metastore.domain.names import TableName, table_name
from metastore.domain.permissions import (
    LocationPrivilege,
    RequiredPrivilege,
)
from metastore.domain.privileges import Right
from metastore.operations.locations import locations_in
from metastore.operations.requirements import Requirements
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatistics,
    FireEventRequestData,
    InsertEventRequestData,
    Partition,
    PartitionSpec,
    WriteNotificationLogRequest,
)


def partition_location(table: TableName, partition: Partition | None) -> Requirements:
    """The right to the location of a new or altered partition."""
    return partition_locations(table, [partition])


def partition_locations(table: TableName, partitions: Iterable[Partition | None] | None) -> Requirements:
    """The right to the locations of new or altered partitions."""
    if locations := locations_in(*(partitions or ())):
        yield LocationPrivilege(table.parent, table, locations)


def new_partitions(partitions: Iterable[Partition | None] | None) -> Requirements:
    """INSERT or ALTER on the tables that the partitions name, and the right to their locations."""
    by_table: dict[TableName, list[Partition]] = {}
    for partition in partitions or ():
        if partition is not None:
            name = table_name(partition.dbName, partition.tableName, partition.catName)
            by_table.setdefault(name, []).append(partition)
    for table in by_table:
        yield RequiredPrivilege(table, (Right.INSERT, Right.ALTER))
    for table, added in by_table.items():
        yield from partition_locations(table, added)


def partition_specs(specs: Iterable[PartitionSpec] | None) -> Requirements:
    """INSERT on the tables of partition specs, and the right to their locations."""
    for spec in specs or ():
        table = table_name(spec.dbName, spec.tableName, spec.catName)
        relative = []
        if (shared := spec.sharedSDPartitionSpec) is not None:
            root = (shared.sd.location if shared.sd else "") or ""
            names = [partition.relativePath for partition in shared.partitions or () if partition.relativePath]
            relative = [f"{root}/{name}" for name in names]
        yield RequiredPrivilege(table, (Right.INSERT,))
        yield LocationPrivilege(table.parent, table, (*locations_in(spec), *relative))


def exchanged_partitions(source: TableName, target: TableName) -> Requirements:
    """SELECT and DELETE on the source, as in Hive, because its rows become the target's; INSERT on the target."""
    yield from (RequiredPrivilege(source, (right,)) for right in (Right.SELECT, Right.DELETE))
    yield RequiredPrivilege(target, (Right.INSERT,))


def column_statistics(statistics: ColumnStatistics | None) -> Requirements:
    """INSERT or ALTER on the table that the statistics describe."""
    return column_statistics_list([statistics])


def column_statistics_list(statistics: Iterable[ColumnStatistics | None] | None) -> Requirements:
    """INSERT or ALTER on the tables that the statistics describe."""
    described = [entry.statsDesc for entry in statistics or () if entry is not None and entry.statsDesc is not None]
    names = dict.fromkeys(table_name(desc.dbName, desc.tableName, desc.catName) for desc in described)
    return (RequiredPrivilege(name, (Right.INSERT, Right.ALTER)) for name in names)


def reported_insert(table: TableName, data: FireEventRequestData | None) -> Requirements:
    """The right to the directories of the files that an insert has added."""
    if data is not None:
        yield from _reported(table, [data.insertData, *(data.insertDatas or ())])


def reported_write(table: TableName, write: WriteNotificationLogRequest | None) -> Requirements:
    """The right to the directories of the files that a transaction has written."""
    return reported_writes(table, [write])


def reported_writes(table: TableName, writes: Iterable[WriteNotificationLogRequest | None] | None) -> Requirements:
    """The requirements of `reported_write`, for several writes."""
    return _reported(table, [write.fileInfo for write in writes or () if write is not None])


def _reported(table: TableName, inserts: Iterable[InsertEventRequestData | None]) -> Requirements:
    """Hive's replication copies these files into these sub-directories. A relative name leads it nowhere else."""
    for insert in filter(None, inserts):
        files = [text.partition("#")[0] for text in filter(None, insert.filesAdded or ())]
        directories = {text.rpartition("/")[0] for text in files if not is_relative(text)}
        directories |= {text for text in filter(None, insert.subDirectoryList or ()) if not is_relative(text)}
        if directories:
            yield LocationPrivilege(table.parent, table, tuple(sorted(directories)))
