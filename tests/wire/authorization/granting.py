"""GRANT and REVOKE requests, as clients send them."""

from __future__ import annotations

from typing import Any

from thrift_idl.gen.hive_metastore.ttypes import (
    GrantRevokePrivilegeRequest,
    GrantRevokeType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
)

USER, ROLE, GROUP = PrincipalType.USER, PrincipalType.ROLE, PrincipalType.GROUP


def on_table(database: str, table: str) -> HiveObjectRef:
    return HiveObjectRef(HiveObjectType.TABLE, database, table)


def on_column(database: str, table: str, column: str) -> HiveObjectRef:
    return HiveObjectRef(HiveObjectType.COLUMN, database, table, columnName=column)


def on_database(database: str) -> HiveObjectRef:
    return HiveObjectRef(HiveObjectType.DATABASE, database)


def everywhere(scope: str | None = None) -> HiveObjectRef:
    return HiveObjectRef(HiveObjectType.GLOBAL, objectName=scope)


def bag(ref: HiveObjectRef, privilege: str, principal: str, kind: int = USER, *, option: bool = False) -> PrivilegeBag:
    info = PrivilegeGrantInfo(privilege, 0, "somebody", USER, option)
    return PrivilegeBag([HiveObjectPrivilege(ref, principal, kind, info, "SQL")])


def grant(client: Any, *privilege: Any, option: bool = False) -> None:
    request = GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, bag(*privilege, option=option))
    assert client.grant_revoke_privileges(request).success


def revoke(client: Any, *privilege: Any) -> None:
    request = GrantRevokePrivilegeRequest(GrantRevokeType.REVOKE, bag(*privilege))
    assert client.grant_revoke_privileges(request).success
