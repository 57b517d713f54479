"""Columns on the wire: of the table (`get_fields*`), and with its partition columns (`get_schema*`)."""

from __future__ import annotations

from metastore.domain.names import TableName
from metastore.handlers.arguments import table_name
from metastore.services.entry.tables import TableService
from thrift_idl.gen.hive_metastore.ttypes import (
    EnvironmentContext,
    FieldSchema,
    GetFieldsRequest,
    GetFieldsResponse,
    GetSchemaRequest,
    GetSchemaResponse,
)


class FieldHandlers:
    """`get_fields*`, `get_schema*`."""

    def __init__(self, tables: TableService) -> None:
        self._tables = tables

    def get_fields(self, database: str, table: str) -> list[FieldSchema]:
        return self._fields(table_name(database, table))

    def get_fields_with_environment_context(
        self, database: str, table: str, _: EnvironmentContext | None
    ) -> list[FieldSchema]:
        return self.get_fields(database, table)

    def get_fields_req(self, request: GetFieldsRequest) -> GetFieldsResponse:
        return GetFieldsResponse(fields=self._fields(table_name(request.dbName, request.tblName, request.catName)))

    def get_schema(self, database: str, table: str) -> list[FieldSchema]:
        return self._schema(table_name(database, table))

    def get_schema_with_environment_context(
        self, database: str, table: str, _: EnvironmentContext | None
    ) -> list[FieldSchema]:
        return self.get_schema(database, table)

    def get_schema_req(self, request: GetSchemaRequest) -> GetSchemaResponse:
        return GetSchemaResponse(fields=self._schema(table_name(request.dbName, request.tblName, request.catName)))

    def _fields(self, name: TableName) -> list[FieldSchema]:
        columns: list[FieldSchema] = self._tables.get(name).decode().sd.cols
        return columns

    def _schema(self, name: TableName) -> list[FieldSchema]:
        table = self._tables.get(name).decode()
        return [*table.sd.cols, *table.partitionKeys]
