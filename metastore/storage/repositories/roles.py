"""Roles and their members. Names keep their case: clients fold it, Hive's metastore does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, delete, insert, literal, or_, select, text, update

from metastore.domain.privileges import PUBLIC
from metastore.storage.mapping.privileges import role_grant_row
from metastore.storage.postgres.arrays import is_text_among
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.access import role_grants, roles
from thrift_idl.gen.hive_metastore.ttypes import PrincipalType, Role, RolePrincipalGrant


class Roles(Repository):
    """Queries on roles. `kind`: a PrincipalType."""

    def insert(self, role: Role) -> None:
        """Adds a role. Raises AlreadyExistsError."""
        row = {"name": role.roleName, "owner": role.ownerName, "create_time": role.createTime}
        self._connection.execute(insert(roles).values(row))

    def delete(self, name: str) -> None:
        """Deletes a role, its members, and its memberships."""
        self._connection.execute(delete(role_grants).where(_to(name, PrincipalType.ROLE)))
        self._connection.execute(delete(roles).where(roles.c.name == name))

    def names(self) -> list[str]:
        """Lists names, ascending."""
        return list(self._connection.execute(select(roles.c.name).order_by(roles.c.name)).scalars())

    def exist(self, names: Sequence[str]) -> set[str]:
        """Returns the existing roles among these."""
        query = select(roles.c.name).where(is_text_among(roles.c.name, names))
        return set(self._connection.execute(query).scalars())

    def of_principal(self, principal: str, kind: int) -> list[Role]:
        """Returns the roles granted to the principal directly."""
        query = select(roles).join(role_grants, role_grants.c.role == roles.c.name).where(_to(principal, kind))
        rows = self._connection.execute(query.order_by(roles.c.name))
        return [Role(row.name, row.create_time, row.owner) for row in rows]

    def grants_to(self, principal: str, kind: int) -> list[RolePrincipalGrant]:
        """Returns the grants of `of_principal`'s roles."""
        return self._grants(select(role_grants).where(_to(principal, kind)))

    def members(self, role: str) -> list[RolePrincipalGrant]:
        return self._grants(select(role_grants).where(role_grants.c.role == role))

    def grant(self, grant: RolePrincipalGrant) -> None:
        """Adds a member. Raises AlreadyExistsError; NotFoundError for the role."""
        self._connection.execute(insert(role_grants).values(role_grant_row(grant)))

    def revoke(self, role: str, principal: str, kind: int) -> None:
        self._connection.execute(delete(role_grants).where(role_grants.c.role == role, _to(principal, kind)))

    def revoke_option(self, role: str, principal: str, kind: int) -> bool:
        """Removes the right to grant the role; False if the principal did not have it."""
        membership = (role_grants.c.role == role, _to(principal, kind), role_grants.c.grant_option)
        statement = update(role_grants).where(*membership).values(grant_option=False).returning(role_grants.c.role)
        return self._connection.execute(statement).first() is not None

    def lock_hierarchy(self) -> None:
        """Locks all memberships against changes by other transactions, until the end of this one."""
        self._connection.execute(text("LOCK TABLE role_grants IN SHARE ROW EXCLUSIVE MODE"))

    def is_above(self, role: str, other: str) -> bool:
        """Returns whether members of `other` have `role` through it. A role is above itself."""
        above = select(literal(other).collate("C").label("role")).cte("above", recursive=True)
        above = above.union(_parents(above))
        return self._connection.execute(select(above.c.role).where(above.c.role == role)).first() is not None

    def all_of(self, user: str | None, groups: Sequence[str]) -> list[str]:
        """Returns the roles of a user and of groups, including inherited ones, ascending. Every user has `public`."""
        is_group = role_grants.c.principal_type == PrincipalType.GROUP
        to_groups = is_group & is_text_among(role_grants.c.principal, groups)
        granted = or_(_to(user, PrincipalType.USER), to_groups)
        inherited = select(role_grants.c.role).where(granted).cte("inherited", recursive=True)
        inherited = inherited.union(_parents(inherited))
        granted_roles = list(self._connection.execute(select(inherited.c.role).order_by(inherited.c.role)).scalars())
        return granted_roles if user is None else [*granted_roles, PUBLIC]

    def _grants(self, query: Select[Any]) -> list[RolePrincipalGrant]:
        rows = self._connection.execute(query.order_by(role_grants.c.role, role_grants.c.principal))
        return [
            RolePrincipalGrant(
                roleName=row.role,
                principalName=row.principal,
                principalType=row.principal_type,
                grantOption=row.grant_option,
                grantTime=row.grant_time,
                grantorName=row.grantor,
                grantorPrincipalType=row.grantor_type,
            )
            for row in rows
        ]


def _to(principal: str | None, kind: int) -> Any:
    return (role_grants.c.principal_type == kind) & (role_grants.c.principal == principal)


def _parents(members: Any) -> Any:
    """Returns the query for the roles that are granted to the roles of a recursive query."""
    granted = role_grants.c.principal == members.c.role
    return select(role_grants.c.role).where(role_grants.c.principal_type == PrincipalType.ROLE, granted)
