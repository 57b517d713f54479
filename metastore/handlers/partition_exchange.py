"""Handlers of partition exchange."""

from __future__ import annotations

from metastore.handlers.arguments import table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import TARGET, change, from_fields
from metastore.operations.requirements.partitions import exchanged_partitions
from metastore.services.partition_exchange import PartitionExchangeService
from thrift_idl.gen.hive_metastore.ttypes import Partition

_TABLE = TableFields("dest_db", "dest_table_name")


class PartitionExchangeHandlers:
    """`exchange_partition*`."""

    def __init__(self, exchange: PartitionExchangeService) -> None:
        self._exchange = exchange

    @change(_TABLE, from_fields(exchanged_partitions, TableFields("source_db", "source_table_name"), TARGET))
    def exchange_partition(
        self, values: dict[str, str], database: str, table: str, to_database: str, to_table: str
    ) -> Partition:
        """Returns an empty partition, as Hive does."""
        self.exchange_partitions(values, database, table, to_database, to_table)
        return Partition(createTime=0, lastAccessTime=0, writeId=None)

    @change(_TABLE, from_fields(exchanged_partitions, TableFields("source_db", "source_table_name"), TARGET))
    def exchange_partitions(
        self, values: dict[str, str], database: str, table: str, to_database: str, to_table: str
    ) -> list[Partition]:
        source, target = table_name(database, table), table_name(to_database, to_table)
        return self._exchange.exchange(source, target, values)
