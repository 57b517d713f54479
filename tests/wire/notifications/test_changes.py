"""Events of metadata changes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from thrift.protocol.TBase import TExceptionBase

from metastore.domain.events import PLACEHOLDER, SINGLE, WHOLE
from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, new_database, new_table, partition, skewed, table
from tests.wire.notifications.following import KEYS, Follower, as_told, message, struct
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPartitionsRequest,
    Database,
    NotificationEventRequest,
    Partition,
    Table,
)
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishPartition, PublishRequest

# ---- Messages


def test_the_log_begins_with_one(fresh_metastore_server: Server) -> None:
    with connected(fresh_metastore_server) as client:
        assert client.get_current_notificationEventId().eventId == 0
        assert client.get_next_notification(NotificationEventRequest(0)).events == []
        name = new_database(client)
        (event,) = client.get_next_notification(NotificationEventRequest(0)).events
    assert (event.eventId, event.eventType, event.catName, event.dbName) == (1, "CREATE_DATABASE", "hive", name)
    assert event.tableName is None
    assert event.eventTime == message(event)["timestamp"] > 0


def test_databases(client: Any, log: Follower) -> None:
    name = new_database(client)
    before = client.get_database(name)
    after = copy.deepcopy(before)
    after.description = "é"
    client.alter_database(name, after)
    client.drop_database(name, True, True)
    created, altered, dropped = log.read()
    assert struct(Database, message(created)["dbJson"]) == before
    assert struct(Database, message(altered)["dbObjBeforeJson"]) == before
    assert struct(Database, message(altered)["dbObjAfterJson"]) == after
    assert (dropped.eventType, message(dropped)["db"]) == ("DROP_DATABASE", name)


def test_tables(client: Any, log: Follower) -> None:
    database = new_database(client)
    sent = table(database, "T", KEYS)
    sent.sd.skewedInfo = skewed(["a"], [["1"]])
    sent.sd.skewedInfo.skewedColValueLocationMaps = {("1",): "file:/x"}
    client.create_table(sent)
    before = as_told(client, database, "t")
    after = copy.deepcopy(before)
    after.parameters["k"] = 'v"\n😀'
    client.alter_table(database, "t", after)
    client.drop_table(database, "t", True)
    _, created, altered, dropped = log.read()
    assert (created.dbName, created.tableName) == (database, "t")
    assert struct(Table, message(created)["tableObjJson"]) == before
    assert struct(Table, message(altered)["tableObjBeforeJson"]) == before
    assert struct(Table, message(altered)["tableObjAfterJson"]).parameters == after.parameters
    assert (dropped.eventType, message(dropped)["tableType"]) == ("DROP_TABLE", "MANAGED_TABLE")


def test_a_renamed_table_is_filed_under_its_new_name(client: Any, log: Follower) -> None:
    database, name = new_table(client)
    renamed = client.get_table(database, name)
    renamed.tableName = "other"
    client.alter_table(database, name, renamed)
    event = log.read()[-1]
    assert (event.eventType, event.tableName, message(event)["table"]) == ("ALTER_TABLE", "other", name)
    content = message(event)
    assert struct(Table, content["tableObjBeforeJson"]).sd.location.endswith(f"/{name}")
    assert struct(Table, content["tableObjAfterJson"]) == as_told(client, database, "other")


def test_partitions(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    client.add_partitions([partition(database, name, [day]) for day in "ab"])
    first = client.get_partition(database, name, ["a"])
    changed = copy.deepcopy(first)
    changed.parameters["k"] = "v"
    client.alter_partition(database, name, changed)
    moved = copy.deepcopy(changed)
    moved.values = ["c"]
    client.rename_partition(database, name, ["a"], moved)
    client.drop_partition(database, name, ["c"], True)
    added, altered, renamed, dropped = log.read()[2:]
    assert added.eventType == "ADD_PARTITION"
    assert message(added)["partitions"] == [{"ds": "a"}, {"ds": "b"}]
    assert struct(Partition, message(added)["partitionListJson"][0]) == first
    assert struct(Table, message(added)["tableObjJson"]) == as_told(client, database, name)
    assert (altered.eventType, message(altered)["keyValues"]) == ("ALTER_PARTITION", {"ds": "a"})
    assert struct(Partition, message(altered)["partitionObjBeforeJson"]) == first
    assert struct(Partition, message(altered)["partitionObjAfterJson"]).parameters["k"] == "v"
    before, after = (struct(Partition, message(renamed)[f"partitionObj{when}Json"]) for when in ("Before", "After"))
    assert (before.values, after.values) == (["a"], ["c"])
    assert (before.sd.location[-5:], after.sd.location[-5:]) == ("/ds=a", "/ds=c")
    assert (dropped.eventType, message(dropped)["partitions"]) == ("DROP_PARTITION", [{"ds": "c"}])


def test_added_partitions_of_different_shapes_are_notified_whole(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    log.read()
    strange = columns(("a", "int"), ("y", "string"))
    strange[1].comment = f'{{{PLACEHOLDER}"\\u0001,{{\\{PLACEHOLDER}'
    other = descriptor(cols=strange, skewedInfo=skewed(["a"], [["1"]]))
    other.skewedInfo.skewedColValueLocationMaps = {("1",): "file:/x"}
    shapes = [descriptor(), other, descriptor(), copy.deepcopy(other)]
    client.add_partitions([partition(database, name, [f"{{{PLACEHOLDER}{n}"], sd=sd) for n, sd in enumerate(shapes)])
    (added,) = log.read()
    told = [struct(Partition, text) for text in message(added)["partitionListJson"]]
    assert told == client.get_partitions(database, name, -1)


def test_a_database_is_dropped_with_its_tables(client: Any, log: Follower) -> None:
    database, _ = new_table(client)
    client.create_table(table(database, "u"))
    log.read()
    client.drop_database(database, True, True)
    assert log.types() == ["DROP_TABLE", "DROP_TABLE", "DROP_DATABASE"]


def test_failed_changes_are_not_notified(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    client.add_partition(partition(database, name, ["a"]))
    log.read()
    stale = client.get_table(database, name)
    stale.partitionKeys = columns(("other", "string"))
    taken = PublishRequest(database, name, "q", [PublishPartition(["a"], PublishMode.CREATE, "file:/x", [])])
    for call in (
        lambda: client.create_database(Database(database)),
        lambda: client.create_table(table(database, name)),
        lambda: client.alter_table(database, name, stale),
        lambda: client.add_partitions([partition(database, name, [day]) for day in "ba"]),
        lambda: client.drop_partition(database, name, ["b"], False),
        lambda: client.drop_database(database, False, False),
        lambda: client.publish(taken),
    ):
        with pytest.raises(TExceptionBase):
            call()
    client.add_partitions_req(AddPartitionsRequest(database, name, [partition(database, name, ["a"])], True))
    assert log.read() == []
    client.create_table(table(database, "u"))
    assert log.types() == ["CREATE_TABLE"]


# ---- Writes


def test_a_published_write_is_notified_as_its_changes(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    client.add_partitions([partition(database, name, [day]) for day in "ab"])
    log.read()
    places = {day: client.get_partition(database, name, [day]).sd.location for day in "ab"}
    entries = [
        PublishPartition(["a"], PublishMode.APPEND, places["a"], []),
        PublishPartition(["b"], PublishMode.OVERWRITE, places["b"] + "/new", []),
        PublishPartition(["c"], PublishMode.CREATE, places["b"] + "/c", []),
    ]
    client.publish(PublishRequest(database, name, "q", entries))
    added, *altered, first, second = log.read()
    assert (added.eventType, message(added)["partitions"]) == ("ADD_PARTITION", [{"ds": "c"}])
    assert struct(Partition, message(added)["partitionListJson"][0]) == client.get_partition(database, name, ["c"])
    assert [event.eventType for event in altered] == ["ALTER_PARTITION"] * 2
    assert struct(Partition, message(altered[1])["partitionObjBeforeJson"]).sd.location == places["b"]
    assert struct(Partition, message(altered[1])["partitionObjAfterJson"]).sd.location == places["b"] + "/new"
    assert [message(event)["replace"] for event in (first, second)] == ["false", "true"]
    assert struct(Partition, message(first)["ptnObjJson"]) == client.get_partition(database, name, ["a"])


def test_a_published_table_is_notified_as_changed_and_written(client: Any, log: Follower) -> None:
    database, name = new_table(client)
    path = client.get_table(database, name).sd.location + "/new"
    client.publish(PublishRequest(database, name, "q", [PublishPartition([], PublishMode.OVERWRITE, path, [])]))
    altered, inserted = log.read()[2:]
    assert struct(Table, message(altered)["tableObjAfterJson"]).sd.location == path
    assert (inserted.eventType, message(inserted)["replace"]) == ("INSERT", "true")
    assert struct(Table, message(inserted)["tableObjJson"]) == as_told(client, database, name)


@pytest.mark.parametrize(("count", "mode"), [(WHOLE + 1, PublishMode.CREATE), (SINGLE + 1, PublishMode.OVERWRITE)])
def test_a_large_write_is_a_bounded_number_of_events(client: Any, log: Follower, count: int, mode: int) -> None:
    database, name = new_table(client, KEYS, parameters={"EXTERNAL": "TRUE"})
    if mode == PublishMode.OVERWRITE:
        client.add_partitions([partition(database, name, [f"{n}"]) for n in range(count)])
    log.read()
    entries = [PublishPartition([f"{n}"], mode, f"file:/x/{n}", []) for n in range(count)]
    client.publish(PublishRequest(database, name, "q", entries))
    *added, reload, insert = log.read()
    assert [len(message(event)["partitions"]) for event in added] == ([count] if mode == PublishMode.CREATE else [])
    assert (reload.eventType, message(reload)["refreshEvent"]) == ("RELOAD", "false")
    assert (insert.eventType, message(insert).get("ptnObjJson")) == ("INSERT", None)
