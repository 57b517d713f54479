"""Handlers of indexes, which Hive's clients before 3.0 use."""

from __future__ import annotations

from metastore.domain.names import fold
from metastore.domain.privileges import Right
from metastore.encoding.binary import EncodedList
from metastore.handlers.arguments import database_name, table_name
from metastore.operations.assignments import set_table_owner
from metastore.operations.audit_details import parameters
from metastore.operations.fields import TableFields
from metastore.operations.operation import TARGET, any_of, change, from_fields, operation, visible
from metastore.operations.requirements.tables import altered_index, drop_indexes, new_index, new_table
from metastore.services.legacy.indexes import IndexService
from metastore.services.tables import TableService
from thrift_idl.gen.hive_metastore.ttypes import Index, Table

_TABLE = TableFields("db_name", "tbl_name")


class IndexHandlers:
    """`*_index*`."""

    def __init__(self, indexes: IndexService, tables: TableService) -> None:
        self._indexes = indexes
        self._tables = tables

    @change(
        TableFields("new_index.dbName", "new_index.origTableName"),
        from_fields(new_index, "new_index"),
        from_fields(new_table, "index_table"),
        assignments=from_fields(set_table_owner, "index_table"),
        audit_detail=from_fields(parameters, "new_index.parameters", "index_table.parameters"),
    )
    def add_index(self, index: Index, table: Table) -> Index:
        """Creates an index and its table. Returns the index with its creation time."""
        self._tables.create(database_name(table.dbName, table.catName), table, index=index)
        return index

    @change(
        TableFields("dbname", "base_tbl_name"),
        from_fields(altered_index, TARGET, "new_idx"),
        audit_detail=from_fields(parameters, "new_idx.parameters"),
    )
    def alter_index(self, database: str, table: str, name: str, index: Index) -> None:
        self._indexes.alter(table_name(database, table), fold(name), index)

    @change(_TABLE, any_of(Right.ALTER), from_fields(drop_indexes, TARGET, "index_name"))
    def drop_index_by_name(self, database: str, table: str, name: str, delete_data: bool) -> bool:
        self._indexes.drop(table_name(database, table), fold(name), delete_data=bool(delete_data))
        return True

    @operation(_TABLE, visible)
    def get_index_by_name(self, database: str, table: str, name: str) -> Index:
        return self._indexes.get(table_name(database, table), fold(name))

    @operation(_TABLE, visible)
    def get_indexes(self, database: str, table: str, _: int) -> EncodedList[Index]:
        """Returns all indexes of a table. The limit is ignored, as in Hive."""
        return self._indexes.select(table_name(database, table))

    @operation(_TABLE, visible)
    def get_index_names(self, database: str, table: str, _: int) -> list[str]:
        return self._indexes.names(table_name(database, table))
