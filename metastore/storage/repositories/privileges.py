"""Privileges. Each method is a constant number of statements, regardless of the number of privileges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, delete, func, literal, or_, select, text, update

from metastore.context import is_authorized
from metastore.domain.names import DatabaseName
from metastore.storage.mapping.privileges import object_privilege
from metastore.storage.postgres.arrays import is_among, is_text_among
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.access import privileges
from metastore.storage.schema.catalog import databases, tables
from metastore.storage.schema.partitions import partitions
from thrift_idl.gen.hive_metastore.ttypes import HiveObjectPrivilege, HiveObjectType, PrincipalType

_DELETE_KEPT_OF_ROLE = text("""
    DELETE FROM dropped_rows WHERE relation = 'privileges'
        AND cast(content->>'principal_type' AS integer) = :kind AND content->>'principal' = :name
""")


class TableIds(NamedTuple):
    """The ids of a database or table; `keys`: the names of its partition columns."""

    database_id: int
    table_id: int | None
    keys: tuple[str, ...]


class Target(NamedTuple):
    """The object of a privilege. `kind`: a HiveObjectType; fields that do not apply are None."""

    kind: int
    database_id: int | None = None
    table_id: int | None = None
    partition_id: int | None = None
    column: str | None = None
    scope: str | None = None  # for GLOBAL: a catalog or a location, None for everything


class Grant(NamedTuple):
    """One privilege of one principal, granted by one grantor. Times are in seconds since 1970."""

    target: Target
    principal_type: int
    principal: str
    privilege: str
    grantor: str | None
    grantor_type: int | None
    grant_option: bool
    authorizer: str | None
    create_time: int


class FoundGrant(NamedTuple):
    """The id of a grant, whether it has the grant option, and whether the requested grantor granted it."""

    id: int
    option: bool
    is_own: bool


class StoredGrant(NamedTuple):
    """A grant and its id."""

    id: int
    grant: Grant


_TARGET = {
    "object_type": "int",
    "database_id": "bigint",
    "table_id": "bigint",
    "partition_id": "bigint",
    "column_name": "text",
    "scope": "text",
}
_COLUMNS = _TARGET | {
    "principal_type": "int",
    "principal": "text",
    "privilege": "text",
    "grantor": "text",
    "grantor_type": "int",
    "grant_option": "boolean",
    "authorizer": "text",
    "create_time": "int",
}
_UNNESTED = f"unnest({', '.join(f'cast(:{name} AS {kind}[])' for name, kind in _COLUMNS.items())})"
_NAMES = ", ".join(_COLUMNS)

# Sorted, so that two clients that grant the same privileges wait for each other instead of deadlocking.
_INSERT = text(f"INSERT INTO privileges ({_NAMES}) SELECT * FROM {_UNNESTED} AS new({_NAMES}) ORDER BY {_NAMES}")  # noqa: S608 - constants

# A user and a role may have the same name. Hive's clients may leave out the kind of a user.
_IS_OWN = f"""(
    candidate.grantor IS NOT DISTINCT FROM wanted.grantor
    AND coalesce(candidate.grantor_type, {PrincipalType.USER:d}) = coalesce(wanted.grantor_type, {PrincipalType.USER:d})
)"""
# Uses the unique index. If several grantors have granted a privilege, the grantor's own grant is preferred, then the
# oldest.
_FIND = text(f"""
    SELECT wanted.number, existing.id, existing.grant_option, existing.own
    FROM {_UNNESTED} WITH ORDINALITY AS wanted({_NAMES}, number)
    LEFT JOIN LATERAL (
        SELECT id, grant_option, {_IS_OWN} AS own FROM privileges AS candidate
        WHERE candidate.object_type = wanted.object_type
          AND COALESCE(candidate.database_id, 0) = COALESCE(wanted.database_id, 0)
          AND COALESCE(candidate.table_id, 0) = COALESCE(wanted.table_id, 0)
          AND COALESCE(candidate.partition_id, 0) = COALESCE(wanted.partition_id, 0)
          AND COALESCE(candidate.column_name, '') = COALESCE(wanted.column_name, '')
          AND COALESCE(candidate.scope, '') = COALESCE(wanted.scope, '')
          AND candidate.principal_type = wanted.principal_type AND candidate.principal = wanted.principal
          AND candidate.privilege = wanted.privilege
        ORDER BY own DESC, candidate.id LIMIT 1
    ) AS existing ON true
    ORDER BY wanted.number
""")  # noqa: S608 - constants

_TABLES = text("""
    SELECT d.id AS database_id, t.id AS table_id, t.partition_keys
    FROM unnest(cast(:catalog AS text[]), cast(:database AS text[]), cast(:name AS text[]))
         WITH ORDINALITY AS wanted(catalog, database, name, number)
    LEFT JOIN databases AS d ON d.catalog = wanted.catalog AND d.name = wanted.database
    LEFT JOIN tables AS t ON t.database_id = d.id AND t.name = wanted.name
    ORDER BY wanted.number
""")


class Privileges(Repository):
    """Queries on privileges."""

    def tables(self, names: Sequence[tuple[str, str | None, str | None]]) -> list[TableIds | None]:
        """Returns the ids of each (catalog, database, table). A missing database gives None, as does an object that is
        not the one that the call was authorized for."""
        catalog, database, name = zip(*names, strict=True)
        parameters = {"catalog": list(catalog), "database": list(database), "name": list(name)}
        rows = self._connection.execute(_TABLES, parameters)
        return [
            TableIds(row.database_id, row.table_id, tuple(key["name"] for key in row.partition_keys or ()))
            if row.database_id is not None and _is_authorized(named, row.database_id, row.table_id)
            else None
            for named, row in zip(names, rows, strict=True)
        ]

    def insert(self, grants: Sequence[Grant]) -> None:
        """Adds grants. Raises AlreadyExistsError if one exists or is given twice."""
        self._connection.execute(_INSERT, _arrays(grants))

    def find(self, grants: Sequence[Grant]) -> list[FoundGrant | None]:
        """Returns for each grant the stored one with the same privilege, object and principal, or None.

        If several grantors have given it, returns the one by the same grantor, if there is one.
        """
        rows = self._connection.execute(_FIND, _arrays(grants))
        return [None if row.id is None else FoundGrant(row.id, bool(row.grant_option), row.own) for row in rows]

    def granted_by(self, authorizer: str | None, target: Target) -> list[StoredGrant]:
        """Locks and returns the grants of an authorizer on the target. A column without a name means any."""
        query = select(privileges).where(_on(target), privileges.c.authorizer.is_not_distinct_from(authorizer))
        return [StoredGrant(row.id, _grant(row)) for row in self._connection.execute(query.with_for_update())]

    def delete(self, ids: Sequence[int]) -> None:
        self._connection.execute(delete(privileges).where(is_among(privileges.c.id, ids)))

    def delete_of_role(self, name: str) -> None:
        """Deletes the privileges of a role, also on dropped objects: a later role of this name must not get them."""
        of_role = (privileges.c.principal_type == PrincipalType.ROLE) & (privileges.c.principal == name)
        self._connection.execute(delete(privileges).where(of_role))
        self._connection.execute(_DELETE_KEPT_OF_ROLE, {"kind": PrincipalType.ROLE, "name": name})

    def delete_option(self, ids: Sequence[int]) -> None:
        """Removes the grant option and keeps the privileges."""
        self._connection.execute(update(privileges).where(is_among(privileges.c.id, ids)).values(grant_option=False))

    def select(
        self, target: Target | None, principal: str | None = None, principal_type: int | None = None
    ) -> list[HiveObjectPrivilege]:
        """Returns the privileges of a principal (None: of all) on the target, in the order in which they were granted.

        None in the target means any. Exception: without a partition, only column privileges of the table itself match.
        """
        conditions = [] if target is None else [_within(target)]
        if principal is not None:
            conditions.append(privileges.c.principal == principal)
        if principal_type is not None:
            conditions.append(privileges.c.principal_type == principal_type)
        return self._select(*conditions)

    def select_of(
        self, target: Target, user: str | None, groups: Sequence[str], roles: Sequence[str]
    ) -> list[HiveObjectPrivilege]:
        """Returns the privileges of a user, of groups and of roles on exactly the target."""
        return self._select(_on(target), _of(user, groups, roles))

    def of_partitions(
        self, table_id: int, user: str | None, groups: Sequence[str], roles: Sequence[str]
    ) -> list[HiveObjectPrivilege]:
        """Returns the privileges of a user, of groups and of roles on whole partitions of a table."""
        whole = (privileges.c.object_type == HiveObjectType.PARTITION) & (privileges.c.table_id == table_id)
        return self._select(whole, _of(user, groups, roles))

    def _select(self, *conditions: Any) -> list[HiveObjectPrivilege]:
        joined = (
            privileges.outerjoin(tables, tables.c.id == privileges.c.table_id)
            .outerjoin(databases, databases.c.id == func.coalesce(privileges.c.database_id, tables.c.database_id))
            .outerjoin(partitions, partitions.c.id == privileges.c.partition_id)
        )
        query = select(
            privileges,
            databases.c.catalog,
            databases.c.name.label("database"),
            tables.c.name.label("table"),
            partitions.columns["values"].label("partition_values"),
        ).select_from(joined)
        exists = or_(privileges.c.table_id.is_(None), tables.c.database_id.is_not(None))
        rows = self._connection.execute(query.where(exists, *conditions).order_by(privileges.c.id))
        return [object_privilege(row) for row in rows]


def _is_authorized(named: tuple[str, str | None, str | None], database_id: int, table_id: int | None) -> bool:
    catalog, database, table = named
    home = DatabaseName(catalog, database or "")
    return is_authorized(home, database_id) and (table_id is None or is_authorized(home.table(table or ""), table_id))


def _of(user: str | None, groups: Sequence[str], roles: Sequence[str]) -> Any:
    kinds = {PrincipalType.USER: [user] if user else [], PrincipalType.GROUP: groups, PrincipalType.ROLE: roles}
    return or_(
        *(
            (privileges.c.principal_type == kind) & is_text_among(privileges.c.principal, names)
            for kind, names in kinds.items()
        )
    )


def _within(target: Target) -> Any:
    """Returns the condition of a listing: None means any, except for the partition of a column."""
    condition = privileges.c.object_type == target.kind
    if target.table_id is not None:
        condition &= privileges.c.table_id == target.table_id
    elif target.database_id is not None:
        condition &= privileges.c.database_id == target.database_id
    if target.partition_id is not None:
        condition &= privileges.c.partition_id == target.partition_id
    elif target.table_id is not None:
        condition &= privileges.c.partition_id.is_(None)
    if target.scope is not None:
        condition &= privileges.c.scope == target.scope
    return condition if target.column is None else condition & (privileges.c.column_name == target.column)


def _on(target: Target) -> Any:
    """Returns the condition for exactly the target, for the unique index. A column without a name is any."""
    condition = (
        (privileges.c.object_type == target.kind)
        & (func.coalesce(privileges.c.database_id, literal(0, BigInteger)) == (target.database_id or 0))
        & (func.coalesce(privileges.c.table_id, literal(0, BigInteger)) == (target.table_id or 0))
        & (func.coalesce(privileges.c.partition_id, literal(0, BigInteger)) == (target.partition_id or 0))
        & (func.coalesce(privileges.c.scope, "") == (target.scope or ""))
    )
    return condition if target.column is None else condition & (privileges.c.column_name == target.column)


def _arrays(grants: Sequence[Grant]) -> dict[str, list[Any]]:
    rows = [(*grant.target, *grant[1:]) for grant in grants]
    return {name: [row[position] for row in rows] for position, name in enumerate(_COLUMNS)}


def _grant(row: Any) -> Grant:
    values = [getattr(row, name) for name in _COLUMNS]
    return Grant(Target(*values[: len(_TARGET)]), *values[len(_TARGET) :])
