"""Privileges: what a caller may do with an object, by grants and ownership (Hive's SQL standard authorization).

A caller's privileges are in CallerGrants (everything except tables) and Securable (one database or table).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from metastore.domain.name_rules import DENY, NameRule
from metastore.domain.names import TableName

ADMIN: Final = "admin"
PUBLIC: Final = "public"
WITH_OPTION: Final = "+"
"""Suffix of a stored privilege with the grant option."""
PART: Final = "."
"""Stands for a privilege on a partition or a column. It makes the table visible and allows nothing else."""


class PrincipalKind(IntEnum):
    """PrincipalType of hive_metastore.thrift."""

    USER = 1
    ROLE = 2
    GROUP = 3


class Right(StrEnum):
    """Rights that a method can require.

    OWNERSHIP is never granted: owners of the object and its database have it.
    """

    SELECT = "SELECT"
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CREATE = "CREATE"
    ALTER = "ALTER"
    DROP = "DROP"
    LOCATION = "LOCATION"
    OWNERSHIP = "OWNERSHIP"


class Duty(StrEnum):
    """Duties of administrators: SECURITY manages rights, DATA manages objects."""

    SECURITY = "security"
    DATA = "data"


_ALL: Final = frozenset(("ALL", "ALL PRIVILEGES"))
OWNER_RIGHTS: Final = frozenset(map(str, Right)) - {Right.LOCATION}
_INCLUDED_IN_ALL: Final = OWNER_RIGHTS - {Right.OWNERSHIP}
_NEVER_GRANTED: Final = frozenset((str(Right.OWNERSHIP),))
_INHERITED: Final = _INCLUDED_IN_ALL - {Right.CREATE}
GRANTED: Final = _INCLUDED_IN_ALL | {str(Right.LOCATION), "ALL"}
"""Privileges that can be granted."""
DENIABLE: Final = _INCLUDED_IN_ALL | {"ALL"}
"""Privileges that can be denied."""
NOTHING: Final[frozenset[str]] = frozenset()
ANY_LOCATION: Final = ""
"""Root of all locations, for grants of LOCATION."""


class CatalogName(NamedTuple):
    """The folded name of a catalog."""

    name: str

    def __str__(self) -> str:
        return self.name


class WholeMetastore(NamedTuple):
    """The whole metastore."""

    def __str__(self) -> str:
        return "the metastore"


WHOLE_METASTORE: Final = WholeMetastore()


class Admins(NamedTuple):
    """Administrators: users and groups of METASTORE_ADMINS."""

    users: frozenset[str]
    groups: frozenset[str]

    @classmethod
    def parsed(cls, text: str) -> Admins:
        """Parses names separated by commas. Groups start with @."""
        names = [part.strip() for part in text.split(",") if part.strip()]
        groups = frozenset(name[1:] for name in names if name.startswith("@"))
        return cls(frozenset(name for name in names if not name.startswith("@")), groups)

    def include(self, user: str | None, groups: Iterable[str]) -> bool:
        """Returns whether the user or one of the groups is an administrator."""
        return user in self.users or not self.groups.isdisjoint(groups)


class Administrators(NamedTuple):
    """Administrators by duty. Administrators of everything have both duties, and no rule applies to them."""

    of_everything: Admins
    of_security: Admins = Admins(frozenset(), frozenset())
    of_data: Admins = Admins(frozenset(), frozenset())

    def duties(self, user: str | None, groups: Collection[str]) -> frozenset[Duty]:
        """Returns the duties of a user."""
        by_duty = ((Duty.SECURITY, self.of_security), (Duty.DATA, self.of_data))
        return frozenset(duty for duty, admins in by_duty if admins.include(user, groups))


@dataclass(frozen=True, slots=True)
class CallerGrants:
    """Identity and privileges of a caller, except those on single tables.

    Privileges are upper-case texts; those with the grant option end with `WITH_OPTION`.

    Attributes:
        user: name of the user, or None for an anonymous client.
        groups: groups of the user.
        roles: roles of the user and its groups.
        is_admin: whether the caller is an administrator of everything, who needs no privileges. Rules do not apply.
        duties: the administrative duties of the caller.
        everywhere: privileges on the whole metastore.
        catalogs: privileges by catalog name.
        databases: privileges by database id.
        locations: locations below which the caller may register tables; `ANY_LOCATION` contains all.
        administered: roles that the caller may grant.
        rules: rules about names that apply to the caller.
        version: number of the stored state. It increases with every change.
        by_policy: a policy engine decides. `Securable.granted` then holds all rights on the object, and neither
            ownership nor the privileges on objects above it count.
    """

    user: str | None
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset((PUBLIC,))
    is_admin: bool = False
    duties: frozenset[Duty] = frozenset()
    everywhere: frozenset[str] = frozenset()
    catalogs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    databases: Mapping[int, frozenset[str]] = field(default_factory=dict)
    locations: frozenset[str] = frozenset()
    administered: frozenset[str] = frozenset()
    rules: tuple[NameRule, ...] = ()
    version: int = -1
    by_policy: bool = False

    @property
    def grantees(self) -> list[str]:
        """The principals whose privileges the caller has, as `kind:name`."""
        users = [f"{PrincipalKind.USER}:{self.user}"] if self.user else []
        groups = [f"{PrincipalKind.GROUP}:{group}" for group in sorted(self.groups)]
        return [*users, *groups, *(f"{PrincipalKind.ROLE}:{role}" for role in sorted(self.roles))]

    @property
    def sees_everything(self) -> bool:
        """True if every object is visible to the caller."""
        return self.is_admin or Duty.SECURITY in self.duties or (not self.rules and bool(inherited(self.everywhere)))

    def is_principal(self, kind: int | None, name: str | None) -> bool:
        """Returns whether a principal is the caller or one of its groups or roles. The default kind is a user."""
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
    """A database or table, its owners, and the privileges that the caller was granted on the table itself.

    `table_id` and `name` are None for a database. `within` is true for a database with an object on which the caller
    has a privilege.
    """

    catalog: str
    database: str
    database_id: int
    database_owner: str | None = None
    database_owner_kind: int | None = None
    table_id: int | None = None
    name: str | None = None
    owner: str | None = None
    owner_kind: int | None = None
    granted: Collection[str] = ()
    within: bool = False


def expanded(privileges: Iterable[str]) -> frozenset[str]:
    """Returns the rights of stored privileges. ALL means all of them; unknown privileges make the object visible.

    Nothing that a client stores gives the rights that are never granted.
    """
    names = {privilege.removesuffix(WITH_OPTION) for privilege in privileges}
    if names & _NEVER_GRANTED:
        names = names - _NEVER_GRANTED | {PART}
    return frozenset(names | _INCLUDED_IN_ALL) if names & _ALL else frozenset(names)


def inherited(privileges: Iterable[str]) -> frozenset[str]:
    """Returns the privileges that also apply to objects inside the object. CREATE does not."""
    return frozenset(privilege for privilege in privileges if privilege.removesuffix(WITH_OPTION) in _INHERITED | _ALL)


def grantable(privileges: Iterable[str]) -> frozenset[str]:
    """Returns the rights that have the grant option."""
    return expanded(privilege for privilege in privileges if privilege.endswith(WITH_OPTION))


def owns_database(grants: CallerGrants, securable: Securable) -> bool:
    """Returns whether the caller owns the database. A database of the role `public` has no owner (see `rights`)."""
    if grants.by_policy:
        return securable.table_id is None and Right.OWNERSHIP in securable.granted
    if _is_of_public(securable):
        return False
    return grants.is_principal(securable.database_owner_kind, securable.database_owner)


def _is_of_public(securable: Securable) -> bool:
    """Returns whether the database belongs to the role `public`."""
    return securable.database_owner_kind == PrincipalKind.ROLE and securable.database_owner == PUBLIC


def owns(grants: CallerGrants, securable: Securable) -> bool:
    """Returns whether the caller owns the object or its database."""
    if grants.by_policy:
        return Right.OWNERSHIP in securable.granted
    if securable.table_id is not None and grants.is_principal(securable.owner_kind, securable.owner):
        return True
    return owns_database(grants, securable)


def owns_all(grants: CallerGrants, securable: Securable) -> bool:
    """Returns whether the caller is an administrator or owns the object, so that nothing in it is hidden."""
    return Right.OWNERSHIP in rights(grants, securable)


def stored_privileges(grants: CallerGrants, securable: Securable) -> frozenset[str]:
    """Returns the privileges on the object, including those inherited from its database, catalog and the metastore."""
    above = inherited(grants.everywhere | grants.catalogs.get(securable.catalog, NOTHING))
    by_rule = {rule.privilege for rule in _rules_on(grants, securable) if not rule.is_deny}
    of_database = grants.databases.get(securable.database_id, NOTHING)
    if securable.table_id is None:
        return above | of_database | by_rule
    return above | inherited(of_database) | by_rule | frozenset(securable.granted)


def denied_rights(grants: CallerGrants, securable: Securable) -> frozenset[str]:
    """Returns the rights on the whole object that rules deny: "ALL" for all of them."""
    return frozenset(rule.privilege.removeprefix(DENY) for rule in _rules_on(grants, securable) if rule.is_deny)


def withheld_rights(grants: CallerGrants, securable: Securable, *, of_everybody: bool = False) -> frozenset[str]:
    """Returns the rights that rules deny to the caller (not to everybody) on the object, or in it."""
    names = (securable.catalog, securable.database, securable.name)
    denies = (rule for rule in grants.rules if rule.is_deny and (of_everybody or not rule.is_public))
    return expanded(rule.privilege.removeprefix(DENY) for rule in denies if rule.pattern.touches(*names))


def _rules_on(grants: CallerGrants, securable: Securable) -> Iterator[NameRule]:
    """Yields the rules that apply to the whole object."""
    for rule in grants.rules:
        if rule.pattern.matches(securable.catalog, securable.database, securable.name):
            yield rule


def rights(grants: CallerGrants, securable: Securable) -> frozenset[str]:
    """Returns the rights of the caller on the object. Without rights, the object is hidden (see `sees`)."""
    if grants.is_admin:
        return OWNER_RIGHTS
    if grants.by_policy:
        return OWNER_RIGHTS if Right.OWNERSHIP in securable.granted else expanded(securable.granted)
    held = OWNER_RIGHTS if owns(grants, securable) else expanded(stored_privileges(grants, securable))
    if securable.table_id is None and _is_of_public(securable):
        held |= {Right.CREATE}  # as in Hive, where every user may create tables in `default`
    denied = denied_rights(grants, securable) if grants.rules else NOTHING
    if not denied:
        return held
    if not denied.isdisjoint(_ALL):
        return NOTHING
    if Right.SELECT in denied:
        held -= {PART}
    return held - denied


def sees(grants: CallerGrants, securable: Securable) -> bool:
    """Returns whether the object is visible to the caller."""
    if securable.within or Duty.SECURITY in grants.duties:
        return Duty.SECURITY in grants.duties or denied_rights(grants, securable).isdisjoint(_ALL)
    return bool(rights(grants, securable))


def sees_all_of(grants: CallerGrants, database: Securable) -> bool:
    """Returns whether the caller sees all tables of a database, including future ones."""
    if grants.is_admin:
        return True
    if grants.by_policy or grants.rules:
        return False
    return owns_database(grants, database) or bool(inherited(stored_privileges(grants, database)))


def may_grant(grants: CallerGrants, securable: Securable | None, privileges: Iterable[str]) -> bool:
    """Returns whether the caller may grant the privileges on the object.

    Only administrators may grant privileges on the whole metastore (None), and write rules.
    """
    if grants.is_admin:
        return True
    if grants.by_policy:
        return False
    wanted = expanded(privilege.upper() for privilege in privileges)
    if securable is None or wanted & (denied_rights(grants, securable) | withheld_rights(grants, securable)):
        return False
    return owns(grants, securable) or wanted <= grantable(stored_privileges(grants, securable))


def rights_on_catalog(grants: CallerGrants, catalog: str) -> frozenset[str]:
    """Returns the rights of the caller on a catalog."""
    if grants.is_admin:
        return OWNER_RIGHTS
    return expanded([*grants.everywhere, *grants.catalogs.get(catalog, NOTHING)])


def rights_on_everything(grants: CallerGrants) -> frozenset[str]:
    """Returns the rights of the caller on the whole metastore."""
    return OWNER_RIGHTS if grants.is_admin else expanded(grants.everywhere)


def denied(user: str | None, right: str, target: object) -> str:
    """Returns Hive's message for a missing privilege. Tables are formatted as database/table."""
    name = f"{target.database}/{target.name}" if isinstance(target, TableName) else str(target)
    return f"Permission denied: user [{user or 'anonymous'}] does not have [{right}] privilege on [{name}]"
