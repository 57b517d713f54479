"""Roles, privileges, tokens, keys, configuration, types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.interop.hive.client import Hive, equal
from tests.wire.builders import unique


def roles(hive: Hive, _: Path) -> None:
    """Creates, grants, lists, revokes and drops roles."""
    group, client, role = "roles", hive.client, unique("role")
    user = hive.api.PrincipalType.USER
    with hive.attempt(group, "create_role"):
        equal(client.create_role(hive.make("Role", roleName=role, ownerName="me")), True)
    with hive.refused(group, "create_role of one that is there", "MetaException", role):
        client.create_role(hive.make("Role", roleName=role))
    with hive.attempt(group, "listRoleNames"):
        assert {"admin", "public", role} <= set(client.listRoleNames())
    with hive.attempt(group, "grant_role, list_roles"):
        equal(client.grant_role(role, "ann", user, "me", user, True), True)
        assert role in [each.getRoleName() for each in client.list_roles("ann", user)]
    with hive.attempt(group, "get_principals_in_role, get_role_grants_for_principal"):
        principals_in_role = client.get_principals_in_role(hive.make("GetPrincipalsInRoleRequest", roleName=role))
        equal(
            [principal_grant.getPrincipalName() for principal_grant in principals_in_role.getPrincipalGrants()], ["ann"]
        )
        request = hive.make("GetRoleGrantsForPrincipalRequest", principal_name="ann", principal_type=user)
        principals_in_role = client.get_role_grants_for_principal(request).getPrincipalGrants()
        assert role in [each.getRoleName() for each in principals_in_role]
    with hive.attempt(group, "revoke_role"):
        equal(client.revoke_role(role, "ann", user, False), True)
    with hive.attempt(group, "drop_role"):
        equal(client.drop_role(role), True)
        assert role not in client.listRoleNames()


def privileges(hive: Hive, _: Path) -> None:
    """Privileges of users on tables."""
    group, client = "privileges", hive.client
    user = hive.api.PrincipalType.USER
    with hive.database(unique("privileges")) as database:
        client.createTable(hive.table(database, "t"))

        def on_table() -> Any:
            reference = hive.make("HiveObjectRef", dbName=database, objectName="t", catName="hive")
            reference.setObjectType(hive.api.HiveObjectType.TABLE)
            return reference

        def bag(privilege: str) -> Any:
            grant = hive.make("PrivilegeGrantInfo", privilege=privilege, createTime=0, grantor="me", grantOption=True)
            grant.setGrantorType(user)
            held = hive.make("HiveObjectPrivilege", hiveObject=on_table(), principalName="ann", grantInfo=grant)
            held.setPrincipalType(user)
            held.setAuthorizer("SQL")
            return hive.make("PrivilegeBag", privileges=[held])

        def held() -> list[str]:
            actual = client.list_privileges("ann", user, on_table())
            return sorted(each.getGrantInfo().getPrivilege() for each in actual)

        with hive.attempt(group, "grant_privileges, list_privileges"):
            equal(client.grant_privileges(bag("SELECT")), True)
            equal(held(), ["SELECT"])
        with hive.attempt(group, "get_privilege_set"):
            actual = client.get_privilege_set(on_table(), "ann", [])
            equal([user_privilege.getPrivilege() for user_privilege in actual.getUserPrivileges()["ann"]], ["SELECT"])
        with hive.attempt(group, "refresh_privileges"):
            client.refresh_privileges(on_table(), "SQL", bag("INSERT"))
            equal(held(), ["INSERT"])
        with hive.attempt(group, "revoke_privileges"):
            equal(client.revoke_privileges(bag("INSERT"), False), True)
            equal(held(), [])


def tokens(hive: Hive, _: Path) -> None:
    """Tokens and keys of the store that servers share."""
    group, client, name = "tokens", hive.client, unique("token")
    with hive.attempt(group, "addToken, getToken, getAllTokenIdentifiers, removeToken"):
        equal(client.addToken(name, "secret"), True)
        equal(client.getToken(name), "secret")
        assert name in client.getAllTokenIdentifiers()
        equal(client.removeToken(name), True)
    with hive.attempt(group, "addMasterKey, updateMasterKey, getMasterKeys, removeMasterKey"):
        number = client.addMasterKey("first")
        client.updateMasterKey(number, "second")
        assert "second" in list(client.getMasterKeys())
        equal(client.removeMasterKey(number), True)
    with hive.refused(group, "getDelegationToken without Kerberos", "MetaException"):
        client.getDelegationToken("me", "me")


def configuration(hive: Hive, _: Path) -> None:
    """Server settings, and types by name."""
    group, client, name = "configuration", hive.client, unique("Type")
    with hive.attempt(group, "setMetaConf, getMetaConf"):
        for key in ("metastore.try.direct.sql", "hive.metastore.try.direct.sql"):
            client.setMetaConf(key, "true")
            equal(client.getMetaConf(key), "true")
    with hive.attempt(group, "getConfigValue"):
        equal(client.getConfigValue("metastore.no.such.key", "50"), "50")
        equal(client.getConfigValue("hive.metastore.dml.events", "false"), "true")
    with hive.attempt(group, "getMetastoreDbUuid"):
        equal(len(client.getMetastoreDbUuid()), 36)
    with hive.attempt(group, "flushCache, isCompatibleWith, reconnect"):
        client.flushCache()
        client.reconnect()
    if hive.is_4:
        with hive.attempt(group, "getServerVersion"):
            assert client.getServerVersion()
    if hive.version < (4, 2):
        with hive.attempt(group, "createType, getType, dropType"):
            made = hive.make("Type", name=name, fields=hive.columns(("a", "int")))
            equal(client.createType(made), True)
            equal(client.getType(name).getFields().size(), 1)
            equal(client.dropType(name), True)
    refusal = "Invalid method name"
    with hive.refused(group, "getTriggersForResourcePlan, which is not served", "TApplicationException", refusal):
        client.getTriggersForResourcePlan("plan", *(["hive"] if hive.is_4 else []))
    with hive.attempt(group, "the connection after that"):
        assert "default" in client.getAllDatabases()
