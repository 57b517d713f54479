"""Grants, revocations, lists and checks of rights by Hive's Java client 2.3.10, which Spark contains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.clients.java import Hive, refused
from tests.fixtures.server import Server
from tests.wire.builders import unique


@pytest.fixture
def client_of(hive: Hive, start_metastore: Callable[..., Server], database_url: str) -> Iterator[Callable[[str], Any]]:
    """`client_of(user)` returns a client with this user name, of a server with authorization."""
    server = start_metastore(database_url, "--authorization", "grants", "--admins", "root")
    users = hive.jvm.org.apache.hadoop.security.UserGroupInformation
    before = users.getLoginUser()

    def connect(user: str) -> Any:
        users.setLoginUser(users.createRemoteUser(user))
        return hive.connect(hive_metastore_uris=server.uri)

    yield connect
    users.setLoginUser(before)


def bag(hive: Hive, database: str, table: str, privilege: str, user: str) -> Any:
    kind = hive.api.PrincipalType.USER
    ref = hive.api.HiveObjectRef(hive.api.HiveObjectType.TABLE, database, table, None, None)
    info = hive.api.PrivilegeGrantInfo(privilege, 0, "whoever", kind, False)
    bag = hive.api.PrivilegeBag()
    bag.addToPrivileges(hive.api.HiveObjectPrivilege(ref, user, kind, info))
    return bag


def test_grant_revoke_and_refusals(hive: Hive, client_of: Callable[[str], Any]) -> None:
    database = unique("rights")
    root, alice, bob = client_of("root"), client_of("alice"), client_of("bob")
    new = hive.api.Database(database, None, None, {})
    new.setOwnerName("alice")
    new.setOwnerType(hive.api.PrincipalType.USER)
    root.createDatabase(new)
    alice.createTable(hive.table(database, "t"))
    assert alice.getTable(database, "t").getOwner() == "alice"
    with refused("NoSuchObjectException", f"{database}.t table not found"):
        bob.getTable(database, "t")
    assert not bob.tableExists(database, "t")
    assert database not in bob.getAllDatabases()
    with refused("MetaException", "table not found"):
        bob.grant_privileges(bag(hive, database, "t", "SELECT", "bob"))
    assert alice.grant_privileges(bag(hive, database, "t", "SELECT", "bob"))
    assert bob.getTable(database, "t").getTableName() == "t"
    assert list(bob.getAllTables(database)) == ["t"]
    with refused("MetaException", f"Permission denied: user [bob] does not have [DROP] privilege on [{database}/t]"):
        bob.dropTable(database, "t")
    with refused("MetaException", "[ALTER]"):
        bob.alter_table(database, "t", bob.getTable(database, "t"))
    ref = hive.api.HiveObjectRef(hive.api.HiveObjectType.TABLE, database, "t", None, None)
    (actual,) = alice.list_privileges("bob", hive.api.PrincipalType.USER, ref)
    assert (actual.getGrantInfo().getPrivilege(), actual.getGrantInfo().getGrantor()) == ("SELECT", "alice")
    held = bob.get_privilege_set(ref, "bob", [])
    assert [user_privilege.getPrivilege() for user_privilege in held.getUserPrivileges()["bob"]] == ["SELECT"]
    assert alice.revoke_privileges(bag(hive, database, "t", "SELECT", "bob"), False)
    with refused("NoSuchObjectException"):
        bob.getTable(database, "t")


def test_roles(hive: Hive, client_of: Callable[[str], Any]) -> None:
    role, user = unique("role"), hive.api.PrincipalType.USER
    root, bob, carol = client_of("root"), client_of("bob"), client_of("carol")
    with refused("MetaException", "Permission denied"):
        bob.create_role(hive.api.Role(role, 0, "bob"))
    assert root.create_role(hive.api.Role(role, 0, "root"))
    with refused("MetaException", "Permission denied"):
        bob.grant_role(role, "bob", user, "bob", user, False)
    assert root.grant_role(role, "bob", user, "root", user, True)
    assert bob.grant_role(role, "carol", user, "bob", user, False)
    assert role in [each.getRoleName() for each in carol.list_roles("carol", user)]
    assert role in carol.listRoleNames()
    with refused("MetaException", "Permission denied"):
        carol.grant_role(role, "dave", user, "carol", user, False)
    assert "admin" in [each.getRoleName() for each in root.list_roles("root", user)]
