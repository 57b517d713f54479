"""Calls of the write protocol are bound to the user who began the write, and to the locations of its table. So are
locks and transactions to the rights of their users."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import NullPool, create_engine, text

from tests.fixtures.server import Server
from tests.wire.acid import EW, EX, SR, SW, component
from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import grant, on_database, on_table, revoke
from tests.wire.authorization.test_attacks import told
from tests.wire.builders import partition, table, unique
from tests.wire.writing import begin, change, clean, day, files_below, let_die, local, publish, renew, write_file
from thrift_idl.gen.hive_metastore.ttypes import (
    Catalog,
    CompactionRequest,
    CompactionType,
    CreateCatalogRequest,
    CreationMetadata,
    Database,
    DataOperationType,
    FireEventRequest,
    FireEventRequestData,
    InsertEventRequestData,
    LockComponent,
    LockRequest,
    MetaException,
    NoSuchObjectException,
    OpenTxnRequest,
    ShowCompactRequest,
    SQLForeignKey,
    WriteNotificationLogBatchRequest,
    WriteNotificationLogRequest,
)
from thrift_idl.gen.metastore.ttypes import BeginWriteRequest, PublishMode, PublishPartition, PublishRequest, Rename

Clients = Callable[..., Any]
NOT_OWN = "is not a location of the table"


class Tables(NamedTuple):
    """A table of bob, and a table of zowner that bob cannot see; names and directories."""

    mine: tuple[str, str]
    home: str
    theirs: tuple[str, str]
    hidden: str


@pytest.fixture
def tables(client_of: Clients) -> Tables:
    root, mine, theirs = client_of(ADMIN), unique("mine"), unique("zsecret")
    root.create_database(Database(name=mine, ownerName="bob"))
    root.create_database(Database(name=theirs, ownerName="zowner"))
    client_of("bob").create_table(table(mine, "t", [("ds", "string")]))
    client_of("zowner").create_table(table(theirs, "t", [("ds", "string")]))
    locations = [root.get_table(name, "t").sd.location for name in (mine, theirs)]
    for location in locations:
        write_file(f"{location}/ds=1/part-0", location)
    return Tables((mine, "t"), locations[0], (theirs, "t"), locations[1])


def test_a_write_cannot_name_locations_of_another_table(
    client_of: Clients, guarded_server: Server, tables: Tables
) -> None:
    bob, home, hidden = client_of("bob"), tables.home, tables.hidden
    write = begin(bob, tables.mine)
    own = f"{home}/_versions/{write}/part-1"
    write_file(own)
    missing = f"{hidden}x"
    for where in (hidden, missing, f"{home}/../../{tables.theirs[0]}.db/t", hidden.removeprefix("file:")):
        for rename in (
            Rename(f"{where}/part-1", own),
            Rename(own, f"{where}/part-1"),
            Rename(f"{where}/{write}", f"{where}/a"),
        ):
            with pytest.raises(MetaException, match=NOT_OWN):
                renew(bob, write, renames=[rename])
        for options in ({"shared": [where]}, {"shared": [f"{where}/_temp_{write}"]}):
            with pytest.raises(MetaException, match=NOT_OWN):
                renew(bob, write, **options)
        with pytest.raises(MetaException, match=NOT_OWN):
            renew(bob, write, f"{where}/ds=2")
        with pytest.raises(MetaException, match=NOT_OWN):
            publish(bob, tables.mine, write, retired=[where])
    let_die(guarded_server.database_url, write)
    clean(bob, tables.mine)
    assert files_below(hidden) == {"ds=1/part-0"}


def test_cleaning_checks_the_locations_of_a_write_again(
    client_of: Clients, guarded_server: Server, tables: Tables
) -> None:
    """An earlier version may have stored the locations, or the partition that contained them was dropped."""
    bob, url = client_of("bob"), guarded_server.database_url
    write = begin(bob, tables.mine)
    own = f"{tables.home}/_temp_{write}"
    write_file(f"{own}/part-1")
    write_file(f"{tables.hidden}/ds=1/part-{write}")
    change(url, f"INSERT INTO open_write_renames VALUES ('{write}', 1, '{tables.hidden}/ds=9', '{own}')")
    change(url, f"INSERT INTO open_write_locations VALUES ('{write}', '{tables.hidden}/ds=1', false)")
    let_die(url, write)
    assert [each.error for each in clean(bob, tables.mine).locations if each.error] == []
    assert files_below(tables.hidden) == {"ds=1/part-0", f"ds=1/part-{write}"}
    assert local(own).exists()


def test_a_former_directory_that_is_another_tables_now_is_not_the_writes(
    client_of: Clients, tables: Tables, tmp_path: Path
) -> None:
    root, bob = client_of(ADMIN), client_of("bob")
    write = begin(bob, tables.mine)
    renamed = bob.get_table(*tables.mine)
    renamed.tableName = "renamed"
    bob.alter_table(*tables.mine, renamed)
    renew(bob, write, f"{tables.home}/ds=7")
    new = table(tables.mine[0], "t", [("ds", "string")], owner="zowner")
    root.create_table(new)
    for location in (tables.home, f"{tables.home}/ds=1"):
        with pytest.raises(MetaException, match=NOT_OWN):
            renew(bob, write, renames=[Rename(location, f"{tables.home}/_temp_{write}")])


def test_a_directory_of_another_table_below_the_own_one_is_not_the_writes(client_of: Clients, tables: Tables) -> None:
    root, bob = client_of(ADMIN), client_of("bob")
    inner = table(tables.theirs[0], "inner", [("ds", "string")], owner="zowner")
    inner.sd.location = f"{tables.home}/inner"
    root.create_table(inner)
    write = begin(bob, tables.mine)
    for where in (inner.sd.location, f"{inner.sd.location}/ds=1"):
        with pytest.raises(MetaException, match=NOT_OWN):
            renew(bob, write, renames=[Rename(where, f"{tables.home}/_temp_{write}")])
        assert "LOCATION" in told(lambda: publish(bob, tables.mine, write, day("", "1", location=where)))  # noqa: B023
    assert renew(bob, write, f"{tables.home}/ds=2") == [True]


def test_partitions_elsewhere_belong_to_their_table(client_of: Clients, tables: Tables, tmp_path: Path) -> None:
    root, bob, elsewhere = client_of(ADMIN), client_of("bob"), f"file:{tmp_path}/elsewhere/ds=5"
    apart = partition(*tables.mine, ["5"])
    apart.sd.location = elsewhere
    root.add_partition(apart)
    write = begin(bob, tables.mine)
    renames = [
        Rename(f"{elsewhere}/part-0", f"{elsewhere}/_temp_{write}/part-0"),
        Rename(elsewhere, f"file:{tmp_path}/elsewhere/_temp_{write}_ds~5"),
    ]
    assert renew(bob, write, f"{elsewhere}/a=1", shared=[elsewhere], renames=renames) == [False]
    with pytest.raises(MetaException, match=NOT_OWN):
        renew(bob, write, renames=[Rename(f"file:{tmp_path}/elsewhere/ds=6", renames[1].target)])
    grant(root, on_table(*tables.mine), "INSERT", "carol")
    entry = day(tables.home, "5", PublishMode.APPEND, location=elsewhere)
    publish(bob, tables.mine, write, entry, retired=[f"{elsewhere}/_temp_{write}"])


def test_a_user_cannot_continue_the_write_of_another(
    client_of: Clients, guarded_server: Server, tables: Tables
) -> None:
    """Both users may insert. The attacker knows the query id, which the names of files contain."""
    root, bob, carol = client_of(ADMIN), client_of("bob"), client_of("carol")
    for right in ("INSERT", "DELETE", "ALTER"):
        grant(root, on_table(*tables.mine), right, "carol")
    write = begin(bob, tables.mine)
    no_write = f"There is no open write {write}"
    attacks: list[Callable[[], Any]] = [
        lambda: renew(carol, write),
        lambda: renew(carol, write, f"{tables.home}/ds=9"),
        lambda: publish(carol, tables.mine, write, day(tables.home, "9")),
        lambda: carol.publish_all([PublishRequest(*tables.mine, write, [day(tables.home, "9")])]),
        lambda: carol.end_write(write),
    ]
    for attack in attacks:
        with pytest.raises((MetaException, NoSuchObjectException), match=no_write):
            attack()
    assert clean(carol, tables.mine).locations == []  # the write lives: cleaning does not abort it
    assert renew(bob, write, f"{tables.home}/ds=2") == [True]
    publish(bob, tables.mine, write, day(tables.home, "2"))
    assert bob.get_partition_names(*tables.mine, -1) == ["ds=2"]


def test_a_writer_that_removes_files_needs_delete(client_of: Clients, tables: Tables) -> None:
    overwriting = BeginWriteRequest(*tables.mine, overwrites=True)
    client_of("bob").begin_write(overwriting)
    carol, shared = client_of("carol"), on_table(*tables.mine)
    grant(client_of(ADMIN), shared, "INSERT", "carol")
    carol.begin_write(BeginWriteRequest(*tables.mine))
    with pytest.raises(MetaException, match=r"\[DELETE\] privilege"):
        carol.begin_write(overwriting)
    grant(client_of(ADMIN), shared, "DELETE", "carol")
    carol.begin_write(overwriting)


def test_a_user_who_has_lost_the_right_can_end_the_own_write(client_of: Clients, tables: Tables) -> None:
    root, carol, shared = client_of(ADMIN), client_of("carol"), on_table(*tables.mine)
    grant(root, shared, "INSERT", "carol")
    write = begin(carol, tables.mine)
    revoke(root, shared, "INSERT", "carol")
    for call in (lambda: renew(carol, write), lambda: client_of("dave").end_write(write)):
        with pytest.raises(NoSuchObjectException, match=f"There is no open write {write}"):
            call()
    carol.end_write(write)
    with pytest.raises(NoSuchObjectException, match=f"There is no open write {write}"):
        renew(client_of("bob"), write)


def test_the_owner_of_a_table_ends_a_write_that_blocks_it(client_of: Clients, tables: Tables) -> None:
    """A lease may last a day, and a REVOKE does not end it. What the write has moved away returns."""
    root, bob, carol, shared = client_of(ADMIN), client_of("bob"), client_of("carol"), on_table(*tables.mine)
    grant(root, shared, "INSERT", "carol")
    for ends in (bob, root):
        write = begin(carol, tables.mine, lease_millis=86_400_000)
        away = f"{tables.home}/_temp_{write}_ds~1"
        renew(carol, write, renames=[Rename(f"{tables.home}/ds=1", away)])
        local(f"{tables.home}/ds=1").rename(local(away))
        with pytest.raises(NoSuchObjectException, match=f"There is no open write {write}"):
            client_of("dave").end_write(write)
        ends.end_write(write)
        with pytest.raises(NoSuchObjectException, match=f"There is no open write {write}"):
            renew(carol, write)
        clean(bob, tables.mine)
        assert "ds=1/part-0" in files_below(tables.home)


def test_a_write_that_a_server_of_an_earlier_version_began_has_no_owner(
    client_of: Clients, guarded_server: Server, tables: Tables
) -> None:
    bob, carol = client_of("bob"), client_of("carol")
    grant(client_of(ADMIN), on_table(*tables.mine), "INSERT", "carol")
    write = begin(bob, tables.mine)
    change(guarded_server.database_url, f"UPDATE open_writes SET user_name = NULL WHERE query_id = '{write}'")
    assert renew(carol, write) == []
    carol.end_write(write)


def test_the_write_of_another_table_cannot_be_published_here(client_of: Clients, tables: Tables) -> None:
    bob = client_of("bob")
    bob.create_table(table(tables.mine[0], "other", [("ds", "string")]))
    write = begin(bob, (tables.mine[0], "other"))
    with pytest.raises(NoSuchObjectException, match=f"There is no open write {write}"):
        publish(bob, tables.mine, write, day(tables.home, "2"))
    bob.end_write(write)


def test_a_user_cannot_retire_files_of_another_users_write_or_partition(
    client_of: Clients, guarded_server: Server, tables: Tables
) -> None:
    """Cleaning removes retired files: this must need a right to delete, and never reach an open write."""
    root, bob, carol, home = client_of(ADMIN), client_of("bob"), client_of("carol"), tables.home
    grant(root, on_table(*tables.mine), "INSERT", "carol")
    bob.add_partition(partition(*tables.mine, ["1"]))
    write = begin(bob, tables.mine)
    assert renew(bob, write, f"{home}/ds=5") == [True]
    files = [f"{home}/ds=5/part-{write}", f"{home}/_versions/{write}/a/part-0", f"{home}/_staging/{write}/part-0"]
    for file in (*files, f"{home}/ds=5/part-1"):
        write_file(file)
    of_write = [*files, f"{home}/ds=5/part-1", f"{home}/ds=5", f"{home}/_versions/{write}", f"{home}/_staging/{write}"]
    for where in (*of_write, f"{home}/ds=1/part-0", f"{home}/old"):
        for query_id in (begin(carol, tables.mine), "unregistered", f"x-{write}"):
            with pytest.raises(MetaException, match=r"\[DELETE\] privilege"):
                publish(carol, tables.mine, query_id, day(home, "7"), retired=[where])
    grant(root, on_table(*tables.mine), "DELETE", "carol")
    for where in of_write:
        for query_id in (begin(carol, tables.mine), "unregistered"):
            with pytest.raises(MetaException, match=NOT_OWN):
                publish(carol, tables.mine, query_id, day(home, "7"), retired=[where])
    clean(root, tables.mine)
    publish(bob, tables.mine, write, day(home, "5"))
    assert f"ds=5/part-{write}" in files_below(home)
    assert "ds=1/part-0" in files_below(home)


def test_a_write_retires_files_that_it_has_moved_away(client_of: Clients, tables: Tables) -> None:
    """As our client does, with INSERT alone."""
    root, carol, home = client_of(ADMIN), client_of("carol"), tables.home
    grant(root, on_table(*tables.mine), "INSERT", "carol")
    write = begin(carol, tables.mine)
    away = f"{home}/_temp_{write}/ds=1"
    write_file(f"{away}/part-0")
    assert publish(carol, tables.mine, write, day(home, "2"), retired=[away]).replaced == [away]


def test_a_reader_takes_no_locks_that_hinder_others(client_of: Clients, tables: Tables) -> None:
    """A read lock whose operation writes makes other transactions fail; a lock on a database blocks its tables."""
    root, bob, theirs = client_of(ADMIN), client_of("bob"), tables.theirs[0]
    grant(root, on_table(*tables.theirs), "SELECT", "bob")
    grant(root, on_database(theirs), "CREATE", "bob")
    [transaction] = bob.open_txns(OpenTxnRequest(1, "bob", "host")).txn_ids

    def lock(component: LockComponent) -> str:
        return told(lambda: bob.lock(LockRequest([component], transaction, "bob", "host")))

    def of_table(operation: int) -> LockComponent:
        return component(SR, *tables.theirs, operationType=operation, isTransactional=True)

    for operation in (DataOperationType.INSERT, DataOperationType.UPDATE, DataOperationType.UNSET):
        assert "Permission denied" in lock(of_table(operation))
    for kind in (SW, EX, EW):
        assert "Permission denied" in lock(component(kind, theirs))
        assert "Permission denied" in lock(component(kind, "default"))
    assert "Exception" not in lock(of_table(DataOperationType.SELECT)) + lock(component(SR, theirs))
    [another] = client_of("alice").open_txns(OpenTxnRequest(1, "alice", "host")).txn_ids
    files = InsertEventRequestData(filesAdded=["f"])
    request = WriteNotificationLogRequest(another, 1, *tables.mine, files)
    assert f"No such transaction txnid:{another}" in told(lambda: bob.add_write_notification_log(request))
    batch = WriteNotificationLogBatchRequest("hive", *tables.mine, [request])
    assert f"No such transaction txnid:{another}" in told(lambda: bob.add_write_notification_log_in_batch(batch))


def test_rights_are_checked_on_the_names_that_a_call_uses(client_of: Clients, tables: Tables, tmp_path: Path) -> None:
    """A view's own names complete those of its sources, and a foreign key refers to the catalog of its table, whatever
    view and catalog the call names in addition."""
    root, bob, (theirs, name) = client_of(ADMIN), client_of("bob"), tables.theirs
    grant(root, on_database(theirs), "CREATE", "bob")
    of_mine = CreationMetadata("hive", tables.mine[0], "view", {name})
    view = table(theirs, "view", tableType="MATERIALIZED_VIEW", creationMetadata=of_mine)
    assert "NoSuchObject" in told(lambda: bob.create_table(view))
    view.creationMetadata = CreationMetadata("hive", theirs, "view", {".".join(tables.mine)})
    bob.create_table(view)
    assert f"{theirs}.t table not found" in told(lambda: bob.update_creation_metadata("hive", theirs, "view", of_mine))
    catalog, empty = unique("cat"), ([], [], [], [])
    root.create_catalog(CreateCatalogRequest(Catalog(catalog, None, f"file:{tmp_path}")))
    root.create_database(Database(name=theirs, catalogName=catalog, ownerName="bob"))
    bob.create_table(table(f"@{catalog}#{theirs}", name))
    for prefix in (f"@{catalog}#{theirs}", theirs):
        key = SQLForeignKey(prefix, name, "b", tables.mine[0], "child", "a", 1, 0, 0, "fk", "pk", catName=catalog)
        answer = told(lambda: bob.create_table_with_constraints(table(tables.mine[0], "child"), [], [key], *empty))  # noqa: B023
        assert "column" not in answer
        assert "primary keys" not in answer
    client_of("zowner").drop_table(theirs, name, True)


def test_reported_files_are_those_of_the_table(client_of: Clients, tables: Tables) -> None:
    """Hive's replication copies the files that inserts report, with its own rights."""
    bob, mine = client_of("bob"), tables.mine
    [transaction] = bob.open_txns(OpenTxnRequest(1, "bob", "host")).txn_ids

    def report(file: str) -> list[str]:
        data = InsertEventRequestData(filesAdded=[file])
        write = WriteNotificationLogRequest(transaction, 1, *mine, data)
        batch = WriteNotificationLogBatchRequest("hive", *mine, [write])
        return [
            told(lambda: bob.fire_listener_event(FireEventRequest(True, FireEventRequestData(data), *mine))),
            told(lambda: bob.add_write_notification_log(write)),
            told(lambda: bob.add_write_notification_log_in_batch(batch)),
        ]

    for file in (f"{tables.hidden}/part-0", f"{tables.home}/../../{tables.theirs[0]}.db/t/part-0", "../part-0"):
        assert all("[LOCATION] privilege" in answer for answer in report(file))
    for separator in ("]", "#x#", "/../"):  # a reader would find another file, or another directory
        file = f"{tables.home}/f{separator}part-0"
        assert all("must not contain" in answer for answer in report(file))
    for file in (f"{tables.home}/part-0", f"{tables.home}/ds=1/delta_1/part-0", "part-0"):
        assert not any("Exception" in answer for answer in report(file))


def test_insert_does_not_undo_what_the_owner_changes_meanwhile(
    client_of: Clients, guarded_server: Server, tables: Tables
) -> None:
    """INSERT is enough to change statistics of a table that is otherwise unchanged: also when the change is made."""
    root, bob, (theirs, name) = client_of(ADMIN), client_of("bob"), tables.theirs
    grant(root, on_table(theirs, name), "INSERT", "bob")
    new = bob.get_table(theirs, name)
    new.parameters["numRows"] = "7"
    engine = create_engine(guarded_server.database_url, poolclass=NullPool)
    own = "id = (SELECT t.id FROM tables AS t JOIN databases AS d ON d.id = t.database_id WHERE d.name = :name)"
    waits = text("SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))")
    with ThreadPoolExecutor(1) as pool:
        with engine.begin() as owner:
            owner.execute(text(f"UPDATE tables SET version = version + 1 WHERE {own}"), {"name": theirs})
            answer = pool.submit(told, lambda: bob.alter_table(theirs, name, new))
            while not owner.execute(waits).scalar():
                assert not answer.done(), answer.result()
        assert f"Another client has just changed {theirs}.{name}" in answer.result()
    bob.alter_table(theirs, name, new)
    assert root.get_table(theirs, name).parameters["numRows"] == "7"


def test_nobody_chooses_the_user_of_a_compaction(client_of: Clients) -> None:
    bob, mine = client_of("bob"), unique("mine")
    client_of(ADMIN).create_database(Database(name=mine, ownerName="bob"))
    bob.create_table(table(mine, "t", [("ds", "string")]))
    bob.compact2(CompactionRequest(mine, "t", "ds=1", CompactionType.MAJOR, "zowner"))
    assert [queued.runAs for queued in bob.show_compact(ShowCompactRequest(dbName=mine)).compacts] == [None]


def test_a_write_with_insert_alone_changes_no_definition(client_of: Clients, tables: Tables) -> None:
    root, carol, plain = client_of(ADMIN), client_of("carol"), (tables.mine[0], "plain")
    client_of("bob").create_table(table(*plain))
    where = root.get_table(*plain).sd.location
    grant(root, on_table(*plain), "INSERT", "carol")
    for name in ("spark_query_id", "numRows", "streaming.batch.q", "EXTERNAL", "auto.purge", "comment"):
        entry = PublishPartition([], PublishMode.APPEND, where, [], parameters={name: "1"})
        answer = told(lambda: publish(carol, plain, begin(carol, plain), entry))  # noqa: B023 - called at once
        assert ("[ALTER] privilege" in answer) == (name in ("EXTERNAL", "auto.purge", "comment"))
