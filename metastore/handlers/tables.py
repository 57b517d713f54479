"""Handlers of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metastore.domain.names import TableName, TableNameList, is_object_name, pattern_regex
from metastore.domain.privileges import Right
from metastore.encoding.binary import EncodedStruct
from metastore.errors import (
    InvalidObjectError,
    InvalidOperationError,
    NotFoundError,
    UndeclaredError,
    VersionDependentError,
)
from metastore.handlers.arguments import (
    database_name,
    database_pattern,
    limit,
    nonempty_database_name,
    properties,
    raised_as,
    required,
    required_pattern,
    required_table_name,
    table_name,
)
from metastore.operations.answer_filters import (
    filtered_table_names,
    named_tables,
    table_infos,
    table_names,
    tables,
    tables_field,
)
from metastore.operations.assignments import add_table_names, set_table_owner
from metastore.operations.audit_details import parameters
from metastore.operations.fields import DatabaseFields, TableFields
from metastore.operations.operation import TARGET, any_of, change, from_fields, operation, visible
from metastore.operations.requirements.tables import (
    altered_or_replaced_table,
    altered_table,
    drop_dependents,
    drop_indexes,
    new_table,
    referenced_tables,
)
from metastore.services.rules.projections import tables_projected
from metastore.services.rules.table_data import purges, purges_external
from metastore.services.tables import TableService
from metastore.services.tables_alter import EXPECTED_KEY, EXPECTED_VALUE, TableAlterService, do_cascade
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

_NEW_TABLE = TableFields("tbl.dbName", "tbl.tableName", "tbl.catName")
_REQUESTED_TABLE = TableFields("request.table.dbName", "request.table.tableName", "request.table.catName")
_TABLE = TableFields("dbname", "tbl_name")
_DATABASE = DatabaseFields("dbname")
_NAMED_DATABASE = DatabaseFields("db_name")
_NAMED_TABLE = TableFields("dbname", "name")
_CREATE_TABLE = change(
    _NEW_TABLE,
    from_fields(new_table, "tbl"),
    assignments=from_fields(set_table_owner, "tbl"),
    audit_detail=from_fields(parameters, "tbl.parameters"),
)
_ALTER_TABLE = change(
    _TABLE, from_fields(altered_table, TARGET, "new_tbl"), audit_detail=from_fields(parameters, "new_tbl.parameters")
)


class TableHandlers:
    """`*_table*`."""

    def __init__(
        self, tables: TableService, alter: TableAlterService, record_opening: Callable[[TableName], None]
    ) -> None:
        self._tables = tables
        self._alter = alter
        self._record_opening = record_opening

    @_CREATE_TABLE
    def create_table(self, table: Table) -> None:
        self.create_table_with_environment_context(table, None)

    @_CREATE_TABLE
    def create_table_with_environment_context(self, table: Table, context: EnvironmentContext | None) -> None:
        self._create(table, context, ())

    @change(
        _NEW_TABLE,
        from_fields(new_table, "tbl"),
        from_fields(referenced_tables, "foreignKeys", "tbl"),
        assignments=from_fields(set_table_owner, "tbl"),
        audit_detail=from_fields(parameters, "tbl.parameters"),
    )
    def create_table_with_constraints(self, table: Table, *constraints: list[Any] | None) -> None:
        """Creates a table with its constraints. Hive 2.3 sends primary and foreign keys, later clients six lists."""
        self._create(table, None, constraints)

    @change(
        _REQUESTED_TABLE,
        from_fields(new_table, "request.table"),
        from_fields(referenced_tables, "request.foreignKeys", "request.table"),
        assignments=from_fields(set_table_owner, "request.table"),
        audit_detail=from_fields(parameters, "request.table.parameters"),
    )
    def create_table_req(self, request: CreateTableRequest) -> None:
        keys = request.primaryKeys, request.foreignKeys, request.uniqueConstraints
        rest = request.notNullConstraints, request.defaultConstraints, request.checkConstraints
        self._create(required("table", request.table), request.envContext, (*keys, *rest))

    @operation(_REQUESTED_TABLE, from_fields(new_table, "request.table"))
    def translate_table_dryrun(self, request: CreateTableRequest) -> Table:
        table = required("table", request.table)
        return self._tables.as_created(database_name(table.dbName, table.catName), table)

    @operation(_TABLE, visible, checked_by_service=True)
    def get_table(self, database: str, name: str) -> EncodedStruct[Table]:
        return self._opened(table_name(database, name))

    @operation(TableFields("req.dbName", "req.tblName", "req.catName"), visible, checked_by_service=True)
    def get_table_req(self, request: GetTableRequest) -> GetTableResult:
        return GetTableResult(table=self._opened(table_name(request.dbName, request.tblName, request.catName)))

    def _opened(self, name: TableName) -> EncodedStruct[Table]:
        """Reads a table, and records that the caller may go on to read its rows."""
        table = self._tables.get(name)
        self._record_opening(name)
        return table

    @operation(_DATABASE, answer_filter=from_fields(named_tables, TARGET, "tbl_names"))
    def get_table_objects_by_name(self, database: str, names: list[str]) -> list[Table]:
        # Hive's generated result has no exceptions for this method: its clients get a TApplicationException.
        # An unknown database has no tables: PyIceberg's list of tables depends on it.
        with raised_as(UndeclaredError, NotFoundError, InvalidOperationError):
            if names is None:
                raise InvalidOperationError(f"{database} cannot find null tables")
            return self._tables.get_many(nonempty_database_name(database), names)

    @operation(
        DatabaseFields("req.dbName", "req.catName"),
        visible,
        assignments=from_fields(add_table_names, "req.projectionSpec"),
        answer_filter=from_fields(tables_field, TARGET, "req.tblNames"),
    )
    def get_table_objects_by_name_req(self, request: GetTablesRequest) -> GetTablesResult:
        database = database_name(request.dbName, request.catName)
        names = request.tblNames
        if names is None and request.tablesPattern is None:
            raise InvalidOperationError("cannot find null tables")
        if names is None:
            catalog, databases = database_pattern(request.dbName, request.catName)
            tables = self._tables.matching(catalog, databases, pattern_regex(request.tablesPattern))
        else:
            tables = self._tables.get_many(database, names)
        self._tables.check_database(database, has_tables=bool(tables))
        return GetTablesResult(tables=tables_projected(tables, request.projectionSpec))

    @operation(_NAMED_DATABASE, answer_filter=from_fields(table_names, TARGET))
    def get_all_tables(self, database: str | None) -> list[str]:
        name = database_name(required_pattern(database))
        return self._tables.all_names(name) if is_object_name(name.name) else self.get_tables(database, None)

    @operation(_NAMED_DATABASE, answer_filter=from_fields(table_names, TARGET))
    def get_tables(self, database: str | None, pattern: str | None) -> list[str]:
        return self.get_tables_by_type(database, pattern, None)

    @operation(_NAMED_DATABASE, answer_filter=from_fields(table_names, TARGET))
    def get_tables_by_type(self, database: str | None, pattern: str | None, kind: str | None) -> list[str]:
        name = database_name(required_pattern(database))
        if is_object_name(name.name):
            return self._tables.names(name, pattern_regex(pattern), kind or None)
        catalog, databases = database_pattern(database)
        metas = self._tables.metas(catalog, databases, pattern_regex(pattern), [kind] if kind else [])
        return TableNameList(TableName(catalog, meta.database, meta.name) for meta in metas)

    @operation(
        DatabaseFields("req.database", "req.catalog"),
        answer_filter=from_fields(table_infos, TARGET),
        limit="req.limit",
        zero_is_unlimited=True,
    )
    def get_tables_ext(self, request: GetTablesExtRequest) -> list[ExtendedTableInfo]:
        database = database_name(request.database, request.catalog)
        names = self._tables.names(database, pattern_regex(request.tableNamePattern))
        return [ExtendedTableInfo(tblName=name) for name in names[: limit(request.limit or -1)]]

    @operation("db_patterns", answer_filter=tables)
    def get_table_meta(self, databases: str | None, pattern: str | None, kinds: list[str] | None) -> list[TableMeta]:
        catalog, database_regex = database_pattern(databases)
        return [
            TableMeta(meta.database, meta.name, meta.type, meta.comment, catalog, meta.owner, meta.owner_type)
            for meta in self._tables.metas(catalog, database_regex, pattern_regex(pattern), kinds or [])
        ]

    @operation(_DATABASE, answer_filter=from_fields(filtered_table_names, TARGET, "filter"), limit="max_tables")
    def get_table_names_by_filter(self, database: str, text: str | None, maximum: int) -> list[str]:
        name = nonempty_database_name(database)
        if text is None:
            raise InvalidOperationError("cannot apply null filter")
        return self._tables.names_by_filter(name, text, limit(maximum))

    @_ALTER_TABLE
    def alter_table(self, database: str, name: str, table: Table) -> None:
        self.alter_table_with_environment_context(database, name, table, None)

    @_ALTER_TABLE
    def alter_table_with_cascade(self, database: str, name: str, table: Table, cascade: bool) -> None:
        _unprefix(table)
        self._alter.alter(required_table_name(database, name), table, context={}, cascade=bool(cascade))

    @change(
        _TABLE,
        from_fields(altered_or_replaced_table, TARGET, "new_tbl", "environment_context"),
        audit_detail=from_fields(parameters, "new_tbl.parameters"),
    )
    def alter_table_with_environment_context(
        self, database: str, name: str, table: Table, context: EnvironmentContext | None
    ) -> None:
        options = properties(context)
        _unprefix(table)
        self._alter.alter(required_table_name(database, name), table, context=options, cascade=do_cascade(options))

    @change(
        TableFields("req.dbName", "req.tableName", "req.catName"),
        from_fields(altered_or_replaced_table, TARGET, "req.table", "req.environmentContext"),
        audit_detail=from_fields(parameters, "req.table.parameters"),
    )
    def alter_table_req(self, request: AlterTableRequest) -> AlterTableResponse:
        options = dict(properties(request.environmentContext))
        if request.expectedParameterKey is not None:
            options[EXPECTED_KEY] = request.expectedParameterKey
        if request.expectedParameterValue is not None:
            options[EXPECTED_VALUE] = request.expectedParameterValue
        name, table = table_name(request.dbName, request.tableName, request.catName), required("table", request.table)
        _unprefix(table)
        self._alter.alter(name, table, context=options, cascade=do_cascade(options))
        return AlterTableResponse()

    @change(_NAMED_TABLE, any_of(Right.DROP), from_fields(drop_indexes, TARGET))
    def drop_table(self, database: str, name: str, delete_data: bool) -> None:
        self._tables.drop(table_name(database, name), delete_data=bool(delete_data))

    @change(_NAMED_TABLE, any_of(Right.DROP), from_fields(drop_dependents, TARGET))
    def drop_table_with_environment_context(
        self, database: str, name: str, delete_data: bool, context: EnvironmentContext | None
    ) -> None:
        self._drop(table_name(database, name), delete_data, context)

    @change(
        TableFields("dropTableReq.dbName", "dropTableReq.tableName", "dropTableReq.catalogName"),
        any_of(Right.DROP),
        from_fields(drop_dependents, TARGET),
    )
    def drop_table_req(self, request: DropTableRequest) -> None:
        name = table_name(request.dbName, request.tableName, request.catalogName)
        self._drop(name, request.deleteData, request.envContext)

    def _drop(self, name: TableName, delete_data: bool | None, context: EnvironmentContext | None) -> None:
        options = properties(context)
        self._tables.drop(
            name,
            delete_data=bool(delete_data),
            cascade=do_cascade(options),
            purge=purges(options),
            purges_external=purges_external(options),
        )

    def _create(
        self, table: Table, context: EnvironmentContext | None, constraints: Sequence[list[Any] | None]
    ) -> None:
        if table.dbName is None:
            raise VersionDependentError(f"Table {table.tableName} was sent without dbName", InvalidObjectError)
        database = database_name(table.dbName, table.catName)
        flat = [constraint for kind in constraints for constraint in kind or []]
        self._tables.create(database, table, flat, context=properties(context))


def _unprefix(table: Table) -> None:
    if table.dbName is not None:
        table.dbName = database_name(table.dbName).name
