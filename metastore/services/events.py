"""Structs as the events of the notification log show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metastore.domain.events import DatabaseText, PartitionText, TableText
from metastore.encoded_json import encode_json
from thrift_idl.gen.hive_metastore.ttypes import Database, Partition, Table


def database_text(database: Database) -> DatabaseText:
    return DatabaseText(database.catalogName, database.name, encode_json(database))


def table_text(table: Table) -> TableText:
    keys = tuple(key.name for key in table.partitionKeys)
    name = (table.catName, table.dbName, table.tableName)
    return TableText(*name, table.tableType, keys, -1 if table.writeId is None else table.writeId, encode_json(table))


def partition_text(partition: Partition) -> PartitionText:
    return PartitionText(partition.values, encode_json(partition))


def objects(partitions: Iterable[Partition]) -> Iterator[str]:
    """Written one by one, where they are asked for."""
    return (encode_json(partition) for partition in partitions)
