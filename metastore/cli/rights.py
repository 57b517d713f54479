"""`metastore rights`: who may do what, also on what SQL has no name for: places, catalogs and everything."""

from __future__ import annotations

from typing import Final

from metastore.cli.client import connected
from metastore.cli.names import split_object
from metastore.cli.printing import print_table
from metastore.domain.privileges import GRANTED, PrincipalKind
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

_HEADER: Final = ("principal", "privilege", "object", "may grant it", "granted by")
_CATALOG: Final = "catalog:"
_ROLE: Final = "role:"


def change(uri: str, right: str, on: str, principal: str, *, option: bool = False, revoked: bool = False) -> str:
    """Grants or revokes a right; says what was done. `option`: they may grant it on. Raises InvalidInputError,
    NotFoundError of a catalog."""
    if right.upper() not in GRANTED:
        raise InvalidInputError(f"{right!r} is no right: write one of {', '.join(sorted(GRANTED))}")
    ref, (kind, name) = _object(on), _principal(principal)
    info = PrivilegeGrantInfo(right.upper(), 0, "", PrincipalKind.USER, option)  # the server knows who grants
    bag = PrivilegeBag([HiveObjectPrivilege(ref, name, kind, info, "SQL")])
    with connected(uri) as client:
        if on.startswith(_CATALOG):
            client.get_catalog(GetCatalogRequest(ref.objectName))
        request = GrantRevokeType.REVOKE if revoked else GrantRevokeType.GRANT
        client.grant_revoke_privileges(GrantRevokePrivilegeRequest(request, bag))
    return f"{right.upper()} on {on} is {'revoked from' if revoked else 'granted to'} {principal}"


def show(uri: str, on: str | None, principal: str | None) -> None:
    """Prints who has what on an object, or what somebody has, or both. Raises InvalidInputError."""
    kind, name = _principal(principal) if principal else (None, None)
    ref = _object(on) if on else HiveObjectRef()
    with connected(uri) as client:
        found = client.list_privileges(name, kind, ref)  # of places and catalogs, it answers with all
    there = [row for row in found if on is None or row.hiveObject.objectName == ref.objectName]
    print_table("Rights", _HEADER, sorted(map(_row, there)))


def _object(text: str) -> HiveObjectRef:
    if text == "*":
        return HiveObjectRef(HiveObjectType.GLOBAL)
    if text.startswith(_CATALOG) or "/" in text:
        return HiveObjectRef(HiveObjectType.GLOBAL, objectName=text.removeprefix(_CATALOG))
    database, table = split_object(text)
    return HiveObjectRef(HiveObjectType.TABLE if table else HiveObjectType.DATABASE, database, table or None)


def _principal(text: str) -> tuple[int, str]:
    kinds = {_ROLE: PrincipalKind.ROLE, "@": PrincipalKind.GROUP, "": PrincipalKind.USER}
    mark, kind = next((mark, kind) for mark, kind in kinds.items() if text.startswith(mark))
    if text == mark or not text.isprintable():
        raise InvalidInputError(f"{text!r} names nobody: write USER, @GROUP or {_ROLE}ROLE")
    return kind, text.removeprefix(mark)


def _row(found: HiveObjectPrivilege) -> tuple[str, ...]:
    ref, info = found.hiveObject, found.grantInfo
    mark = {int(PrincipalKind.ROLE): _ROLE, int(PrincipalKind.GROUP): "@"}.get(found.principalType, "")
    names = (ref.dbName, ref.objectName, ref.columnName)
    on = ".".join(name for name in names if name) or "*"
    return mark + found.principalName, info.privilege, on, "yes" if info.grantOption else "", info.grantor or ""
