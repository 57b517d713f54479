"""Handlers of columns: of a table (`get_fields*`), and with its partition columns (`get_schema*`)."""

from __future__ import annotations

from metastore.domain.names import TableName
from metastore.handlers.arguments import table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import operation, visible
from metastore.services.tables import TableService
from thrift_idl.gen.hive_metastore.ttypes import (
    EnvironmentContext,
    FieldSchema,
    GetFieldsRequest,
    GetFieldsResponse,
    GetSchemaRequest,
    GetSchemaResponse,
)

_TABLE = TableFields("db_name", "table_name")
_REQUESTED_TABLE = TableFields("req.dbName", "req.tblName", "req.catName")


class FieldHandlers:
    """`get_fields*`, `get_schema*`."""

    def __init__(self, tables: TableService) -> None:
        self._tables = tables

    @operation(_TABLE, visible)
    def get_fields(self, database: str, table: str) -> list[FieldSchema]:
        return self._fields(table_name(database, table))

    @operation(_TABLE, visible)
    def get_fields_with_environment_context(
        self, database: str, table: str, _: EnvironmentContext | None
    ) -> list[FieldSchema]:
        return self.get_fields(database, table)

    @operation(_REQUESTED_TABLE, visible)
    def get_fields_req(self, request: GetFieldsRequest) -> GetFieldsResponse:
        return GetFieldsResponse(fields=self._fields(table_name(request.dbName, request.tblName, request.catName)))

    @operation(_TABLE, visible)
    def get_schema(self, database: str, table: str) -> list[FieldSchema]:
        return self._schema(table_name(database, table))

    @operation(_TABLE, visible)
    def get_schema_with_environment_context(
        self, database: str, table: str, _: EnvironmentContext | None
    ) -> list[FieldSchema]:
        return self.get_schema(database, table)

    @operation(_REQUESTED_TABLE, visible)
    def get_schema_req(self, request: GetSchemaRequest) -> GetSchemaResponse:
        return GetSchemaResponse(fields=self._schema(table_name(request.dbName, request.tblName, request.catName)))

    def _fields(self, name: TableName) -> list[FieldSchema]:
        columns: list[FieldSchema] = self._tables.get(name).decode().sd.cols
        return columns

    def _schema(self, name: TableName) -> list[FieldSchema]:
        table = self._tables.get(name).decode()
        return [*table.sd.cols, *table.partitionKeys]
