"""Who may do what: decided by what was granted and by who owns, SQL-standard as Hive names it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from metastore.domain.names import TableName

ADMIN: Final = "admin"
PUBLIC: Final = "public"
WITH_OPTION: Final = "+"
"""Ends a privilege that may be granted on."""
PART: Final = "."
"""Stands for a privilege on a column or partition: its table is seen, and nothing more."""


class PrincipalKind(IntEnum):
    """As Hive's PrincipalType."""

    USER = 1
    ROLE = 2
    GROUP = 3


class Right(StrEnum):
    """What a method may ask for. OWNERSHIP is never granted: owners have it, and owners of the database."""

    SELECT = "SELECT"
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CREATE = "CREATE"
    ALTER = "ALTER"
    DROP = "DROP"
    LOCATION = "LOCATION"
    OWNERSHIP = "OWNERSHIP"


_ALL: Final = frozenset(("ALL", "ALL PRIVILEGES"))
_OWNED: Final = frozenset(map(str, Right)) - {Right.LOCATION}
_MEANT_BY_ALL: Final = _OWNED - {Right.OWNERSHIP}
_INHERITED: Final = _MEANT_BY_ALL - {Right.CREATE}
GRANTED: Final = _MEANT_BY_ALL | {str(Right.LOCATION), "ALL"}
"""What is granted by name."""
NOTHING: Final[frozenset[str]] = frozenset()
ANY_LOCATION: Final = ""
"""The place below which all places are."""


class CatalogName(NamedTuple):
    """Names a catalog, folded."""

    name: str

    def __str__(self) -> str:
        return self.name


class Everything(NamedTuple):
    """The whole metastore."""

    def __str__(self) -> str:
        return "the metastore"


EVERYTHING: Final = Everything()


class Admins(NamedTuple):
    """Whom METASTORE_ADMINS names: users, and groups with @ before them."""

    users: frozenset[str]
    groups: frozenset[str]

    @classmethod
    def parsed(cls, text: str) -> Admins:
        names = [part.strip() for part in text.split(",") if part.strip()]
        groups = frozenset(name[1:] for name in names if name.startswith("@"))
        return cls(frozenset(name for name in names if not name.startswith("@")), groups)

    def include(self, user: str | None, groups: Iterable[str]) -> bool:
        return user in self.users or not self.groups.isdisjoint(groups)


@dataclass(frozen=True, slots=True)
class CallerGrants:
    """What a caller has that does not depend on one table: of `version`, which rises with each change of it.

    Privileges are in capitals, with `WITH_OPTION` where they may be granted on; databases by their ids.
    """

    user: str | None
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset((PUBLIC,))
    is_admin: bool = False
    everywhere: frozenset[str] = frozenset()
    catalogs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    databases: Mapping[int, frozenset[str]] = field(default_factory=dict)
    places: frozenset[str] = frozenset()  # below which locations may be registered; ANY_LOCATION is above all
    administered: frozenset[str] = frozenset()  # roles that may be granted on
    version: int = -1

    @property
    def grantees(self) -> list[str]:
        """Lists the principals whose privileges are the caller's, as `kind:name`."""
        users = [f"{PrincipalKind.USER}:{self.user}"] if self.user else []
        groups = [f"{PrincipalKind.GROUP}:{group}" for group in sorted(self.groups)]
        return [*users, *groups, *(f"{PrincipalKind.ROLE}:{role}" for role in sorted(self.roles))]

    @property
    def sees_everything(self) -> bool:
        return self.is_admin or bool(inherited(self.everywhere))

    def is_principal(self, kind: int | None, name: str | None) -> bool:
        """Tells whether a principal (no kind: a user) is the caller, or one of the caller's groups or roles."""
        if not name:
            return False
        match kind or PrincipalKind.USER:
            case PrincipalKind.USER:
                return name == self.user
            case PrincipalKind.GROUP:
                return name in self.groups
            case _:
                return name in self.roles


class Securable(NamedTuple):
    """A database or table that was looked up, and what the caller was granted on the table itself."""

    catalog: str
    database_id: int
    database_owner: str | None = None
    database_owner_kind: int | None = None
    table_id: int | None = None
    owner: str | None = None
    owner_kind: int | None = None
    granted: Collection[str] = ()
    within: bool = False  # of a database: something in it may be seen


def expanded(privileges: Iterable[str]) -> frozenset[str]:
    """Returns rights, of privileges as they are stored: ALL is all of them, an unknown one makes an object seen."""
    given = {privilege.removesuffix(WITH_OPTION) for privilege in privileges}
    return frozenset(given | _MEANT_BY_ALL) if given & _ALL else frozenset(given)


def inherited(privileges: Iterable[str]) -> frozenset[str]:
    """Returns the privileges that hold for what lies in their object, too: not CREATE, which is about that alone."""
    return frozenset(privilege for privilege in privileges if privilege.removesuffix(WITH_OPTION) in _INHERITED | _ALL)


def grantable(privileges: Iterable[str]) -> frozenset[str]:
    """Returns the rights among them that may be granted on."""
    return expanded(privilege for privilege in privileges if privilege.endswith(WITH_OPTION))


def owns_database(standing: CallerGrants, found: Securable) -> bool:
    """Tells whether the caller owns the database. What `public` owns is nobody's: see `rights`."""
    is_everybodys = found.database_owner_kind == PrincipalKind.ROLE and found.database_owner == PUBLIC
    return not is_everybodys and standing.is_principal(found.database_owner_kind, found.database_owner)


def owns(standing: CallerGrants, found: Securable) -> bool:
    """Tells whether the caller owns the object, or the database that it is in."""
    if found.table_id is not None and standing.is_principal(found.owner_kind, found.owner):
        return True
    return owns_database(standing, found)


def owns_all(standing: CallerGrants, found: Securable) -> bool:
    """Tells whether nothing of the object is a secret to the caller."""
    return standing.is_admin or owns(standing, found)


def stored_privileges(standing: CallerGrants, found: Securable) -> frozenset[str]:
    """Returns the privileges on the object, and those that it has from what it lies in."""
    above = inherited(standing.everywhere | standing.catalogs.get(found.catalog, NOTHING))
    of_database = standing.databases.get(found.database_id, NOTHING)
    if found.table_id is None:
        return above | of_database
    return above | inherited(of_database) | frozenset(found.granted)


def rights(standing: CallerGrants, found: Securable) -> frozenset[str]:
    """Returns what the caller may do with the object. Empty: it is hidden, unless something in it is seen."""
    if standing.is_admin or owns(standing, found):
        return _OWNED
    held = expanded(stored_privileges(standing, found))
    if found.table_id is None and found.database_owner_kind == PrincipalKind.ROLE and found.database_owner == PUBLIC:
        return held | {Right.CREATE}  # as in Hive, where everybody makes tables in `default`
    return held


def sees(standing: CallerGrants, found: Securable) -> bool:
    """Tells whether the object is there for the caller."""
    return found.within or bool(rights(standing, found))


def sees_all_of(standing: CallerGrants, database: Securable) -> bool:
    """Tells whether the caller sees all tables of a database, those to come included."""
    held = inherited(stored_privileges(standing, database))
    return standing.is_admin or owns_database(standing, database) or bool(held)


def may_grant(standing: CallerGrants, found: Securable | None, privileges: Iterable[str]) -> bool:
    """Tells whether the caller may grant these on the object. On the whole metastore (None), admins do."""
    if standing.is_admin:
        return True
    wanted = expanded(privilege.upper() for privilege in privileges)
    return found is not None and (owns(standing, found) or wanted <= grantable(stored_privileges(standing, found)))


def rights_on_catalog(standing: CallerGrants, catalog: str) -> frozenset[str]:
    """Returns what the caller may do with a catalog itself."""
    if standing.is_admin:
        return _OWNED
    return expanded([*standing.everywhere, *standing.catalogs.get(catalog, NOTHING)])


def rights_on_everything(standing: CallerGrants) -> frozenset[str]:
    """Returns what the caller may do with the whole metastore."""
    return _OWNED if standing.is_admin else expanded(standing.everywhere)


def denied(user: str | None, right: str, what: object) -> str:
    """Returns a refusal in Hive's words. `what`: a table is written database/table."""
    name = f"{what.database}/{what.name}" if isinstance(what, TableName) else str(what)
    return f"Permission denied: user [{user or 'anonymous'}] does not have [{right}] privilege on [{name}]"
