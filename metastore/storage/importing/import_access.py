"""Roles, members of roles and privileges on everything that an import has added.

They belong to no database. So only this memory tells them from those that an administrator of this server has added.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import Column, ColumnElement, Table, delete, exists, select, true, tuple_, union_all, update
from sqlalchemy.dialects.postgresql import insert

from metastore.storage.queries.repository import Repository
from metastore.storage.schema.access import privileges, role_grants, roles
from metastore.storage.schema.catalog import databases, tables
from metastore.storage.schema.imports import import_access
from thrift_idl.gen.hive_metastore.ttypes import PrincipalType

Row: TypeAlias = tuple[Any, ...]
"""The values of the columns of a kind."""


@dataclass(frozen=True)
class AccessKind:
    """A kind of objects. `columns`: the values that make two rows equal; `key`: identifies a stored row."""

    name: str
    table: Table
    columns: tuple[Column[Any], ...]
    key: tuple[Column[Any], ...]
    condition: ColumnElement[bool]

    def row(self, values: Mapping[str, Any]) -> Row:
        """Returns the row of an object, given by its columns."""
        return tuple(values[column.name] for column in self.columns)


ROLES: Final = AccessKind("roles", roles, (roles.c.name, roles.c.owner, roles.c.create_time), (roles.c.name,), true())
MEMBERS: Final = AccessKind(
    "members",
    role_grants,
    (
        role_grants.c.role,
        role_grants.c.principal_type,
        role_grants.c.principal,
        role_grants.c.grantor,
        role_grants.c.grantor_type,
        role_grants.c.grant_option,
        role_grants.c.grant_time,
    ),
    (role_grants.c.role, role_grants.c.principal_type, role_grants.c.principal),
    true(),
)
ON_EVERYTHING: Final = AccessKind(
    "privileges on everything",
    privileges,
    (
        privileges.c.object_type,
        privileges.c.column_name,
        privileges.c.principal_type,
        privileges.c.principal,
        privileges.c.privilege,
        privileges.c.grantor,
        privileges.c.grantor_type,
        privileges.c.grant_option,
        privileges.c.authorizer,
        privileges.c.create_time,
    ),
    (privileges.c.id,),
    privileges.c.database_id.is_(None) & privileges.c.table_id.is_(None) & privileges.c.scope.is_(None),
)
_ROWS: Final = 500  # of a statement with values


class ImportAccess(Repository):
    """Queries on what imports have added."""

    def remembered(self, import_id: int, kind: AccessKind) -> set[Row]:
        """Returns the rows that the import has added."""
        of_kind = (import_access.c.import_id == import_id) & (import_access.c.kind == kind.name)
        rows = self._connection.execute(select(import_access.c.rows).where(of_kind)).scalar_one_or_none()
        return set(map(tuple, rows or ()))

    def remember(self, import_id: int, kind: AccessKind, rows: Collection[Row]) -> None:
        """Replaces the rows that the import has added."""
        row = {"import_id": import_id, "kind": kind.name, "rows": sorted(map(list, rows), key=repr)}
        statement = insert(import_access).values(row)
        changed = statement.on_conflict_do_update(
            index_elements=["import_id", "kind"], set_={"rows": statement.excluded.rows}
        )
        self._connection.execute(changed)

    def stored(self, kind: AccessKind) -> dict[Row, Row]:
        """Returns the keys of all rows of a kind that are stored here, by the rows."""
        found = self._connection.execute(select(*kind.columns, *kind.key).where(kind.condition))
        width = len(kind.columns)
        return {tuple(row[:width]): tuple(row[width:]) for row in found}

    def delete(self, kind: AccessKind, keys: Collection[Row]) -> None:
        """Deletes rows by their keys."""
        some = list(keys)
        for start in range(0, len(some), _ROWS):
            chosen = tuple_(*kind.key).in_(some[start : start + _ROWS])
            self._connection.execute(delete(kind.table).where(kind.condition, chosen))

    def update_role(self, name: str, owner: str | None, create_time: int) -> None:
        """Changes the owner and the time of a role."""
        self._connection.execute(update(roles).where(roles.c.name == name).values(owner=owner, create_time=create_time))

    def used_roles(self, names: Collection[str]) -> set[str]:
        """Returns the roles among these that have members, are members, have privileges, or own something."""
        is_role = PrincipalType.ROLE
        uses = union_all(
            select(role_grants.c.role.label("role")),
            select(role_grants.c.principal).where(role_grants.c.principal_type == is_role),
            select(privileges.c.principal).where(privileges.c.principal_type == is_role),
            select(databases.c.owner).where(databases.c.owner_type == is_role),
            select(tables.c.owner).where(tables.c.owner_type == is_role),
        ).subquery()
        query = select(roles.c.name).where(roles.c.name.in_(names), exists().where(uses.c.role == roles.c.name))
        return set(self._connection.execute(query).scalars())
