"""What a call needs before it may happen, as the method table declares it. `services.authorization` decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.privileges import CatalogName, Everything, Right


@dataclass(frozen=True, slots=True)
class Need:
    """One of these rights on an object. None of them: it must be seen.

    `owner`: name and kind of who is to own it; that is for owners to say, unless it stays as it is.
    `if_missing`: the object may be missing; then it is a right on its database that is needed.
    `new`: the struct of what is to replace it; INSERT is enough for a table's statistics. What its sender leaves unset,
    and may not change, is set to what is there.
    """

    what: TableName | DatabaseName | CatalogName | Everything
    any_of: tuple[Right, ...] = ()
    owner: tuple[str | None, int | None] | None = None
    if_missing: tuple[Right, ...] | None = None
    new: object = None


@dataclass(frozen=True, slots=True)
class AdminNeed:
    """To be an administrator: whom METASTORE_ADMINS names."""

    what: str = "the metastore"


@dataclass(frozen=True, slots=True)
class PlaceNeed:
    """To register these locations for a table (None: for something of the database)."""

    database: DatabaseName
    table: TableName | None
    locations: tuple[str, ...]


class Held(StrEnum):
    """What belongs to who made it."""

    LOCK = "lock"
    TRANSACTION = "transaction"


@dataclass(frozen=True, slots=True)
class OwnNeed:
    """To be who made these locks or transactions."""

    kind: Held
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WriteNeed:
    """Rights on the table whose write this is."""

    query_id: str
    any_of: tuple[Right, ...]


@dataclass(frozen=True, slots=True)
class DependentsNeed:
    """Rights on all tables that depend on this one."""

    table: TableName
    any_of: tuple[Right, ...]


@dataclass(frozen=True, slots=True)
class FunctionNeed:
    """To own a function, or to have one of these rights on its database.

    `owner`: as of `Need`; who has no name stays as it is.
    """

    database: DatabaseName
    name: str
    any_of: tuple[Right, ...]
    owner: tuple[str | None, int | None] | None = None


@dataclass(frozen=True, slots=True)
class GrantNeed:
    """To be allowed to grant these privileges on an object."""

    what: TableName | DatabaseName | Everything
    privileges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoleNeed:
    """To be allowed to give a role to others, or to take it from them."""

    role: str


@dataclass(frozen=True, slots=True)
class PrincipalNeed:
    """To be a principal, one of its members, or an owner of the object that is asked about."""

    name: str | None
    kind: int | None
    groups: tuple[str, ...] = field(default=())
    what: TableName | DatabaseName | Everything | None = None


AnyNeed = (
    Need
    | AdminNeed
    | PlaceNeed
    | OwnNeed
    | WriteNeed
    | DependentsNeed
    | FunctionNeed
    | GrantNeed
    | RoleNeed
    | PrincipalNeed
)
Needs = Sequence[AnyNeed]
