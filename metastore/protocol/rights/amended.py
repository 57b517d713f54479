"""What of a call's arguments is not its caller's to choose: who owns what is new, who grants, who holds a lock.

Administrators may say another's name: HiveServer2 and its like speak for others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metastore.domain.privileges import CallerGrants, PrincipalKind
from metastore.protocol.rights.named import Given
from metastore.protocol.rights.rule import Amend


def owned_by_caller(struct_of: Callable[[Given], Any], owner: str, kind: str | None = None) -> Amend:
    """Gives what is new to the caller, unless one of the caller's groups or roles is to own it."""

    def amend(standing: CallerGrants, given: Given) -> None:
        struct = struct_of(given)
        if struct is None:
            return
        named = getattr(struct, owner)
        its_kind = getattr(struct, kind) if kind else None
        if (standing.is_admin and named) or (named and standing.is_principal(its_kind, named)):
            return
        setattr(struct, owner, standing.user)
        if kind:
            setattr(struct, kind, int(PrincipalKind.USER))

    return amend


def held_by_caller(struct_of: Callable[[Given], Any]) -> Amend:
    """Writes the caller's name to what is kept until it is given back."""

    def amend(standing: CallerGrants, given: Given) -> None:
        struct = struct_of(given)
        if struct is not None and not (standing.is_admin and struct.user):
            struct.user = standing.user or ""

    return amend


def asked_by_caller(struct_of: Callable[[Given], Any], user: str, groups: str) -> Amend:
    """Asks for the caller's own privileges: whoever calls another's name, sees what the caller may do."""

    def amend(standing: CallerGrants, given: Given) -> None:
        struct = struct_of(given)
        if struct is None or standing.is_admin:
            return
        if getattr(struct, user) is not None:
            setattr(struct, user, standing.user)
        own = [
            group for group in getattr(struct, groups) or () if standing.is_principal(int(PrincipalKind.GROUP), group)
        ]
        setattr(struct, groups, own or None)

    return amend


def granted_by_caller(bag_of: Callable[[Given], Any]) -> Amend:
    """Writes down who really grants."""

    def amend(standing: CallerGrants, given: Given) -> None:
        bag = bag_of(given)
        for privilege in (bag.privileges if bag else None) or ():
            _grants(standing, privilege.grantInfo if privilege is not None else None)

    return amend


def granted_with(table_of: Callable[[Given], Any]) -> Amend:
    """Writes down the same of what a new table brings along."""

    def amend(standing: CallerGrants, given: Given) -> None:
        table = table_of(given)
        brought = table.privileges if table is not None else None
        for kind in ("userPrivileges", "groupPrivileges", "rolePrivileges") if brought is not None else ():
            for infos in (getattr(brought, kind) or {}).values():
                for info in infos or ():
                    _grants(standing, info)

    return amend


def _grants(standing: CallerGrants, info: Any) -> None:
    if info is not None and not (standing.is_admin and info.grantor):
        info.grantor, info.grantorType = standing.user, int(PrincipalKind.USER)


def named_tables(projection_of: Callable[[Given], Any]) -> Amend:
    """Asks for the names of tables, too, where parts of them are wanted: by these it is decided who sees them."""

    def amend(_: CallerGrants, given: Given) -> None:
        projection = projection_of(given)
        if projection is not None and projection.fieldList:
            projection.fieldList = [*projection.fieldList, "catName", "dbName", "tableName"]

    return amend


def together(*amends: Amend) -> Amend:
    """Does one after the other."""

    def amend(standing: CallerGrants, given: Given) -> None:
        for each in amends:
            each(standing, given)

    return amend
