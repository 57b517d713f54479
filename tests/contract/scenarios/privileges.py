"""Roles, grants of roles, privileges on databases, tables, columns and partitions."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    GetPrincipalsInRoleRequest,
    GetRoleGrantsForPrincipalRequest,
    GetRoleGrantsForPrincipalResponse,
    GrantRevokePrivilegeRequest,
    GrantRevokeRoleRequest,
    GrantRevokeType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PrincipalPrivilegeSet,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
    Role,
    RolePrincipalGrant,
)

USER, ROLE = PrincipalType.USER, PrincipalType.ROLE


def grant(ref: HiveObjectRef, privilege: str = "SELECT", to: str = "anna", kind: int = USER) -> HiveObjectPrivilege:
    return HiveObjectPrivilege(ref, to, kind, PrivilegeGrantInfo(privilege, 0, "root", USER, True))


def on_table(db: str, name: str = "t", **fields: Any) -> HiveObjectRef:
    return HiveObjectRef(**{"objectType": HiveObjectType.TABLE, "dbName": db, "objectName": name} | fields)


def by_privilege(actual: list[HiveObjectPrivilege]) -> list[HiveObjectPrivilege]:
    return sorted(actual, key=lambda each: (repr(each.hiveObject), each.principalName, each.grantInfo.privilege))


def by_role(answer: GetRoleGrantsForPrincipalResponse) -> list[RolePrincipalGrant]:
    return sorted(answer.principalGrants, key=lambda each: each.roleName)


def by_right(answer: PrincipalPrivilegeSet) -> PrincipalPrivilegeSet:
    """The lists in it have no order."""
    for grants in (answer.userPrivileges, answer.rolePrivileges):
        for rights in (grants or {}).values():
            rights.sort(key=lambda each: each.privilege)
    return answer


@scenario
def roles_are_made_and_granted(hive: Recorder, db: str) -> None:
    hive.at("at first", show=sorted).get_role_names()
    for name in ("Chief", "clerk", "chief", "a b", "", "admin"):
        hive.at(f"{name!r}").create_role(Role(roleName=name, ownerName="root"))
    hive.at("some", show=sorted).get_role_names()
    hive.grant_role("clerk", "anna", USER, "root", USER, True)
    hive.at("again").grant_role("clerk", "anna", USER, "root", USER, True)
    hive.at("to a role").grant_role("clerk", "chief", ROLE, "root", USER, False)
    hive.at("circle").grant_role("chief", "clerk", ROLE, "root", USER, False)
    hive.at("missing role").grant_role("nope", "anna", USER, "root", USER, False)
    hive.at("to a missing role").grant_role("clerk", "nope", ROLE, "root", USER, False)
    for name, kind in (("anna", USER), ("chief", ROLE), ("nobody", USER)):
        hive.at(name, show=lambda actual: sorted(each.roleName for each in actual)).list_roles(name, kind)
        hive.at(name, show=by_role).get_role_grants_for_principal(GetRoleGrantsForPrincipalRequest(name, kind))
    for name in ("clerk", "nope"):
        hive.at(name, show=lambda actual: sorted(actual.principalGrants, key=repr)).get_principals_in_role(
            GetPrincipalsInRoleRequest(name)
        )
    request = GrantRevokeRoleRequest(GrantRevokeType.GRANT, "chief", "ben", USER, "root", USER, True)
    hive.at("grant").grant_revoke_role(request)
    request.requestType = GrantRevokeType.REVOKE
    hive.at("revoke").grant_revoke_role(request)
    hive.at("revoke again").grant_revoke_role(request)
    hive.at("missing role").revoke_role("nope", "anna", USER)
    hive.revoke_role("clerk", "anna", USER)
    hive.at("after", show=lambda actual: sorted(each.roleName for each in actual)).list_roles("anna", USER)
    for name in ("clerk", "clerk", "nope", "public", "admin"):
        hive.at(name).drop_role(name)


@scenario
def privileges_are_granted(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", [("ds", "string")]))
    hive.add_partition(partition(db, "t", ["1"]))
    refs = {
        "database": HiveObjectRef(HiveObjectType.DATABASE, db),
        "table": on_table(db),
        "column": on_table(db, objectType=HiveObjectType.COLUMN, columnName="a"),
        "partition": on_table(db, objectType=HiveObjectType.PARTITION, partValues=["1"]),
        "global": HiveObjectRef(HiveObjectType.GLOBAL),
    }
    for label, ref in refs.items():
        hive.at(label).grant_privileges(PrivilegeBag([grant(ref), grant(ref, "INSERT")]))
        hive.at(label, show=by_privilege).list_privileges("anna", USER, ref)
        hive.at(f"{label} of nobody").list_privileges("nobody", USER, ref)
        hive.at(label, show=by_right).get_privilege_set(ref, "anna", [])
    hive.at("again").grant_privileges(PrivilegeBag([grant(on_table(db))]))
    hive.at("missing table").grant_privileges(PrivilegeBag([grant(on_table(db, "nope"))]))
    hive.at("missing role").grant_privileges(PrivilegeBag([grant(on_table(db), to="nope", kind=ROLE)]))
    hive.at("nothing").grant_privileges(PrivilegeBag([]))
    hive.at("no bag").grant_privileges(None)
    hive.at("several at once").grant_privileges(PrivilegeBag([grant(on_table(db), "SELECT,UPDATE", to="ben")]))
    hive.at("several at once", show=by_privilege).list_privileges("ben", USER, on_table(db))
    hive.revoke_privileges(PrivilegeBag([grant(on_table(db), "INSERT")]))
    hive.at("revoked", show=by_privilege).list_privileges("anna", USER, on_table(db))
    hive.at("revoked twice").revoke_privileges(PrivilegeBag([grant(on_table(db), "INSERT")]))
    bag = PrivilegeBag([grant(on_table(db))])
    hive.at("option only").grant_revoke_privileges(GrantRevokePrivilegeRequest(GrantRevokeType.REVOKE, bag, True))
    hive.at("option only", show=by_privilege).list_privileges("anna", USER, on_table(db))
    hive.at("revoke").grant_revoke_privileges(GrantRevokePrivilegeRequest(GrantRevokeType.REVOKE, bag))
    hive.at("grant").grant_revoke_privileges(GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, bag))
    hive.at("of everybody", show=by_privilege).list_privileges(None, None, on_table(db))
    hive.drop_table(db, "t", True)
    hive.at("table is dropped").list_privileges("anna", USER, on_table(db))


@scenario
def configuration(hive: Recorder, db: str) -> None:
    hive.set_ugi("me", ["us", "them"])
    hive.at("no such key").get_config_value("hive.no.such.key", "fallback")
    hive.at("not of the metastore").get_config_value("java.home", "fallback")
    hive.at("no key").get_config_value(None, "fallback")
    hive.getMetaConf("hive.metastore.try.direct.sql")
    hive.at("unknown").getMetaConf("nope")
    hive.setMetaConf("hive.metastore.try.direct.sql", "true")
    hive.at("unknown").setMetaConf("nope", "1")
    hive.flushCache()
    for method in ("getName", "getStatus", "getStatusDetails"):
        getattr(hive, method)()
    hive.at("again").set_ugi("you", [])
