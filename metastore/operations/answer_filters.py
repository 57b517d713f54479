"""Filters of answers: they leave out objects that the caller may not see, as if these did not exist."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any, Final, TypeVar

from metastore.domain.expression import columns
from metastore.domain.filters import parse_filter
from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName, TableNameList, fold, table_name
from metastore.domain.privileges import ADMIN, Duty
from metastore.encoding.binary import EncodedList, EncodedTexts
from metastore.encoding.redaction import is_secret, redacted_json
from metastore.errors import NotFoundError
from metastore.operations.operation import Authorizer
from metastore.operations.requirements.privileges import securable
from thrift_idl.gen.hive_metastore.ttypes import (
    AllTableConstraintsResponse,
    Database,
    ExtendedTableInfo,
    ForeignKeysResponse,
    Function,
    GetAllFunctionsResponse,
    GetCatalogResponse,
    GetCatalogsResponse,
    GetDatabaseObjectsResponse,
    GetFunctionsResponse,
    GetOpenTxnsInfoResponse,
    GetRoleGrantsForPrincipalResponse,
    GetTablesResult,
    HiveObjectPrivilege,
    PrincipalType,
    Role,
    RolePrincipalGrant,
    ShowCompactResponse,
    ShowLocksResponse,
    ShowLocksResponseElement,
    SQLForeignKey,
    Table,
    TableMeta,
    TxnInfo,
    WriteEventInfo,
)
from thrift_idl.gen.metastore.ttypes import Dependencies, PartitionDependency, TableDependency

Item = TypeVar("Item")
Edge = TypeVar("Edge", TableDependency, PartitionDependency)

HIDDEN: Final = "(hidden)"
"""Replaces a required name that the caller may not see."""


# Catalogs, databases and functions


def catalogs(authorizer: Authorizer, answer: GetCatalogsResponse) -> GetCatalogsResponse:
    """Keeps the catalogs in which the caller may see an object."""
    visible = authorizer.visible_catalogs(answer.names)
    answer.names = [name for name in answer.names if name in visible]
    return answer


def catalog(authorizer: Authorizer, answer: GetCatalogResponse, catalog_name: str | None) -> GetCatalogResponse:
    """Returns the answer. Raises NotFoundError, as the service does, if the caller may see nothing in the catalog."""
    name = fold(catalog_name) or DEFAULT_CATALOG
    if name not in authorizer.visible_catalogs([name]):
        raise NotFoundError(f"No catalog {name}")
    return answer


def databases(authorizer: Authorizer, answer: list[str], pattern: DatabaseName | None = None) -> list[str]:
    """Keeps the visible databases of the pattern's catalog."""
    return _in_visible_databases(authorizer, _decoded(answer), _database_of(pattern))


def database_objects(
    authorizer: Authorizer, answer: GetDatabaseObjectsResponse, pattern: DatabaseName
) -> GetDatabaseObjectsResponse:
    """Keeps the visible databases of the pattern's catalog."""
    name_of = _database_of(pattern)
    listed: list[Database] = _decoded(answer.databases)
    answer.databases = _in_visible_databases(authorizer, listed, lambda database: name_of(database.name))
    return answer


def functions(authorizer: Authorizer, answer: GetAllFunctionsResponse) -> GetAllFunctionsResponse:
    """Keeps the functions of visible databases."""
    listed: list[Function] = _decoded(answer.functions)
    answer.functions = _in_visible_databases(
        authorizer, listed, lambda function: DatabaseName(function.catName, function.dbName)
    )
    return answer


def function_names(authorizer: Authorizer, answer: list[str], database: DatabaseName) -> list[str]:
    """Returns nothing if the database is not visible."""
    return answer if database in authorizer.visible_databases([database]) else []


def functions_of_database(
    authorizer: Authorizer, answer: GetFunctionsResponse, database: DatabaseName
) -> GetFunctionsResponse:
    """Returns nothing if the database is not visible."""
    if database in authorizer.visible_databases([database]):
        return answer
    return GetFunctionsResponse(function_names=[]) if answer.functions is None else GetFunctionsResponse(functions=[])


def _database_of(pattern: DatabaseName | None) -> Callable[[str], DatabaseName]:
    catalog = pattern.catalog if pattern else DEFAULT_CATALOG
    return lambda name: DatabaseName(catalog, name)


def _in_visible_databases(
    authorizer: Authorizer, items: Iterable[Item], database_of: Callable[[Item], DatabaseName]
) -> list[Item]:
    named = [(item, database_of(item)) for item in items]
    visible = authorizer.visible_databases(name for _, name in named)
    return [item for item, name in named if name in visible]


# Tables


def tables(authorizer: Authorizer, answer: Iterable[Table | TableMeta]) -> list[Table | TableMeta]:
    """Keeps visible tables."""
    return _visible(authorizer, _decoded(answer), _table)


def named_tables(
    authorizer: Authorizer, answer: Iterable[Table], database: DatabaseName, names: Iterable[str] | None
) -> list[Table]:
    """Keeps visible tables among those with these names."""
    return _visible(authorizer, _decoded(answer), _table, [database.table(fold(name)) for name in names or ()])


def tables_field(
    authorizer: Authorizer, answer: GetTablesResult, database: DatabaseName, names: Iterable[str] | None
) -> GetTablesResult:
    """Keeps visible tables."""
    answer.tables = named_tables(authorizer, answer.tables, database, names)
    return answer


def table_infos(authorizer: Authorizer, answer: list[ExtendedTableInfo], database: DatabaseName) -> Any:
    """Keeps the visible tables of a database."""
    return _visible(authorizer, answer, lambda info: database.table(fold(info.tblName)))


def table_names(authorizer: Authorizer, answer: list[str], database: DatabaseName) -> list[str]:
    """Keeps the visible tables of a database, or of several (TableNameList)."""
    names = answer.tables if isinstance(answer, TableNameList) else [database.table(name) for name in answer]
    visible = authorizer.visible_tables(names, [database])
    return [text for text, name in zip(answer, names, strict=True) if name in visible]


def filtered_table_names(
    authorizer: Authorizer, answer: list[str], database: DatabaseName, text: str | None
) -> list[str]:
    """Keeps visible tables that match a filter; only the caller's own if the filter compares a secret parameter,
    because the reply would reveal its value.
    """
    expression = parse_filter(text, fold_names=False)
    if expression is None or not any(map(is_secret, columns(expression))):
        return table_names(authorizer, answer, database)
    owned = authorizer.owned(database.table(name) for name in answer)
    return [name for name in answer if database.table(name) in owned]


def write_events(authorizer: Authorizer, answer: list[WriteEventInfo]) -> list[WriteEventInfo]:
    """Keeps writes to visible tables, without secrets of tables that the caller does not own."""
    kept = _visible(authorizer, answer, _written_table)
    owned = authorizer.owned(map(_written_table, kept)) if kept else frozenset()
    for event in kept:
        if _written_table(event) not in owned:
            event.tableObj = redacted_json(event.tableObj) if event.tableObj else event.tableObj
            event.partitionObj = redacted_json(event.partitionObj) if event.partitionObj else event.partitionObj
    return kept


def compactions(authorizer: Authorizer, answer: ShowCompactResponse) -> ShowCompactResponse:
    """Keeps the compactions of visible tables."""
    answer.compacts = _visible(
        authorizer, answer.compacts or [], lambda compaction: table_name(compaction.dbname, compaction.tablename)
    )
    return answer


def dependencies(authorizer: Authorizer, answer: Dependencies, table: TableName) -> Dependencies:
    """Keeps visible dependent tables, and hides the names of their hidden bases."""
    catalog = table.catalog
    edges = [*answer.tables, *answer.partitions, *(answer.views or ())]
    names = {table_name(edge.dbName, edge.tableName, catalog) for edge in edges}
    names |= {table_name(edge.baseDbName, edge.baseTableName, catalog) for edge in edges}
    unknown = {each: TableName(catalog, *each.split(".", 1)) for each in answer.unknownViews or ()}
    visible = authorizer.visible_tables(names | set(unknown.values()))
    answer.unknownViews = [each for each, name in unknown.items() if name in visible]
    answer.views = _visible_edges(answer.views or (), catalog, visible)
    answer.tables = _visible_edges(answer.tables, catalog, visible)
    answer.partitions = _visible_edges(answer.partitions, catalog, visible)
    return answer


def _visible_edges(edges: Iterable[Edge], catalog: str, visible: Container[TableName]) -> list[Edge]:
    kept = [edge for edge in edges if table_name(edge.dbName, edge.tableName, catalog) in visible]
    for edge in kept:
        if table_name(edge.baseDbName, edge.baseTableName, catalog) not in visible:
            edge.baseDbName = edge.baseTableName = HIDDEN
            if isinstance(edge, PartitionDependency):
                edge.baseSpec, edge.basePartitions = HIDDEN, None
    return kept


def _visible(
    authorizer: Authorizer,
    items: Iterable[Item],
    table_of: Callable[[Item], TableName],
    asked: Iterable[TableName] = (),
) -> list[Item]:
    named = [(item, table_of(item)) for item in items]
    visible = authorizer.visible_tables((name for _, name in named), asked)
    return [item for item, name in named if name in visible]


def _table(table: Table | TableMeta) -> TableName:
    return table_name(table.dbName, table.tableName, table.catName)


def _written_table(event: WriteEventInfo) -> TableName:
    return table_name(event.database, event.table)


# Constraints


def all_constraints(authorizer: Authorizer, answer: AllTableConstraintsResponse) -> AllTableConstraintsResponse:
    """Leaves out foreign keys that reference hidden tables."""
    constraints = answer.allTableConstraints
    constraints.foreignKeys = _visible_keys(authorizer, _decoded(constraints.foreignKeys))
    return answer


def foreign_keys(authorizer: Authorizer, answer: ForeignKeysResponse) -> ForeignKeysResponse:
    """Leaves out foreign keys of hidden tables, and those that reference hidden tables."""
    answer.foreignKeys = _visible_keys(authorizer, _decoded(answer.foreignKeys))
    return answer


def _visible_keys(authorizer: Authorizer, keys: list[SQLForeignKey]) -> list[SQLForeignKey]:
    ends = [
        {
            table_name(key.pktable_db, key.pktable_name, key.catName),
            table_name(key.fktable_db, key.fktable_name, key.catName),
        }
        for key in keys
    ]
    visible = authorizer.visible_tables(name for pair in ends for name in pair)
    return [key for key, pair in zip(keys, ends, strict=True) if pair <= visible]


# Locks and transactions


def locks(authorizer: Authorizer, answer: ShowLocksResponse) -> ShowLocksResponse:
    """Keeps the caller's own locks, and those on visible objects. Only administrators see their holders."""
    names = [table_name(lock.dbname, lock.tablename) for lock in answer.locks]
    visible = set(authorizer.visible_tables(name for name in names if name.name))
    in_databases = authorizer.visible_databases(name.parent for name in names if not name.name)
    visible |= {database.table("") for database in in_databases}
    user = authorizer.grants().user or ""
    answer.locks = [
        lock for lock, name in zip(answer.locks, names, strict=True) if name in visible or lock.user == user
    ]
    _hide_holders(authorizer, answer.locks)
    return answer


def transactions(authorizer: Authorizer, answer: GetOpenTxnsInfoResponse) -> GetOpenTxnsInfoResponse:
    """Hides the owners of other users' transactions."""
    _hide_holders(authorizer, answer.open_txns)
    return answer


def _hide_holders(authorizer: Authorizer, held: Iterable[ShowLocksResponseElement | TxnInfo]) -> None:
    grants = authorizer.grants()
    sees_holders = grants.is_admin or Duty.DATA in grants.duties
    for holding in held:
        if not sees_holders and holding.user != (grants.user or ""):
            holding.user = holding.hostname = HIDDEN
            holding.agentInfo = None


# Settings, privileges and roles


def configuration_value(authorizer: Authorizer, answer: str, default: str | None) -> str:
    """Returns the setting to administrators, and the default that the call names to others."""
    return answer if authorizer.grants().is_admin else default or ""


def privileges(authorizer: Authorizer, answer: list[HiveObjectPrivilege]) -> list[HiveObjectPrivilege]:
    """Keeps the caller's own privileges, and those on objects that the caller owns."""
    grants = authorizer.grants()
    if grants.is_admin or Duty.SECURITY in grants.duties:
        return answer
    objects = [securable(privilege.hiveObject) for privilege in answer]
    owned = authorizer.owned([on for on in objects if isinstance(on, TableName | DatabaseName)])
    return [
        privilege
        for privilege, on in zip(answer, objects, strict=True)
        if on in owned or grants.is_principal(privilege.principalType, privilege.principalName)
    ]


def role_names(authorizer: Authorizer, answer: list[str]) -> list[str]:
    """Keeps the caller's roles. Administrators see all."""
    grants = authorizer.grants()
    return (
        answer
        if grants.is_admin or Duty.SECURITY in grants.duties
        else [role for role in answer if role in grants.roles]
    )


def roles(authorizer: Authorizer, answer: list[Role], name: str | None, kind: int | None) -> list[Role]:
    """Lists the role `admin` if METASTORE_ADMINS names the caller: grants of that role have no effect."""
    kept = [role for role in answer if role.roleName != ADMIN]
    return [*kept, Role(ADMIN, 0, ADMIN)] if _is_own_admin_role(authorizer, name, kind) else kept


def role_grants(
    authorizer: Authorizer, answer: GetRoleGrantsForPrincipalResponse, name: str | None, kind: int | None
) -> GetRoleGrantsForPrincipalResponse:
    """Does the same as `roles` for an answer that lists grants."""
    grants = [grant for grant in answer.principalGrants if grant.roleName != ADMIN]
    if _is_own_admin_role(authorizer, name, kind):
        grants.append(RolePrincipalGrant(ADMIN, name, PrincipalType.USER, grantOption=False, grantTime=0))
    answer.principalGrants = grants
    return answer


def _is_own_admin_role(authorizer: Authorizer, name: str | None, kind: int | None) -> bool:
    grants = authorizer.grants()
    return grants.is_admin and kind == PrincipalType.USER and name == grants.user


def _decoded(items: Any) -> list[Any]:
    """Returns a list that may be encoded; an unset one is empty."""
    return list(items.decode() if isinstance(items, EncodedList | EncodedTexts) else items or [])
