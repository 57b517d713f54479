"""Rights on catalogs, databases, tables and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from metastore.domain.names import (
    DEFAULT_CATALOG,
    DatabaseName,
    TableName,
    database_name,
    fold,
    split_database,
    table_name,
)
from metastore.domain.permissions import AnyNeed, Need
from metastore.domain.privileges import Right
from metastore.domain.renaming import replaces
from metastore.protocol.rights import needs, shown
from metastore.protocol.rights.amended import granted_with, named_tables, owned_by_caller, together
from metastore.protocol.rights.binding import admin, database, dependents, given, request, table
from metastore.protocol.rights.named import Given
from metastore.protocol.rights.rule import Amend, Declarations

SELECT, INSERT, UPDATE, DELETE = Right.SELECT, Right.INSERT, Right.UPDATE, Right.DELETE
CREATE, ALTER, DROP, OWNERSHIP = Right.CREATE, Right.ALTER, Right.DROP, Right.OWNERSHIP

declare = Declarations()

# Catalogs

declare("create_catalog alter_catalog drop_catalog", admin, is_change=True)
declare("get_catalog", shown=shown.one_catalog)
declare("get_catalogs", shown=shown.catalogs)


# Databases

declare(
    "create_database",
    given(lambda given: needs.new_database(given.database)),
    amend=owned_by_caller(lambda given: given.database, "ownerName", "ownerType"),
    is_change=True,
)
declare(
    "create_database_req",
    given(lambda given: needs.new_database(given.createDatabaseRequest)),
    amend=owned_by_caller(lambda given: given.createDatabaseRequest, "ownerName", "ownerType"),
    is_change=True,
)
declare("get_database get_database_req", database())
declare("get_databases", shown=shown.databases(shown.catalog_in_argument("pattern")))
declare("get_all_databases", shown=shown.databases(lambda _: DEFAULT_CATALOG))
declare(
    "get_databases_req",
    shown=shown.databases(
        lambda given: split_database(given.request.pattern)[0] or needs.catalog(given.request.catalogName), "databases"
    ),
)
declare("alter_database", given(lambda given: needs.changed_database(given.dbname, given.db)), is_change=True)
declare(
    "alter_database_req",
    request(lambda asked: needs.changed_database(asked.oldDbName, asked.newDb)),
    is_change=True,
)
declare("drop_database", database(DROP), is_change=True)
declare(
    "drop_database_req", database(DROP), may_be_absent=lambda given: bool(given.req.ignoreUnknownDb), is_change=True
)


# Tables


def _altered(name: TableName, new: Any, context: Any) -> Iterator[AnyNeed]:
    """Also of a rename that drops the table which has the new name."""
    yield from needs.changed_table(name, new)
    if new is None or context is None or not replaces(context.properties or {}):
        return
    home = DatabaseName(name.catalog, database_name(new.dbName).name or name.database)
    if (replaced := home.table(fold(new.tableName) or name.name)) != name:
        yield Need(replaced, (DROP,))


_NEW_TABLE: Final = given(lambda given: needs.new_table(given.tbl))


def _own(table_of: Callable[[Given], Any]) -> Amend:
    """Has a new table belong to the caller, and what it brings be granted by the caller."""
    return together(owned_by_caller(table_of, "owner", "ownerType"), granted_with(table_of))


_OWN_TABLE: Final = _own(lambda given: given.tbl)
declare("create_table create_table_with_environment_context", _NEW_TABLE, amend=_OWN_TABLE, is_change=True)
declare(
    "create_table_with_constraints",
    _NEW_TABLE,
    given(lambda given: needs.parents(given.foreignKeys)),
    amend=_OWN_TABLE,
    is_change=True,
)
declare(
    "create_table_req",
    request(lambda asked: needs.new_table(asked.table)),
    request(lambda asked: needs.parents(asked.foreignKeys)),
    amend=_own(lambda given: given.request.table),
    is_change=True,
)
declare("translate_table_dryrun", request(lambda asked: needs.new_table(asked.table)))
declare("get_table get_table_req", table(), in_service=True)
declare(
    "get_table_objects_by_name",
    shown=shown.tables(shown.by_names),
)
declare(
    "get_table_objects_by_name_req",
    database(),
    amend=named_tables(lambda given: given.req.projectionSpec),
    shown=shown.tables(shown.by_names, "tables"),
)
declare("get_all_tables get_tables get_tables_by_type", shown=shown.of_database(shown.database_in_argument("db_name")))
declare(
    "get_tables_ext",
    amend=shown.unlimited("req", "limit"),
    shown=shown.limited(
        shown.tables(lambda given, info: table_name(given.req.database, info.tblName, given.req.catalog)),
        zero_is_all=True,
    ),
)
declare("get_table_meta", shown=shown.tables(shown.by_names))
declare(
    "get_table_names_by_filter",
    amend=shown.unlimited("max_tables"),
    shown=shown.limited(shown.of_filter(shown.database_in_argument("dbname"))),
)
declare(
    "alter_table alter_table_with_cascade",
    given(lambda given: needs.changed_table(table_name(given.dbname, given.tbl_name), given.new_tbl)),
    is_change=True,
)
declare(
    "alter_table_with_environment_context",
    given(lambda given: _altered(table_name(given.dbname, given.tbl_name), given.new_tbl, given.environment_context)),
    is_change=True,
)
declare(
    "alter_table_req",
    request(
        lambda asked: _altered(
            table_name(asked.dbName, asked.tableName, asked.catName), asked.table, asked.environmentContext
        )
    ),
    is_change=True,
)
declare("drop_table", table(DROP), is_change=True)
declare("drop_table_with_environment_context drop_table_req", table(DROP), dependents, is_change=True)
declare("truncate_table truncate_table_req", table(DELETE), is_change=True)
declare("get_fields get_fields_with_environment_context get_fields_req", table())
declare("get_schema get_schema_with_environment_context get_schema_req", table())


# Types, functions

declare("create_type drop_type", admin, is_change=True)
declare(
    "create_function",
    given(lambda given: needs.new_function(given.func)),
    amend=owned_by_caller(lambda given: given.func, "ownerName", "ownerType"),
    is_change=True,
)
declare(
    "alter_function",
    given(lambda given: needs.changed_function(given.dbName, given.funcName, given.newFunc)),
    is_change=True,
)
declare("drop_function", given(lambda given: needs.dropped_function(given.dbName, given.funcName)), is_change=True)
declare("get_function", database())
declare(
    "get_functions",
    shown=shown.if_seen(shown.database_in_argument("dbName"), lambda _: []),
)
declare(
    "get_functions_req",
    shown=shown.if_seen(
        lambda given: database_name(given.request.dbName, given.request.catalogName), shown.no_functions
    ),
)
declare("get_all_functions", shown=shown.functions)


# Materialized views

declare(
    "update_creation_metadata",
    table(ALTER),
    given(lambda given: needs.sources(given.creation_metadata, database_name(given.dbname, given.catName))),
    is_change=True,
)
declare("get_materialization_invalidation_info")
declare(
    "get_lock_materialization_rebuild heartbeat_lock_materialization_rebuild",
    table(INSERT, UPDATE, DELETE, ALTER),
    given(lambda given: [needs.own_transactions(given.txnId)]),
    is_change=True,
)
declare("get_materialized_views_for_rewriting", shown=shown.of_database(shown.database_in_argument("db_name")))
declare(
    "get_all_materialized_view_objects_for_rewriting",
    shown=shown.tables(shown.by_names),
)
