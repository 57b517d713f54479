"""What of an answer its caller sees. What is hidden is left out, as if it were not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from metastore.domain.expression import columns
from metastore.domain.filters import parse_filter
from metastore.domain.names import DatabaseName, TableName, TableNameList, database_name, split_database, table_name
from metastore.domain.privileges import ADMIN, CallerGrants
from metastore.encoding.redaction import is_secret, redacted_json
from metastore.errors import NotFoundError
from metastore.protocol.rights.named import Given, folded_catalog
from metastore.protocol.rights.needs import privilege_object
from metastore.protocol.rights.rule import Amend, Sees, Shown, decoded
from thrift_idl.gen.hive_metastore.ttypes import PrincipalType, Role, RolePrincipalGrant

HIDDEN = "(hidden)"
"""Stands where a name must be, and may not be told."""


# Lists


def tables(name_of: Callable[[Given, Any], TableName], field: str | None = None) -> Shown:
    """Keeps what is of a table that is seen. `field`: where in the answer the list is."""

    def shown(sees: Sees, given: Given, answer: Any) -> Any:
        found = _list_in(answer, field)
        if found is None:
            return answer
        names = [name_of(given, entry) for entry in found]
        seen = sees.seen_tables(names)
        kept = [entry for entry, name in zip(found, names, strict=True) if name in seen]
        return _with(answer, field, kept)

    return shown


def write_events(sees: Sees, given: Given, answer: Any) -> Any:
    """Keeps what was written of tables that are seen, without the secrets of those that others own."""
    kept = tables(lambda _, event: _table_of(event))(sees, given, answer)
    owned = sees.owned([_table_of(event) for event in kept]) if kept else set()
    for event in kept:
        if _table_of(event) not in owned:
            event.tableObj = redacted_json(event.tableObj) if event.tableObj else event.tableObj
            event.partitionObj = redacted_json(event.partitionObj) if event.partitionObj else event.partitionObj
    return kept


def _table_of(event: Any) -> TableName:
    return table_name(event.database, event.table)


def of_database(given_database: Callable[[Given], DatabaseName]) -> Shown:
    """Keeps names of tables of a database, or of several (`TableNameList`)."""

    def shown(sees: Sees, given: Given, answer: Any) -> Any:
        names = (
            answer.tables
            if isinstance(answer, TableNameList)
            else [given_database(given).table(text) for text in answer]
        )
        seen = sees.seen_tables(names)
        return [text for text, name in zip(answer, names, strict=True) if name in seen]

    return shown


def of_filter(given: Callable[[Given], DatabaseName]) -> Shown:
    """Keeps names of tables that satisfy a filter; where it asks for a parameter that is secret, one's own."""
    kept = of_database(given)

    def shown(sees: Sees, asked: Given, answer: Any) -> Any:
        expression = parse_filter(asked.filter, fold_names=False)
        if expression is None or not any(map(is_secret, columns(expression))):
            return kept(sees, asked, answer)
        tables = {text: given(asked).table(text) for text in answer}
        owned = sees.owned(tables.values())
        return [text for text, name in tables.items() if name in owned]

    return shown


def databases(catalog_of: Callable[[Given], str], field: str | None = None) -> Shown:
    """Keeps databases that are seen: names, or structs."""

    def shown(sees: Sees, given: Given, answer: Any) -> Any:
        found = _list_in(answer, field) or []
        catalog = catalog_of(given)
        names = [DatabaseName(catalog, text if isinstance(text, str) else text.name) for text in found]
        seen = sees.seen_databases(names)
        return _with(answer, field, [entry for entry, name in zip(found, names, strict=True) if name in seen])

    return shown


def catalogs(sees: Sees, _given: Given, answer: Any) -> Any:
    """Keeps catalogs in which something is seen."""
    seen = sees.seen_catalogs(answer.names)
    answer.names = [name for name in answer.names if name in seen]
    return answer


def one_catalog(sees: Sees, given: Given, answer: Any) -> Any:
    """Raises NotFoundError, as its service does, for a catalog in which nothing is seen."""
    name = folded_catalog(given.catName.name)
    if name not in sees.seen_catalogs([name]):
        raise NotFoundError(f"No catalog {name}")
    return answer


def functions(sees: Sees, _given: Given, answer: Any) -> Any:
    """Keeps functions of databases that are seen."""
    found = decoded(answer.functions) or []
    names = [DatabaseName(function.catName, function.dbName) for function in found]
    seen = sees.seen_databases(names)
    answer.functions = [function for function, name in zip(found, names, strict=True) if name in seen]
    return answer


def if_seen(database_of: Callable[[Given], DatabaseName], empty: Callable[[Any], Any]) -> Shown:
    """Answers with nothing where the database is not seen, as where it is not there."""

    def shown(sees: Sees, given: Given, answer: Any) -> Any:
        name = database_of(given)
        return answer if name in sees.seen_databases([name]) else empty(answer)

    return shown


def _list_in(answer: Any, field: str | None) -> list[Any] | None:
    found = decoded(answer if field is None else getattr(answer, field))
    return None if found is None else list(found)


def _with(answer: Any, field: str | None, kept: list[Any]) -> Any:
    if field is None:
        return kept
    setattr(answer, field, kept)
    return answer


# Dependencies


def dependencies(sees: Sees, given: Given, answer: Any) -> Any:
    """Shows a hidden base as hidden; what is hidden and depends on something is not there."""
    catalog = folded_catalog(given.request.catName)
    edges = [*answer.tables, *answer.partitions]
    names = {table_name(edge.dbName, edge.tableName, catalog) for edge in edges}
    names |= {table_name(edge.baseDbName, edge.baseTableName, catalog) for edge in edges}
    seen = sees.seen_tables(names)
    answer.tables, answer.partitions = (
        [_edge(edge, catalog, seen) for edge in some if table_name(edge.dbName, edge.tableName, catalog) in seen]
        for some in (answer.tables, answer.partitions)
    )
    return answer


def _edge(edge: Any, catalog: str, seen: Iterable[TableName]) -> Any:
    if table_name(edge.baseDbName, edge.baseTableName, catalog) not in seen:
        edge.baseDbName = edge.baseTableName = HIDDEN
        if hasattr(edge, "baseSpec"):
            edge.baseSpec, edge.basePartitions = HIDDEN, None
    return edge


# Locks, transactions, compactions


def locks(sees: Sees, _given: Given, answer: Any) -> Any:
    """Keeps the caller's own, and those on what is seen, of which only administrators hear who holds them."""
    standing = sees.standing()
    on_tables = [table_name(lock.dbname, lock.tablename) for lock in answer.locks]
    seen: set[Any] = set(sees.seen_tables(name for name in on_tables if name.name))
    seen |= {
        seen_database.table("")
        for seen_database in sees.seen_databases(name.parent for name in on_tables if not name.name)
    }
    answer.locks = [
        lock
        for lock, name in zip(answer.locks, on_tables, strict=True)
        if name in seen or lock.user == (standing.user or "")
    ]
    _without_holders(standing, answer.locks)
    return answer


def transactions(sees: Sees, _given: Given, answer: Any) -> Any:
    """Does not tell who opened others' transactions."""
    _without_holders(sees.standing(), answer.open_txns)
    return answer


def _without_holders(standing: CallerGrants, held: Iterable[Any]) -> None:
    for one in held:
        if not standing.is_admin and one.user != (standing.user or ""):
            one.user = one.hostname = HIDDEN
            one.agentInfo = None


# Settings


def configuration(sees: Sees, given: Given, answer: Any) -> Any:
    """Settings are for administrators; others get what they would do without."""
    return answer if sees.standing().is_admin else given.defaultValue or ""


# Privileges and roles


def privileges(sees: Sees, _given: Given, answer: Any) -> Any:
    """Keeps the caller's own, and those on what the caller owns."""
    standing = sees.standing()
    if standing.is_admin:
        return answer
    objects = [privilege_object(privilege.hiveObject) for privilege in answer]
    owned: Any = sees.owned([of for of in objects if isinstance(of, TableName | DatabaseName)])
    return [
        privilege
        for privilege, of in zip(answer, objects, strict=True)
        if of in owned or standing.is_principal(privilege.principalType, privilege.principalName)
    ]


def role_names(sees: Sees, _given: Given, answer: Any) -> Any:
    """Keeps the caller's roles; administrators see all."""
    standing = sees.standing()
    return answer if standing.is_admin else [role for role in answer if role in standing.roles]


def database_in_argument(name: str) -> Callable[[Given], DatabaseName]:
    return lambda given: database_name(getattr(given, name))


def catalog_in_argument(name: str) -> Callable[[Given], str]:
    return lambda given: split_database(getattr(given, name))[0] or folded_catalog(None)


def by_names(_given: Given, struct: Any) -> TableName:
    """Returns the table of a struct with Hive's usual names of fields."""
    return table_name(struct.dbName, struct.tableName, struct.catName)


def list_of_roles(sees: Sees, given: Given, answer: Any) -> Any:
    """Tells of the caller's role of administrators if the settings give it: what was granted of it is nothing."""
    standing = sees.standing()
    roles = [role for role in answer if role.roleName != ADMIN]
    is_mine = given.principal_type == PrincipalType.USER and given.principal_name == standing.user
    return [*roles, Role(ADMIN, 0, ADMIN)] if standing.is_admin and is_mine else roles


def role_grants(sees: Sees, given: Given, answer: Any) -> Any:
    """Lists as `list_of_roles`, with who granted them."""
    standing, asked = sees.standing(), given.request
    grants = [principal_grant for principal_grant in answer.principalGrants if principal_grant.roleName != ADMIN]
    if standing.is_admin and asked.principal_type == PrincipalType.USER and asked.principal_name == standing.user:
        grants.append(RolePrincipalGrant(ADMIN, standing.user, PrincipalType.USER, grantOption=False, grantTime=0))
    answer.principalGrants = grants
    return answer


# Limits, which count what is seen


def unlimited(argument: str, field: str | None = None) -> Amend:
    """Keeps a limit for `limited`: what the service lists is cut after what is hidden."""

    def amend(_: CallerGrants, given: Given) -> None:
        holder = given if field is None else getattr(given, argument)
        name = field or argument
        given.limit = getattr(holder, name)
        setattr(holder, name, -1)

    return amend


def limited(shown: Shown, *, zero_is_all: bool = False) -> Shown:
    """Cuts what is seen."""

    def cut(sees: Sees, given: Given, answer: Any) -> Any:
        kept = shown(sees, given, answer)
        limit = given.limit
        return kept if limit is None or limit < 0 or (zero_is_all and limit == 0) else kept[:limit]

    return cut


# Constraints


def all_constraints(sees: Sees, _given: Given, answer: Any) -> Any:
    """Leaves out foreign keys to what is hidden."""
    lists = answer.allTableConstraints
    lists.foreignKeys = _foreign_keys(sees, decoded(lists.foreignKeys) or [])
    return answer


def foreign_keys(sees: Sees, _given: Given, answer: Any) -> Any:
    """Leaves out those of hidden tables, and those to hidden tables."""
    answer.foreignKeys = _foreign_keys(sees, decoded(answer.foreignKeys) or [])
    return answer


def _foreign_keys(sees: Sees, keys: Iterable[Any]) -> list[Any]:
    ends = [
        (
            table_name(key.pktable_db, key.pktable_name, key.catName),
            table_name(key.fktable_db, key.fktable_name, key.catName),
        )
        for key in keys
    ]
    seen = sees.seen_tables(name for pair in ends for name in pair)
    return [key for key, pair in zip(keys, ends, strict=True) if seen >= set(pair)]


def no_functions(answer: Any) -> Any:
    """Empties an answer that lists functions, or their names."""
    if answer.functions is not None:
        answer.functions = []
    else:
        answer.function_names = []
    return answer
