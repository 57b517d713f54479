"""Authorization over the wire: hidden objects, denied calls, grants."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from tests.fixtures.server import Server, connected
from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import GROUP, ROLE, USER, everywhere, grant, on_database, on_table, revoke
from tests.wire.builders import descriptor, partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    CommitTxnRequest,
    Database,
    EnvironmentContext,
    Function,
    GetAllWriteEventInfoRequest,
    HeartbeatRequest,
    InsertEventRequestData,
    InvalidOperationException,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    MetaException,
    NoSuchLockException,
    NoSuchObjectException,
    NoSuchTxnException,
    NotificationEventRequest,
    OpenTxnRequest,
    Role,
    ShowLocksRequest,
    UnlockRequest,
    WriteNotificationLogRequest,
)

Clients = Callable[..., Any]


@pytest.fixture
def home(client_of: Clients) -> tuple[str, str]:
    """A database of alice with a table."""
    root, alice = client_of(ADMIN), client_of("alice")
    name = unique("db")
    root.create_database(Database(name=name, ownerName="alice"))
    alice.create_table(table(name, "t", [("ds", "string")]))
    alice.add_partition(partition(name, "t", ["1"]))
    return name, "t"


def denied(right: str, what: str, user: str = "bob") -> str:
    return rf"Permission denied: user \[{user}\] does not have \[{right}\] privilege on \[{what}\]"


def test_objects_without_a_grant_do_not_exist(client_of: Clients, home: tuple[str, str]) -> None:
    bob, (database, name) = client_of("bob"), home
    with pytest.raises(NoSuchObjectException, match=f"{database}.{name} table not found"):
        bob.get_table(database, name)
    with pytest.raises(NoSuchObjectException, match=f"{database}.missing table not found"):
        bob.get_table(database, "missing")
    with pytest.raises(NoSuchObjectException, match=f"database {database} not found"):
        bob.get_database(database)
    assert database not in bob.get_all_databases()
    assert bob.get_all_tables(database) == []
    assert bob.get_table_objects_by_name(database, [name]) == []
    assert bob.get_table_meta("*", "*", None) == [] or all(
        each.dbName != database for each in bob.get_table_meta("*", "*", None)
    )


def test_one_right_makes_the_table_and_its_database_visible_and_gives_no_other(
    client_of: Clients, home: tuple[str, str]
) -> None:
    (database, name), bob, alice = home, client_of("bob"), client_of("alice")
    alice.create_table(table(database, "other"))
    grant(alice, on_table(database, name), "SELECT", "bob")
    assert bob.get_table(database, name).tableName == name
    assert [each.values for each in bob.get_partitions(database, name, -1)] == [["1"]]
    assert database in bob.get_all_databases()
    assert bob.get_all_tables(database) == [name]
    assert bob.get_database(database).name == database
    with pytest.raises(MetaException, match=denied("DROP", f"{database}/{name}")):
        bob.drop_table(database, name, False)
    with pytest.raises(MetaException, match=denied("ALTER", f"{database}/{name}")):
        bob.alter_table(database, name, bob.get_table(database, name))
    with pytest.raises(MetaException, match=denied("CREATE", database)):
        bob.create_table(table(database, "mine"))
    with pytest.raises(NoSuchObjectException, match="other table not found"):
        bob.drop_table(database, "other", False)
    revoke(alice, on_table(database, name), "SELECT", "bob")
    with pytest.raises(NoSuchObjectException):
        bob.get_table(database, name)


def test_a_rename_that_replaces_a_table_requires_drop(client_of: Clients, home: tuple[str, str]) -> None:
    (database, name), bob, alice = home, client_of("bob"), client_of("alice")
    grant(alice, on_database(database), "CREATE", "bob")
    grant(alice, on_table(database, name), "SELECT", "bob")
    bob.create_table(table(database, "draft"))
    new = bob.get_table(database, "draft")
    new.tableName, replacing = name, EnvironmentContext({"metastore.replaces": "true"})
    with pytest.raises(MetaException, match=denied("DROP", f"{database}/{name}")):
        bob.alter_table_with_environment_context(database, "draft", new, replacing)
    grant(alice, on_table(database, name), "DROP", "bob")
    bob.alter_table_with_environment_context(database, "draft", new, replacing)
    assert bob.get_all_tables(database) == [name]


def test_each_right_is_enough_for_its_calls(client_of: Clients, home: tuple[str, str]) -> None:
    (database, name), bob, alice = home, client_of("bob"), client_of("alice")
    grant(alice, on_table(database, name), "INSERT, DELETE", "bob")
    bob.add_partition(partition(database, name, ["2"]))
    bob.drop_partition(database, name, ["2"], True)
    grant(alice, on_table(database, name), "alter", "bob")
    new = bob.get_table(database, name)
    new.parameters["a"] = "b"
    bob.alter_table(database, name, new)
    grant(alice, on_table(database, name), "DROP", "bob")
    bob.drop_table(database, name, True)
    grant(alice, on_database(database), "CREATE", "bob")
    bob.create_table(table(database, "bobs"))
    assert bob.get_table(database, "bobs").owner == "bob"
    assert bob.get_all_tables(database) == ["bobs"]


def test_rights_on_a_database_except_create_apply_to_its_tables(client_of: Clients, home: tuple[str, str]) -> None:
    (database, name), bob, alice = home, client_of("bob"), client_of("alice")
    grant(alice, on_database(database), "CREATE", "bob")
    assert database in bob.get_all_databases()
    assert bob.get_all_tables(database) == []
    grant(alice, on_database(database), "SELECT", "bob")
    assert bob.get_all_tables(database) == [name]
    assert bob.get_table(database, name)
    revoke(alice, on_database(database), "SELECT", "bob")
    with pytest.raises(NoSuchObjectException):
        bob.get_table(database, name)
    grant(alice, on_database(database), "ALL", "bob")
    bob.drop_table(database, name, False)


@pytest.mark.parametrize("kind", [ROLE, GROUP])
def test_rights_of_roles_and_groups(client_of: Clients, home: tuple[str, str], kind: int) -> None:
    (database, name), root = home, client_of(ADMIN)
    principal, above = unique("p"), unique("above")
    carol, bob = client_of("carol"), client_of("bob", [principal] if kind == GROUP else [])
    if kind == ROLE:
        root.create_role(Role(principal))
        root.create_role(Role(above))
        root.grant_role(above, "bob", USER, ADMIN, USER, False)
        root.grant_role(principal, above, ROLE, ADMIN, USER, False)
    with pytest.raises(NoSuchObjectException):
        bob.get_table(database, name)
    grant(root, on_table(database, name), "SELECT", principal, kind)
    assert bob.get_table(database, name)
    with pytest.raises(NoSuchObjectException):
        carol.get_table(database, name)
    if kind == ROLE:
        root.revoke_role(principal, above, ROLE)
        with pytest.raises(NoSuchObjectException):
            bob.get_table(database, name)


def test_every_user_has_the_public_role(client_of: Clients, home: tuple[str, str]) -> None:
    database, name = home
    grant(client_of("alice"), on_table(database, name), "SELECT", "public", ROLE)
    for user in ("anybody", None):
        assert client_of(user).get_table(database, name)


def test_grants_need_the_grant_option(client_of: Clients, home: tuple[str, str]) -> None:
    (database, name), alice, bob = home, client_of("alice"), client_of("bob")
    ref = on_table(database, name)
    with pytest.raises(MetaException, match=f"{name} table not found"):
        grant(bob, ref, "SELECT", "carol")
    grant(alice, ref, "SELECT", "bob")
    with pytest.raises(MetaException, match="SELECT WITH GRANT OPTION"):
        grant(bob, ref, "SELECT", "carol")
    revoke(alice, ref, "SELECT", "bob")
    grant(alice, ref, "SELECT", "bob", option=True)
    grant(bob, ref, "SELECT", "carol")
    with pytest.raises(MetaException, match="ALL WITH GRANT OPTION"):
        grant(bob, ref, "ALL", "carol")
    with pytest.raises(MetaException, match="WITH GRANT OPTION"):
        grant(alice, everywhere(), "SELECT", "alice")
    (actual,) = client_of("carol").list_privileges("carol", USER, ref)
    assert (actual.grantInfo.privilege, actual.grantInfo.grantor) == ("SELECT", "bob")


def test_callers_see_their_own_grants_and_those_on_their_objects(client_of: Clients, home: tuple[str, str]) -> None:
    (database, name), alice, bob = home, client_of("alice"), client_of("bob")
    ref = on_table(database, name)
    grant(alice, ref, "SELECT", "bob")
    grant(alice, ref, "SELECT", "carol")
    assert [privilege.principalName for privilege in alice.list_privileges(None, None, ref)] == ["bob", "carol"]
    assert [privilege.principalName for privilege in bob.list_privileges(None, None, ref)] == ["bob"]
    assert client_of("dave").list_privileges(None, None, ref) == []
    assert bob.get_privilege_set(ref, "bob", []).userPrivileges["bob"]
    with pytest.raises(MetaException, match="Permission denied"):
        bob.get_privilege_set(ref, "carol", [])
    assert alice.get_privilege_set(ref, "carol", []).userPrivileges["carol"]


def test_callers_do_not_choose_the_owner(client_of: Clients, home: tuple[str, str]) -> None:
    """Except one of their groups and roles. Engines run a view or function with the rights of its owner."""
    (database, name), alice, bob = home, client_of("alice", ["staff"]), client_of("bob")
    alice.create_table(table(database, "spoofed", owner="bob"))
    assert alice.get_table(database, "spoofed").owner == "alice"
    grant(alice, on_table(database, name), "ALTER", "bob")
    new = bob.get_table(database, name)
    new.owner = "bob"
    with pytest.raises((InvalidOperationException, MetaException), match=denied("OWNERSHIP", f"{database}/{name}")):
        bob.alter_table(database, name, new)
    new.owner, home_of_all = "carol", alice.get_database(database)
    home_of_all.ownerName = "carol"
    alice.create_function(Function("f", database, "org.example.F", "alice", USER, 0, 1, []))
    for call in (
        lambda: alice.alter_table(database, name, new),
        lambda: alice.alter_database(database, home_of_all),
        lambda: alice.alter_function(database, "f", Function("f", database, "F", "carol", USER, 0, 1, [])),
    ):
        with pytest.raises((InvalidOperationException, MetaException), match=r"carol\]: it is not a group or role"):
            call()
    new.owner = home_of_all.ownerName = "staff"
    new.ownerType = home_of_all.ownerType = GROUP
    alice.alter_table(database, name, new)
    alice.alter_database(database, home_of_all)
    new.ownerType = home_of_all.ownerType = USER  # clients of Hive 2 do not know the kind of a table's owner
    with pytest.raises(MetaException, match=r"staff\]: it is not a group or role"):
        alice.alter_database(database, home_of_all)
    alice.alter_function(database, "f", Function("f", database, "F", "staff", GROUP, 0, 1, []))
    alice.alter_table(database, name, new)
    assert alice.get_table(database, name).ownerType == GROUP
    new.owner = "carol"
    client_of(ADMIN).alter_table(database, name, new)
    assert client_of("carol").get_table(database, name).owner == "carol"


def test_a_new_database_needs_create_and_belongs_to_its_creator(client_of: Clients) -> None:
    root, user, name = client_of(ADMIN), unique("u"), unique("db")
    dave = client_of(user)
    with pytest.raises(MetaException, match=denied("CREATE", "hive", user)):
        dave.create_database(Database(name=name))
    grant(root, everywhere("hive"), "CREATE", user)
    dave.create_database(Database(name=name, ownerName="someone"))
    assert dave.get_database(name).ownerName == user
    dave.create_table(table(name, "t"))
    dave.drop_database(name, True, True)


def test_an_anonymous_caller_has_the_grants_of_public(client_of: Clients) -> None:
    nobody = client_of(None)
    assert "default" in nobody.get_all_databases()
    assert nobody.get_all_tables("default") == []
    with pytest.raises(MetaException, match=denied("CREATE", "hive", "anonymous")):
        nobody.create_database(Database(name=unique("db")))


def test_locations_that_a_caller_may_register(client_of: Clients, home: tuple[str, str]) -> None:
    (database, name), root, alice, bob = home, client_of(ADMIN), client_of("alice"), client_of("bob")
    path = alice.get_database(database).locationUri
    grant(alice, on_database(database), "CREATE", "bob")

    def make(client: Any, location: str) -> None:
        sd = descriptor(location)
        client.create_table(table(database, unique("e"), sd=sd, parameters={"EXTERNAL": "TRUE"}))

    make(bob, f"{path}/free")
    for taken in (f"{path}/{name}", f"{path}/{name}/below", path, "file:/elsewhere", f"{path}/../x"):
        with pytest.raises(MetaException, match=denied("LOCATION", re.escape(taken))):
            make(bob, taken)
    make(alice, f"{path}/{name}")
    inner = unique("inner")  # a database of somebody else in the directory of alice's
    root.create_database(Database(name=inner, locationUri=f"{path}/{inner}"))
    root.create_table(table(inner, "t"))
    for taken in (f"{path}/{inner}/t", f"{path}/{inner}/t/below", f"{path}/{inner}"):
        with pytest.raises(MetaException, match=denied("LOCATION", re.escape(taken), "alice")):
            make(alice, taken)
    with pytest.raises(MetaException, match=denied("LOCATION", "file:/elsewhere", "alice")):
        make(alice, "file:/elsewhere")
    grant(root, everywhere("file:/w/raw"), "LOCATION", "bob")
    make(bob, "file:/w/raw/x")
    for outside in ("file:/w/rawest", "file:/w"):
        with pytest.raises(MetaException, match=denied("LOCATION", outside)):
            make(bob, outside)
    with pytest.raises(MetaException, match=denied("LOCATION", "file:/w/raw", "alice")):
        alice.add_partition(partition(database, name, ["9"], sd=descriptor("file:/w/raw")))
    with pytest.raises(MetaException, match="WITH GRANT OPTION"):
        grant(bob, everywhere("file:/w/raw"), "LOCATION", "carol")


def test_a_read_only_server_changes_nothing(guarded_server: Server, start_metastore: Callable[..., Server]) -> None:
    server = start_metastore(guarded_server.database_url, "--read-only")
    with connected(server) as client:
        assert "default" in client.get_all_databases()
        for call in (
            lambda: client.create_database(Database(name=unique("db"))),
            lambda: client.drop_table("default", "t", False),
            lambda: client.create_role(Role("r")),
        ):
            with pytest.raises(MetaException, match="This metastore is read-only"):
                call()
        opened = client.open_txns(OpenTxnRequest(1, "me", "host")).txn_ids
        client.commit_txn(CommitTxnRequest(opened[0]))


def test_only_owners_see_secrets(client_of: Clients, home: tuple[str, str]) -> None:
    (database, _), root, alice, bob = home, client_of(ADMIN), client_of("alice"), client_of("bob")
    alice.create_table(table(database, "s", [("ds", "string")], parameters={"jdbc.password": "hunter2", "a": "b"}))
    new = partition(database, "s", ["1"], parameters={"secret.of.mine": "hunter2"})
    alice.add_partition(new)
    writing = alice.open_txns(OpenTxnRequest(1, "alice", "host")).txn_ids[0]
    files = InsertEventRequestData(filesAdded=["f"])
    alice.add_write_notification_log(WriteNotificationLogRequest(writing, 1, database, "s", files, ["1"]))
    grant(alice, on_table(database, "s"), "ALL", "bob")

    def told(client: Any) -> list[str]:
        request = NotificationEventRequest(0, 10_000, None, "hive", database, ["s"])
        return [
            repr(each)
            for each in (
                client.get_table(database, "s"),
                client.get_table_objects_by_name(database, ["s"]),
                client.get_partitions(database, "s", -1),
                client.get_partitions_by_names(database, "s", ["ds=1"]),
                client.get_partitions_pspec(database, "s", -1),
                client.get_next_notification(request),
                client.get_all_write_event_info(GetAllWriteEventInfoRequest(writing)),
            )
        ]

    assert all("hunter2" in text for text in told(alice))
    assert all("hunter2" in text for text in told(root))
    assert all("hunter2" not in text and "***" in text for text in told(bob))
    changed = bob.get_table(database, "s")
    assert changed.parameters["jdbc.password"] == "***"
    changed.parameters["a"] = "c"
    bob.alter_table(database, "s", changed)
    bob.alter_partition(database, "s", bob.get_partition(database, "s", ["1"]))
    assert alice.get_table(database, "s").parameters["jdbc.password"] == "hunter2"
    assert alice.get_table(database, "s").parameters["a"] == "c"
    assert alice.get_partition(database, "s", ["1"]).parameters["secret.of.mine"] == "hunter2"


def test_insert_is_enough_for_statistics_only(client_of: Clients, home: tuple[str, str]) -> None:
    (database, name), alice, bob = home, client_of("alice"), client_of("bob")
    grant(alice, on_table(database, name), "INSERT", "bob")
    new = bob.get_table(database, name)
    new.parameters |= {"numRows": "7", "totalSize": "1", "spark.sql.statistics.numRows": "7"}
    bob.alter_table(database, name, new)
    assert bob.get_table(database, name).parameters["numRows"] == "7"

    def sent(change: Callable[[Any], Any]) -> Any:
        table = bob.get_table(database, name)
        change(table)
        return table

    for change in (
        lambda table: table.parameters.update({"comment": "x"}),
        lambda table: table.parameters.pop("transient_lastDdlTime") and table.sd.cols.pop(),
        lambda table: setattr(table.sd, "location", f"{table.sd.location}x"),
        lambda table: setattr(table, "tableName", "other"),
        lambda table: setattr(table, "owner", "bob"),
        lambda table: setattr(table.sd.serdeInfo, "serializationLib", "x"),
        lambda table: setattr(table, "viewOriginalText", "select 1"),
    ):
        with pytest.raises(MetaException, match=denied("ALTER", f"{database}/{name}")):
            bob.alter_table(database, name, sent(change))
    truncation = EnvironmentContext({"alterTableOpType": "TRUNCATE"})  # replicas would remove the rows
    with pytest.raises(MetaException, match=denied("DELETE", f"{database}/{name}")):
        bob.alter_table_with_environment_context(database, name, new, truncation)


def test_locks_and_transactions_belong_to_their_creators(client_of: Clients, home: tuple[str, str]) -> None:
    (database, name), alice, bob, root = home, client_of("alice"), client_of("bob"), client_of(ADMIN)
    opened = alice.open_txns(OpenTxnRequest(1, "bob", "host")).txn_ids[0]
    component = LockComponent(LockType.EXCLUSIVE, LockLevel.TABLE, database, name)
    locked = alice.lock(LockRequest([component], 0, "bob", "host")).lockid
    grant(alice, on_table(database, name), "SELECT", "bob")
    with pytest.raises(TApplicationException, match=denied("INSERT", f"{database}/{name}")):
        bob.lock(LockRequest([component], 0, "alice", "host"))
    with pytest.raises(NoSuchTxnException, match=f"No such transaction txnid:{opened}"):
        bob.abort_txn(AbortTxnRequest(opened))
    with pytest.raises(NoSuchTxnException):
        bob.commit_txn(CommitTxnRequest(opened))
    bob.unlock(UnlockRequest(locked))  # as for a lock that does not exist, this does nothing
    with pytest.raises(NoSuchLockException, match=f"No such lock lockid:{locked}"):
        bob.heartbeat(HeartbeatRequest(locked))
    by_id = {txn.id: txn for txn in bob.get_open_txns_info().open_txns}
    assert (by_id[opened].user, by_id[opened].hostname) == ("(hidden)", "(hidden)")
    (lock,) = bob.show_locks(ShowLocksRequest(database)).locks
    assert (lock.lockid, lock.user, lock.hostname) == (locked, "(hidden)", "(hidden)")
    assert [lock.user for lock in root.show_locks(ShowLocksRequest(database)).locks] == ["alice"]
    alice.heartbeat(HeartbeatRequest(locked))
    alice.unlock(UnlockRequest(locked))
    root.abort_txn(AbortTxnRequest(opened))
