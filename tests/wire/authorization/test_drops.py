"""Who may drop and restore objects: a dependent table of others, and CREATE in the database, change nothing. Names and
locations that pass from one object to another."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import ROLE, USER, bag, everywhere, grant, on_database, on_table, revoke
from tests.wire.authorization.test_attacks import told
from tests.wire.builders import columns, descriptor, partition, table, unique
from tests.wire.writing import day, publish
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    EnvironmentContext,
    FieldSchema,
    Function,
    GetAllWriteEventInfoRequest,
    GrantRevokePrivilegeRequest,
    GrantRevokeType,
    InsertEventRequestData,
    NotificationEventRequest,
    OpenTxnRequest,
    PrivilegeBag,
    ResourceUri,
    Role,
    TableStatsRequest,
    WriteNotificationLogRequest,
)
from thrift_idl.gen.metastore.ttypes import (
    CreateDependentTableRequest,
    DroppedRequest,
    PublishMode,
    SetDependencyRequest,
    UndropRequest,
)

Clients = Callable[..., Any]


def test_only_the_dropping_user_and_the_owner_may_undrop(client_of: Clients) -> None:
    """CREATE in the database is not enough, nor is INSERT on the table for its partitions."""
    root, shared = client_of(ADMIN), unique("shared")
    root.create_database(Database(name=shared, ownerName="zowner"))
    grant(root, on_database(shared), "CREATE", "bob")
    for user in ("alice", "dropper"):
        grant(root, on_database(shared), "CREATE", user)
    nothing = "can be undropped"

    def drop(name: str, by: str) -> None:
        client_of("alice").create_table(table(shared, name, [("ds", "string")]))
        grant(root, on_table(shared, name), "DROP", "dropper")
        client_of(by).drop_table(shared, name, True)

    for position, (by, restorer) in enumerate(
        [("alice", "alice"), ("dropper", "dropper"), ("dropper", "alice"), ("alice", "zowner"), ("alice", ADMIN)]
    ):
        name = f"t{position}"
        drop(name, by)
        for request in (UndropRequest(shared, name), UndropRequest(shared, name, newName="stolen")):
            assert nothing in told(lambda: client_of("bob").undrop(request))  # noqa: B023 - called at once
        assert "Exception" not in told(lambda: client_of(restorer).undrop(UndropRequest(shared, name)))  # noqa: B023
    missing = told(lambda: client_of("bob").undrop(UndropRequest(shared, "missing")))
    drop("gone", "alice")
    assert told(lambda: client_of("bob").undrop(UndropRequest(shared, "gone"))) == missing.replace("missing", "gone")
    client_of("alice").create_table(table(shared, "base", [("ds", "string")]))
    dependent = CreateDependentTableRequest(shared, "with", columns(("ds", "")), shared, "base")
    client_of("alice").create_dependent_table(dependent)
    cascade = EnvironmentContext({"CASCADE": "true"})
    client_of("alice").drop_table_with_environment_context(shared, "base", True, cascade)
    for name, part in (("gone", "ds=1"), ("with", None), ("with", "ds=1")):
        as_missing = told(lambda: client_of("bob").undrop(UndropRequest(shared, "missing", partition=part)))  # noqa: B023
        answer = told(lambda: client_of("bob").undrop(UndropRequest(shared, name, partition=part)))  # noqa: B023
        assert answer == as_missing.replace("missing", name)
    grant(root, on_table(shared, "t0"), "INSERT", "bob")
    client_of("alice").add_partition(partition(shared, "t0", ["1"]))
    client_of("alice").drop_partition(shared, "t0", ["1"], True)
    assert nothing in told(lambda: client_of("bob").undrop(UndropRequest(shared, "t0", partition="ds=1")))
    assert "Exception" not in told(lambda: client_of("alice").undrop(UndropRequest(shared, "t0", partition="ds=1")))


def test_a_later_table_of_the_name_does_not_keep_the_owner_from_an_undrop(client_of: Clients) -> None:
    root, shared = client_of(ADMIN), unique("shared")
    root.create_database(Database(name=shared, ownerName="zowner"))
    for user in ("alice", "bob"):
        grant(root, on_database(shared), "CREATE", user)
    alice, bob = client_of("alice"), client_of("bob")
    for name in ("taken", "dropped"):
        alice.create_table(table(shared, name, parameters={"of": "alice"}))
        alice.drop_table(shared, name, True)
        bob.create_table(table(shared, name))
    bob.drop_table(shared, "dropped", True)
    alice.undrop(UndropRequest(shared, "taken", newName="other"))
    alice.undrop(UndropRequest(shared, "dropped"))
    for name in ("other", "dropped"):
        assert alice.get_table(shared, name).parameters["of"] == "alice"
    assert "can be undropped" in told(lambda: alice.undrop(UndropRequest(shared, "dropped", newName="stolen")))
    assert "Exception" not in told(lambda: bob.undrop(UndropRequest(shared, "dropped", newName="mine")))


def test_the_owner_restores_a_dropped_database(client_of: Clients) -> None:
    root, shared = client_of(ADMIN), unique("shared")
    for user in ("bob", "zowner"):
        root.grant_revoke_privileges(
            GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, bag(everywhere("hive"), "CREATE", user))
        )
    root.create_database(Database(name=shared, ownerName="zowner"))
    root.drop_database(shared, True, True)
    assert "can be undropped" in told(lambda: client_of("bob").undrop(UndropRequest(shared)))
    assert "Exception" not in told(lambda: client_of("zowner").undrop(UndropRequest(shared)))
    client_of("zowner").create_table(table(shared, "t"))
    root.drop_database(shared, True, True)
    client_of("bob").create_database(Database(name=shared))  # a new table, owned by bob
    assert "can be undropped" in told(lambda: client_of("bob").undrop(UndropRequest(shared, "t")))


def test_a_reader_cannot_keep_the_owner_from_dropping_a_table(client_of: Clients) -> None:
    root, bob, zowner, theirs, mine = client_of(ADMIN), client_of("bob"), client_of("zowner"), unique(), unique()
    root.create_database(Database(name=theirs, ownerName="zowner"))
    root.create_database(Database(name=mine, ownerName="bob"))
    zowner.create_table(table(theirs, "t", [("ds", "string")]))
    root.create_table(table(mine, "other", [("ds", "string")], owner="bob"))
    grant(root, on_table(theirs, "t"), "SELECT", "bob")
    request = CreateDependentTableRequest(mine, "dependent", columns(("ds", "")), theirs, "t")
    assert f"does not have [ALTER] privilege on [{theirs}/t]" in told(lambda: bob.create_dependent_table(request))
    own = CreateDependentTableRequest(mine, "dependent", columns(("ds", "")), mine, "other")
    bob.create_dependent_table(own)
    moved = SetDependencyRequest(mine, "dependent", theirs, "t")
    assert f"does not have [ALTER] privilege on [{theirs}/t]" in told(lambda: bob.set_dependency(moved))
    zowner.drop_table(theirs, "t", True)
    zowner.drop_database(theirs, True, True)


def _about(client: Any, text: str) -> list[str]:
    """Returns the types of the events whose messages contain a text."""
    events = client.get_next_notification(NotificationEventRequest(0, 100_000)).events
    return [event.eventType for event in events if text in (event.message or "")]


def test_what_was_before_an_object_got_its_name_stays_hidden(client_of: Clients) -> None:
    """Also in the same second, and if the object that has the name now is the older one."""
    users, root, shared, theirs = (unique("alice"), unique("bob")), client_of(ADMIN), unique(), unique()
    alice, bob = map(client_of, users)
    root.create_database(Database(name=shared, ownerName="zowner"))
    for user in users:
        grant(root, on_database(shared), "CREATE", user)
        root.grant_privileges(bag(everywhere("hive"), "CREATE", user))

    def use(name: str, database: str = shared) -> None:
        alice.create_table(table(database, name, parameters={"zsecret": "1"}))
        [transaction] = alice.open_txns(OpenTxnRequest(1, "", "host")).txn_ids
        files = InsertEventRequestData(filesAdded=["zsecret"])
        alice.add_write_notification_log(WriteNotificationLogRequest(transaction, 1, database, name, files))
        writes.append(GetAllWriteEventInfoRequest(transaction))
        assert len(alice.get_all_write_event_info(writes[-1])) == 1

    def rename(client: Any, name: str, new: str) -> None:
        renamed = client.get_table(shared, name)
        renamed.tableName = new
        client.alter_table(shared, name, renamed)

    writes: list[GetAllWriteEventInfoRequest] = []
    for name in ("restored", "older"):
        bob.create_table(table(shared, name))
    bob.drop_table(shared, "restored", True)
    for name in ("restored", "again"):
        use(name)
        alice.drop_table(shared, name, True)
    use("moved")
    rename(alice, "moved", "away")
    alice.create_database(Database(name=theirs))
    use("t", theirs)
    alice.drop_database(theirs, True, True)
    [number] = [drop.id for drop in root.dropped(DroppedRequest(shared)) if drop.user == users[1]]
    bob.undrop(UndropRequest(shared, "restored", id=number))
    bob.create_table(table(shared, "again"))
    rename(bob, "older", "moved")
    bob.create_database(Database(name=theirs))
    bob.create_table(table(theirs, "t"))
    seen = {each.tableName for each in bob.get_next_notification(NotificationEventRequest(0, 100_000)).events}
    assert seen >= {"restored", "again", "moved", "t"}
    assert _about(bob, "zsecret") == []
    assert [bob.get_all_write_event_info(request) for request in writes] == [[]] * len(writes)
    assert bob.dropped(DroppedRequest(theirs)) == []
    assert _about(root, "zsecret")
    assert len(root.get_all_write_event_info(writes[0])) == len(root.dropped(DroppedRequest(theirs))) == 1


def test_nobody_registers_the_location_of_a_later_table(client_of: Clients) -> None:
    root, bob, alice, shared, later = client_of(ADMIN), client_of("bob"), unique("alice"), unique(), unique()
    root.create_database(Database(name=shared, ownerName="zowner"))
    home = root.get_database(shared).locationUri
    for user in (alice, "bob"):
        grant(root, on_database(shared), "CREATE", user)
    root.grant_privileges(bag(everywhere("hive"), "CREATE", alice))

    def external(database: str, name: str, location: str, **more: Any) -> Any:
        return table(
            database, name, **more, sd=descriptor(location), tableType="EXTERNAL_TABLE", parameters={"EXTERNAL": "TRUE"}
        )

    bob.create_table(external(shared, "a", f"{home}/payroll"))
    bob.create_table(external(shared, "b", f"{home}/b"))
    bob.alter_table(shared, "b", external(shared, "c", f"{home}/b", owner=None))
    squatting = external("default", unique(), f"{home.removesuffix(f'{shared}.db')}{later}.db/t")
    assert "[LOCATION] privilege" in told(lambda: bob.create_table(squatting))
    root.create_table(squatting)
    for user in (alice, "zowner", ADMIN):
        for name in ("payroll", "b"):
            for new in (table(shared, name), external(shared, name, f"{home}/{name}")):
                assert "another table is there" in told(lambda: client_of(user).create_table(new))  # noqa: B023
    assert "another table is there" in told(lambda: client_of(alice).create_database(Database(name=later)))
    client_of(alice).create_table(table(shared, "tmp"))
    Path(home.removeprefix("file:"), "payroll").rmdir()  # as on an object store, where the directory does not exist
    for user in (alice, ADMIN):
        renamed = table(shared, "payroll", sd=descriptor(f"{home}/tmp"), owner=None)
        assert "is used by another" in told(lambda: client_of(user).alter_table(shared, "tmp", renamed))  # noqa: B023
    client_of(alice).create_table(external(shared, "payroll", f"{home}/other"))
    assert "AlreadyExists" in told(lambda: bob.create_table(table(shared, "payroll")))


def test_a_directory_of_another_table_does_not_become_the_own_one(client_of: Clients) -> None:
    """Neither moves with the table or partition around it, nor becomes the default location of a partition."""
    root, alice, shared = client_of(ADMIN), client_of("alice"), unique("shared")
    keys = [("ds", "string")]
    root.create_database(Database(name=shared, ownerName="zowner"))
    grant(root, on_database(shared), "CREATE", "alice")
    for name in ("own", "target"):
        alice.create_table(table(shared, name, keys))
    own = alice.get_table(shared, "own").sd.location
    root.create_table(table(shared, "hidden", sd=descriptor(f"{own}/ds=1")))
    root.create_table(table(shared, "deep", sd=descriptor(f"{own}/ds=2/deep")))
    rows = Path(own.removeprefix("file:"), "ds=2/deep/rows")
    rows.write_text("theirs")
    alice.append_partition(shared, "own", ["2"])
    alice.append_partition(shared, "own", ["4"])
    root.create_table(table(shared, "same", sd=descriptor(f"{own}/ds=4")))
    root.create_table(table(shared, "whole", sd=descriptor(f"{own}/")))
    grant(root, on_table(shared, "own"), "INSERT", "bob")
    refused = "is used by another object"
    for call in (
        lambda: client_of("bob").append_partition(shared, "own", ["1"]),
        lambda: alice.add_partition(partition(shared, "own", ["1"])),
        lambda: alice.alter_table(shared, "own", table(shared, "new", keys, sd=descriptor(own), owner=None)),
        lambda: alice.rename_partition(shared, "own", ["2"], partition(shared, "own", ["3"])),
        lambda: alice.rename_partition(shared, "own", ["4"], partition(shared, "own", ["3"])),
        lambda: alice.exchange_partitions({"ds": "2"}, shared, "own", shared, "target"),
    ):
        assert refused in told(call)
    assert rows.exists()
    assert alice.get_partition_names(shared, "own", -1) == ["ds=2", "ds=4"]
    root.append_partition(shared, "own", ["1"])


def test_insert_alone_redefines_and_removes_no_partition(client_of: Clients) -> None:
    root, alice, shared = client_of(ADMIN), client_of("alice"), unique("shared")
    root.create_database(Database(name=shared, ownerName="alice"))
    alice.create_table(table(shared, "own", [("ds", "string")]))
    alice.append_partition(shared, "own", ["2"])
    grant(root, on_table(shared, "own"), "INSERT", "bob")
    bob, away = client_of("bob"), alice.get_partition(shared, "own", ["2"])
    own = alice.get_table(shared, "own").sd.location
    bob.alter_partition(shared, "own", away)
    stored = alice.get_table(shared, "own")
    stored.sd.cols.append(FieldSchema("new", "int"))
    stored.sd.serdeInfo.serializationLib = "Text"
    alice.alter_table(shared, "own", stored)
    for change in (
        lambda sd: setattr(sd.serdeInfo, "serializationLib", "x"),
        lambda sd: setattr(sd.serdeInfo, "parameters", {"field.delim": "x"}),
        lambda sd: setattr(sd, "cols", stored.sd.cols[1:]),
        lambda sd: (setattr(sd, "bucketCols", ["a"]), setattr(sd, "numBuckets", 4)),
    ):
        redefined = copy.deepcopy(away)
        change(redefined.sd)
        assert "[ALTER] privilege" in told(lambda: bob.alter_partition(shared, "own", redefined))  # noqa: B023
    away.sd.serdeInfo.serializationLib = "Text"  # as Hive does in an INSERT after the table got another format
    away.sd.cols = stored.sd.cols
    bob.alter_partition(shared, "own", away)
    away.sd.location = f"{own}/empty"  # as if its rows were deleted
    assert "[DELETE] privilege" in told(lambda: bob.alter_partition(shared, "own", away))
    grant(root, on_table(shared, "own"), "DELETE", "bob")
    bob.alter_partition(shared, "own", away)


def test_a_later_role_of_the_name_does_not_get_the_grants_of_a_restored_database(client_of: Clients) -> None:
    root, old, role = client_of(ADMIN), unique("old"), unique("role")
    root.create_database(Database(name=old))
    root.create_table(table(old, "t"))
    root.create_role(Role(role))
    grant(root, on_database(old), "SELECT", role, ROLE)
    root.drop_database(old, True, True)
    root.drop_role(role)
    root.create_role(Role(role))
    root.grant_role(role, "bob", USER, "", USER, False)
    root.undrop(UndropRequest(old))
    assert "not found" in told(lambda: client_of("bob").get_table(old, "t"))


def test_properties_and_functions_lead_neither_to_the_trash_nor_to_tables(client_of: Clients) -> None:
    """Everybody may create tables and functions in `default`, whose directory is the warehouse."""
    root, bob, theirs = client_of(ADMIN), client_of("bob"), unique("theirs")
    root.create_database(Database(name=theirs, ownerName="zowner"))
    zowner = client_of("zowner")
    zowner.create_table(table(theirs, "t", [("ds", "string")]))
    grant(root, on_database(theirs), "CREATE", "bob")
    grant(root, on_database(theirs), "ALTER", "bob")
    home = root.get_database(theirs).locationUri

    def function(database: str, location: str) -> Any:
        return Function(unique(), database, "C", None, None, 0, 1, [ResourceUri(2, location)])

    moved = bob.get_database(theirs)
    moved.locationUri = f"{home}/t"
    for call in (
        lambda: bob.create_table(table("default", unique(), parameters={"path": f"{home}/../.metastore_trash/x"})),
        lambda: bob.create_function(function("default", f"{home}/../.metastore_trash/x")),
        lambda: bob.create_function(function("default", f"{home}/t/ds=1/0.parquet")),
        lambda: bob.create_function(function("default", f"{home}/../{unique()}.db/t/0.parquet")),
        lambda: bob.create_function(function(theirs, f"{home}/t/ds=1/0.parquet")),
        lambda: bob.alter_database(theirs, moved),
    ):
        assert "does not have [LOCATION] privilege" in told(call)
    bob.create_function(function(theirs, f"{home}/jars/x.jar"))
    # An owner may nest tables. The users of the outer one do not get the inner one.
    zowner.create_table(table(theirs, "inner", sd=descriptor(f"{home}/t/inner")))
    grant(zowner, on_table(theirs, "t"), "ALTER", "bob")
    for location in (f"{home}/t/inner", f"{home}/t/inner/x"):
        nested = partition(theirs, "t", ["1"], sd=descriptor(location))
        assert "does not have [LOCATION] privilege" in told(lambda: bob.add_partition(nested))  # noqa: B023
    zowner.add_partition(nested)


def test_a_user_with_the_grant_option_revokes_only_own_grants(client_of: Clients) -> None:
    root, bob, shared = client_of(ADMIN), client_of("bob"), unique("shared")
    root.create_database(Database(name=shared, ownerName="zowner"))
    zowner = client_of("zowner")
    zowner.create_table(table(shared, "t"))
    on = on_table(shared, "t")
    grant(zowner, on, "OWNERSHIP", "carol")  # a right that is never granted, whatever is stored
    grant(zowner, on, "SELECT", "bob", option=True)
    grant(zowner, on, "SELECT", "carol")
    grant(bob, on, "SELECT", "dave")
    assert "No grant (SELECT) of carol found" in told(lambda: revoke(bob, on, "SELECT", "carol"))
    assert "is not the name of a privilege" in told(lambda: grant(bob, on, "SELECT+", "carol"))
    revoke(zowner, on, "SELECT", "dave")
    carol, nothing = client_of("carol"), GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, PrivilegeBag([]))
    assert "[OWNERSHIP] privilege" in told(lambda: carol.refresh_privileges(on, "SQL", nothing))
    root.grant_privileges(bag(everywhere(f"{shared}.t"), "DENY SELECT", "carol"))
    assert "not found" in told(lambda: carol.get_table_statistics_req(TableStatsRequest(shared, "t", ["a"])))


def test_a_restored_table_does_not_return_to_files_of_another(client_of: Clients, tmp_path: Path) -> None:
    """An external table leaves its files and its location behind. Nor does a partition. A hidden table has the name."""
    root, bob, alice, shared = client_of(ADMIN), client_of("bob"), client_of("alice"), unique("shared")
    root.create_database(Database(name=shared, ownerName="zowner"))
    for user in ("alice", "bob"):
        grant(root, on_database(shared), "CREATE", user)
    kept, taken, day = (f"file:{tmp_path}/{name}" for name in ("kept", "taken", "day"))
    outside = {"tableType": "EXTERNAL_TABLE", "parameters": {"EXTERNAL": "TRUE"}, "owner": "alice"}
    for name, where in (("kept", kept), ("taken", taken)):
        root.create_table(table(shared, name, [("ds", "string")], sd=descriptor(where), **outside))
        root.add_partition(partition(shared, name, ["1"], sd=descriptor(f"{day}/{name}")))
        alice.drop_table(shared, name, True)
    grant(root, everywhere(f"{taken}/below"), "LOCATION", "bob")
    bob.create_table(table(shared, "secret", sd=descriptor(f"{taken}/below")))
    assert "another object is there by now" in told(lambda: alice.undrop(UndropRequest(shared, "taken")))
    assert "another object is there by now" in told(lambda: alice.undrop(UndropRequest(shared, "taken", newName="new")))
    alice.undrop(UndropRequest(shared, "kept"))
    alice.drop_partition(shared, "kept", ["1"], True)
    root.create_table(table(shared, "in_day", sd=descriptor(f"{day}/kept")))
    assert "another object is there by now" in told(lambda: alice.undrop(UndropRequest(shared, "kept")))
    grant(root, everywhere(f"file:{tmp_path}"), "LOCATION", "alice")
    grant(root, everywhere(f"{shared}.secret"), "DENY SELECT", "alice")
    assert "another object is there by now" in told(lambda: alice.undrop(UndropRequest(shared, "taken")))
    revoke(root, everywhere(f"{shared}.secret"), "DENY SELECT", "alice")
    for name in ("kept", "taken"):
        alice.undrop(UndropRequest(shared, name))
    alice.drop_table(shared, "kept", True)
    root.create_table(table(shared, "kept"))
    assert "[INSERT] privilege" in told(lambda: alice.undrop(UndropRequest(shared, "kept")))


def test_rows_that_a_managed_table_gets_back_are_not_those_of_another(client_of: Clients, tmp_path: Path) -> None:
    root, bob, shared = client_of(ADMIN), client_of("bob"), unique("shared")
    root.create_database(Database(name=shared, ownerName="bob"))
    for name in (names := ("dropped", "emptied", "overwritten")):
        bob.create_table(table(shared, name, [("ds", "string")]))
        root.add_partition(partition(shared, name, ["1"], sd=descriptor(f"file:{tmp_path}/{name}")))
    bob.drop_table(shared, "dropped", False)
    bob.drop_partition(shared, "emptied", ["1"], False)
    where = bob.get_table(shared, names[2]).sd.location
    publish(bob, (shared, names[2]), "", day(where, "1", PublishMode.OVERWRITE))
    for name in names:
        root.create_table(table(shared, f"new_{name}", sd=descriptor(f"file:{tmp_path}/{name}")))
        assert "another object is there by now" in told(lambda: bob.undrop(UndropRequest(shared, name)))  # noqa: B023
