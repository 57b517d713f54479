"""`metastore rights`: grants, revokes and lists privileges, including those on locations, catalogs and everything,
which have no syntax in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metastore.cli.client import connected
from metastore.cli.names import split_object
from metastore.cli.printing import print_table
from metastore.domain.name_rules import DENY, WILDCARD, is_pattern, parse_stored, stored_scope
from metastore.domain.names import DEFAULT_CATALOG, fold
from metastore.domain.privileges import DENIABLE, GRANTED, PrincipalKind
from metastore.errors import InvalidInputError
from thrift_idl.gen.hive_metastore.ttypes import (
    GetCatalogRequest,
    GrantRevokePrivilegeRequest,
    GrantRevokeType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PrivilegeBag,
    PrivilegeGrantInfo,
)

_HEADER: Final = ("principal", "privilege", "object", "grant option", "grantor")
_CATALOG: Final = "catalog:"
_ROLE: Final = "role:"
_OF_COLUMN: Final = 2  # dots in the name of a column


def change(uri: str, right: str, on: str, principal: str, *, option: bool = False, revoked: bool = False) -> str:
    """Grants a privilege, or revokes it if `revoked`. Returns a confirmation.

    `right`: the name of the privilege. `on`: the object, as in the help of `metastore rights`. `option`: with grant
    option. Raises InvalidInputError, and NotFoundError for an unknown catalog.
    """
    if right.upper() not in GRANTED:
        raise InvalidInputError(f"{right!r} is not a privilege. Use one of {', '.join(sorted(GRANTED))}.")
    return _send(uri, right.upper(), on, _object(on), principal, option=option, revoked=revoked)


def deny(uri: str, right: str, on: str, principal: str, *, revoked: bool = False) -> str:
    """Denies a privilege, or ends the deny if `revoked`. Returns a confirmation. Arguments and errors as for
    `change`."""
    if right.upper() not in DENIABLE:
        raise InvalidInputError(f"{right!r} cannot be denied. Use one of {', '.join(sorted(DENIABLE))}.")
    pattern = HiveObjectRef(HiveObjectType.GLOBAL, objectName=_pattern(on))
    return _send(uri, f"{DENY}{right.upper()}", on, pattern, principal, revoked=revoked)


def _send(
    uri: str, right: str, on: str, ref: HiveObjectRef, principal: str, *, option: bool = False, revoked: bool = False
) -> str:
    kind, name = _principal(principal)
    info = PrivilegeGrantInfo(right, 0, "", PrincipalKind.USER, option)  # the server sets the grantor
    bag = PrivilegeBag([HiveObjectPrivilege(ref, name, kind, info, "SQL")])
    with connected(uri) as client:
        if on.startswith(_CATALOG):
            client.get_catalog(GetCatalogRequest(ref.objectName))
        request = GrantRevokeType.REVOKE if revoked else GrantRevokeType.GRANT
        client.grant_revoke_privileges(GrantRevokePrivilegeRequest(request, bag))
        left = _grantors(client.list_privileges(name, kind, ref), ref, right) if revoked else ""
    if right.startswith(DENY):
        right = right.removeprefix(DENY)
        return f"{right} on {on} {'no longer denied' if revoked else 'denied'} to {principal}."
    also = f" {principal} still has it: {left} granted it, too." if left else ""
    return f"{right} on {on} {'revoked from' if revoked else 'granted to'} {principal}.{also}"


def _grantors(privileges: Iterable[HiveObjectPrivilege], ref: HiveObjectRef, right: str) -> str:
    """Returns those who have granted a privilege on an object, as a text."""
    same = [
        each for each in privileges if (each.grantInfo.privilege, each.hiveObject.objectName) == (right, ref.objectName)
    ]
    return ", ".join(sorted({each.grantInfo.grantor or "" for each in same}))


def show(uri: str, on: str | None, principal: str | None) -> None:
    """Prints the privileges on an object, of a principal, or both. Raises InvalidInputError."""
    kind, name = _principal(principal) if principal else (None, None)
    ref = _object(on) if on else HiveObjectRef()
    with connected(uri) as client:
        privileges = client.list_privileges(name, kind, ref)
        # For a location, a catalog or a pattern, the server returns the privileges on all of them.
        matches = [each for each in privileges if on is None or each.hiveObject.objectName == ref.objectName]
        if ref.dbName:
            rules = client.list_privileges(name, kind, HiveObjectRef(HiveObjectType.GLOBAL))
            matches += [each for each in rules if _applies(each.hiveObject.objectName, ref)]
    print_table("Privileges", _HEADER, sorted(map(_row, matches)))


def _object(text: str) -> HiveObjectRef:
    if text == "*":
        return HiveObjectRef(HiveObjectType.GLOBAL)
    if text.startswith(_CATALOG) or "/" in text:
        return HiveObjectRef(HiveObjectType.GLOBAL, objectName=text.removeprefix(_CATALOG))
    if WILDCARD in text:
        return HiveObjectRef(HiveObjectType.GLOBAL, objectName=_pattern(text))
    if text.count(".") == _OF_COLUMN:
        database, table, column = text.split(".")
        split_object(f"{database}.{table}")
        return HiveObjectRef(HiveObjectType.COLUMN, database, table, columnName=column)
    database, table = split_object(text)
    return HiveObjectRef(HiveObjectType.TABLE if table else HiveObjectType.DATABASE, database, table or None)


def _pattern(text: str) -> str:
    """Returns the pattern of a rule. DATABASE means the database with everything in it, `*` means everything."""
    if text.startswith(_CATALOG):
        return f"@{text.removeprefix(_CATALOG)}#*.*"
    name = {"*": "@*#*.*"}.get(text, text if "." in text else f"{text}.*")
    return stored_scope(*parse_stored(name))


def _applies(scope: str | None, ref: HiveObjectRef) -> bool:
    """Returns whether a global privilege is a rule that applies to a database or table."""
    if not scope or not is_pattern(scope):
        return False
    return parse_stored(scope)[0].matches(DEFAULT_CATALOG, fold(ref.dbName), fold(ref.objectName) or None)


def _principal(text: str) -> tuple[int, str]:
    kinds = {_ROLE: PrincipalKind.ROLE, "@": PrincipalKind.GROUP, "": PrincipalKind.USER}
    mark, kind = next((mark, kind) for mark, kind in kinds.items() if text.startswith(mark))
    if text == mark or not text.isprintable():
        raise InvalidInputError(f"{text!r} is not a principal. Write USER, @GROUP or {_ROLE}ROLE.")
    return kind, text.removeprefix(mark)


def _row(privilege: HiveObjectPrivilege) -> tuple[str, ...]:
    ref, info = privilege.hiveObject, privilege.grantInfo
    mark = {int(PrincipalKind.ROLE): _ROLE, int(PrincipalKind.GROUP): "@"}.get(privilege.principalType, "")
    names = (ref.dbName, ref.objectName, ref.columnName)
    on = ".".join(name for name in names if name) or "*"
    return mark + privilege.principalName, info.privilege, on, "yes" if info.grantOption else "", info.grantor or ""
