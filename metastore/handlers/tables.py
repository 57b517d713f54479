"""Tables on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metastore.domain.names import TableName, TableNameList, is_object_name, pattern_regex
from metastore.encoding.binary import EncodedStruct
from metastore.errors import InvalidObjectError, InvalidOperationError, VersionDependentError
from metastore.handlers.arguments import (
    database_name,
    database_pattern,
    given_pattern,
    given_table_name,
    limit,
    named_database,
    properties,
    required,
    table_name,
)
from metastore.services.entry.tables import TableService
from metastore.services.entry.tables_alter import EXPECTED_KEY, EXPECTED_VALUE, TableAlterService, do_cascade
from metastore.services.rules.partitions import updates_statistics
from metastore.services.rules.projections import tables_projected
from metastore.services.rules.table_data import purges
from thrift_idl.gen.hive_metastore.ttypes import (
    AlterTableRequest,
    AlterTableResponse,
    CreateTableRequest,
    DropTableRequest,
    EnvironmentContext,
    ExtendedTableInfo,
    GetTableRequest,
    GetTableResult,
    GetTablesExtRequest,
    GetTablesRequest,
    GetTablesResult,
    Table,
    TableMeta,
)


class TableHandlers:
    """`*_table*`."""

    def __init__(self, tables: TableService, alter: TableAlterService) -> None:
        self._tables = tables
        self._alter = alter

    def create_table(self, table: Table) -> None:
        self.create_table_with_environment_context(table, None)

    def create_table_with_environment_context(self, table: Table, context: EnvironmentContext | None) -> None:
        self._create(table, context, ())

    def create_table_with_constraints(self, table: Table, *constraints: list[Any] | None) -> None:
        """Creates a table with its constraints. Hive 2.3 sends primary and foreign keys, later clients six lists."""
        self._create(table, None, constraints)

    def create_table_req(self, request: CreateTableRequest) -> None:
        keys = request.primaryKeys, request.foreignKeys, request.uniqueConstraints
        rest = request.notNullConstraints, request.defaultConstraints, request.checkConstraints
        self._create(required("table", request.table), request.envContext, (*keys, *rest))

    def translate_table_dryrun(self, request: CreateTableRequest) -> Table:
        table = required("table", request.table)
        return self._tables.as_created(database_name(table.dbName, table.catName), table)

    def get_table(self, database: str, name: str) -> EncodedStruct[Table]:
        return self._tables.get(table_name(database, name))

    def get_table_req(self, request: GetTableRequest) -> GetTableResult:
        return GetTableResult(table=self._tables.get(table_name(request.dbName, request.tblName, request.catName)))

    def get_table_objects_by_name(self, database: str, names: list[str]) -> list[Table]:
        return self._tables.get_many(database_name(database), names or [])

    def get_table_objects_by_name_req(self, request: GetTablesRequest) -> GetTablesResult:
        database = database_name(request.dbName, request.catName)
        names = request.tblNames
        if names is None and request.tablesPattern is None:
            raise InvalidOperationError("cannot find null tables")
        if names is None:
            catalog, databases = database_pattern(request.dbName, request.catName)
            found = self._tables.matching(catalog, databases, pattern_regex(request.tablesPattern))
        else:
            found = self._tables.get_many(database, names)
        if not found:
            self._tables.check_database(database)
        return GetTablesResult(tables=tables_projected(found, request.projectionSpec))

    def get_all_tables(self, database: str | None) -> list[str]:
        name = database_name(given_pattern(database))
        return self._tables.all_names(name) if is_object_name(name.name) else self.get_tables(database, None)

    def get_tables(self, database: str | None, pattern: str | None) -> list[str]:
        return self.get_tables_by_type(database, pattern, None)

    def get_tables_by_type(self, database: str | None, pattern: str | None, kind: str | None) -> list[str]:
        name = database_name(given_pattern(database))
        if is_object_name(name.name):
            return self._tables.names(name, pattern_regex(pattern), kind or None)
        catalog, databases = database_pattern(database)
        found = self._tables.metas(catalog, databases, pattern_regex(pattern), [kind] if kind else [])
        return TableNameList(TableName(catalog, meta.database, meta.name) for meta in found)

    def get_tables_ext(self, request: GetTablesExtRequest) -> list[ExtendedTableInfo]:
        database = database_name(request.database, request.catalog)
        names = self._tables.names(database, pattern_regex(request.tableNamePattern))
        return [ExtendedTableInfo(tblName=name) for name in names[: limit(request.limit or -1)]]

    def get_table_meta(self, databases: str | None, pattern: str | None, kinds: list[str] | None) -> list[TableMeta]:
        catalog, database_regex = database_pattern(databases)
        return [
            TableMeta(meta.database, meta.name, meta.type, meta.comment, catalog, meta.owner, meta.owner_type)
            for meta in self._tables.metas(catalog, database_regex, pattern_regex(pattern), kinds or [])
        ]

    def get_table_names_by_filter(self, database: str, text: str | None, maximum: int) -> list[str]:
        name = named_database(database)
        if text is None:
            raise InvalidOperationError("cannot apply null filter")
        return self._tables.names_by_filter(name, text, limit(maximum))

    def alter_table(self, database: str, name: str, table: Table) -> None:
        self.alter_table_with_environment_context(database, name, table, None)

    def alter_table_with_cascade(self, database: str, name: str, table: Table, cascade: bool) -> None:
        _unprefix(table)
        self._alter.alter(given_table_name(database, name), table, context={}, cascade=bool(cascade))

    def alter_table_with_environment_context(
        self, database: str, name: str, table: Table, context: EnvironmentContext | None
    ) -> None:
        given = properties(context)
        _unprefix(table)
        self._alter.alter(given_table_name(database, name), table, context=given, cascade=do_cascade(given))

    def alter_table_req(self, request: AlterTableRequest) -> AlterTableResponse:
        given = dict(properties(request.environmentContext))
        if request.expectedParameterKey is not None:
            given[EXPECTED_KEY] = request.expectedParameterKey
        if request.expectedParameterValue is not None:
            given[EXPECTED_VALUE] = request.expectedParameterValue
        name, table = table_name(request.dbName, request.tableName, request.catName), required("table", request.table)
        _unprefix(table)
        self._alter.alter(name, table, context=given, cascade=do_cascade(given))
        return AlterTableResponse()

    def drop_table(self, database: str, name: str, delete_data: bool) -> None:
        self._tables.drop(table_name(database, name), delete_data=bool(delete_data))

    def drop_table_with_environment_context(
        self, database: str, name: str, delete_data: bool, context: EnvironmentContext | None
    ) -> None:
        self._drop(table_name(database, name), delete_data, context)

    def drop_table_req(self, request: DropTableRequest) -> None:
        name = table_name(request.dbName, request.tableName, request.catalogName)
        self._drop(name, request.deleteData, request.envContext)

    def _drop(self, name: TableName, delete_data: bool | None, context: EnvironmentContext | None) -> None:
        given = properties(context)
        self._tables.drop(name, delete_data=bool(delete_data), cascade=do_cascade(given), purge=purges(given))

    def _create(
        self, table: Table, context: EnvironmentContext | None, constraints: Sequence[list[Any] | None]
    ) -> None:
        if table.dbName is None:
            raise VersionDependentError(f"Table {table.tableName} was sent without dbName", InvalidObjectError)
        database = database_name(table.dbName, table.catName)
        together = [constraint for some in constraints for constraint in some or []]
        update_statistics = updates_statistics(properties(context))
        self._tables.create(database, table, together, update_statistics=update_statistics)


def _unprefix(table: Table) -> None:
    if table.dbName is not None:
        table.dbName = database_name(table.dbName).name
