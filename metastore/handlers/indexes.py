"""Indexes on the wire: Hive's clients before 3.0 have them."""

from __future__ import annotations

from metastore.domain.names import fold
from metastore.encoding.binary import EncodedList
from metastore.handlers.arguments import database_name, table_name
from metastore.services.entry.indexes import IndexService
from metastore.services.entry.tables import TableService
from thrift_idl.gen.hive_metastore.ttypes import Index, Table


class IndexHandlers:
    """`*_index*`."""

    def __init__(self, indexes: IndexService, tables: TableService) -> None:
        self._indexes = indexes
        self._tables = tables

    def add_index(self, index: Index, table: Table) -> Index:
        """Makes an index and the table that holds it; returns it with its time."""
        self._tables.create(database_name(table.dbName, table.catName), table, index=index)
        return index

    def alter_index(self, database: str, table: str, name: str, index: Index) -> None:
        self._indexes.alter(table_name(database, table), fold(name), index)

    def drop_index_by_name(self, database: str, table: str, name: str, delete_data: bool) -> bool:
        self._indexes.drop(table_name(database, table), fold(name), delete_data=bool(delete_data))
        return True

    def get_index_by_name(self, database: str, table: str, name: str) -> Index:
        return self._indexes.get(table_name(database, table), fold(name))

    def get_indexes(self, database: str, table: str, _: int) -> EncodedList[Index]:
        """Returns all of a table: Hive passes over the limit."""
        return self._indexes.select(table_name(database, table))

    def get_index_names(self, database: str, table: str, _: int) -> list[str]:
        return self._indexes.names(table_name(database, table))
