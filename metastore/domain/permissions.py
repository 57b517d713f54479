"""Requirements that a caller must meet before a call runs. Operations declare them, `services.authorization` checks
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.privileges import CatalogName, Duty, Right, WholeMetastore


@dataclass(frozen=True, slots=True)
class RequiredPrivilege:
    """One of the rights `any_of` on an object. Without rights, the object must be visible.

    Attributes:
        new_owner: name and kind of the owner that the call sets. Only owners may change the owner.
        if_missing: if the object does not exist, one of these rights on its database is required instead.
        with_contents: rules must not deny these rights on an object inside either.
        new_table: the table that the call creates in the database: rules must not deny these rights on its name either.
        replacement: the struct that replaces the object. INSERT is enough if only a table's statistics differ. Fields
            that are unset, and that the caller may not change, are set to their stored values.
    """

    securable: TableName | DatabaseName | CatalogName | WholeMetastore
    any_of: tuple[Right, ...] = ()
    new_owner: tuple[str | None, int | None] | None = None
    if_missing: tuple[Right, ...] | None = None
    with_contents: bool = False
    new_table: str | None = None
    replacement: object = None


@dataclass(frozen=True, slots=True)
class Administrator:
    """Membership in METASTORE_ADMINS, or among the administrators with this duty."""

    duty: Duty | None = None


@dataclass(frozen=True, slots=True)
class LocationPrivilege:
    """The right to register these locations for a table, or for an object of the database if `table` is None.

    `own`: the location of a new table or database, which must not be the default one if another table has that; None if
    the call names none; empty if it creates neither.
    """

    database: DatabaseName
    table: TableName | None
    locations: tuple[str, ...]
    own: str | None = ""


@dataclass(frozen=True, slots=True)
class OwnLocks:
    """The caller acquired these locks. `renews`: and still has the rights to do so."""

    ids: tuple[int, ...]
    renews: bool = False


@dataclass(frozen=True, slots=True)
class OwnTransactions:
    """The caller opened these transactions. `renews`: and still has the rights to what they lock and write."""

    ids: tuple[int, ...]
    renews: bool = False


@dataclass(frozen=True, slots=True)
class WriteAccess:
    """The caller began the write with this query ID, and has one of these rights on its table.

    `ends`: the call ends the write. The user who began it may do so after losing the right, and so may the owner of the
    table.
    """

    query_id: str
    any_of: tuple[Right, ...]
    ends: bool = False


@dataclass(frozen=True, slots=True)
class DependentsPrivilege:
    """One of these rights on every table that depends on this one."""

    table: TableName
    any_of: tuple[Right, ...]


@dataclass(frozen=True, slots=True)
class DroppedIndexes:
    """Neither rules nor a policy engine withhold DROP on the tables that hold an index, or all indexes, of this table:
    they are dropped with it.
    """

    table: TableName
    index: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionPrivilege:
    """Ownership of a function, unless a rule denies these rights, or one of these rights on its database.

    `new_owner`: as in RequiredPrivilege; without a name, the owner does not change.
    """

    database: DatabaseName
    name: str
    any_of: tuple[Right, ...]
    new_owner: tuple[str | None, int | None] | None = None


@dataclass(frozen=True, slots=True)
class GrantOption:
    """The right to grant these privileges on an object to a principal (kind and name)."""

    securable: TableName | DatabaseName | WholeMetastore
    privileges: tuple[str, ...]
    principal: tuple[int | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class RoleAdministration:
    """The right to grant a role to others, and to revoke it. `principal`: kind and name of the grantee."""

    role: str
    principal: tuple[int | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Renaming:
    """The right to give a table this name. All denies of the old name must also apply to the new one, and no rule may
    deny CREATE there. If other rules apply to the new name, or a policy engine grants more there, the caller must own
    the table. If rules withhold a right on the table, it stays in its database: the owner of another would get all.
    """

    table: TableName
    new: TableName


@dataclass(frozen=True, slots=True)
class StatisticsColumns:
    """The caller may see the column. In the `colNames` of a `request`, a missing column replaces hidden ones."""

    table: TableName
    column: str | None = None
    request: object = None


@dataclass(frozen=True, slots=True)
class PrincipalAccess:
    """The caller is this principal or one of its members, or owns the object that the call asks about."""

    name: str | None
    kind: int | None
    groups: tuple[str, ...] = ()
    securable: TableName | DatabaseName | WholeMetastore | None = None


Requirement: TypeAlias = (
    RequiredPrivilege
    | Administrator
    | LocationPrivilege
    | OwnLocks
    | OwnTransactions
    | WriteAccess
    | DependentsPrivilege
    | DroppedIndexes
    | FunctionPrivilege
    | GrantOption
    | RoleAdministration
    | PrincipalAccess
    | Renaming
)


_WRITING: Final = (Right.INSERT, Right.UPDATE, Right.DELETE, Right.ALTER, Right.DROP)


def rights_to_lock(*, of_table: bool, reads: bool) -> tuple[Right, ...]:
    """Returns the rights that permit a lock on a table or database; one is enough. To read, visibility is enough.

    ALTER or DROP for other locks of a database, because they block all of its tables.
    """
    if reads:
        return ()
    return (*_WRITING, Right.CREATE) if of_table else (Right.ALTER, Right.DROP)
