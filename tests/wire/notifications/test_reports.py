"""Events that clients add to the log."""

from __future__ import annotations

from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from tests.wire.builders import new_table, partition, table
from tests.wire.notifications.following import KEYS, Follower, as_told, fire, message, struct
from thrift_idl.gen.hive_metastore.ttypes import (
    CmRecycleRequest,
    FireEventRequest,
    FireEventRequestData,
    GetAllWriteEventInfoRequest,
    InsertEventRequestData,
    Partition,
    Table,
    WriteNotificationLogBatchRequest,
    WriteNotificationLogRequest,
)


def test_inserts_and_refreshes_that_clients_report(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    client.add_partitions([partition(database, name, [day]) for day in "ab"])
    log.read()
    whole = InsertEventRequestData(filesAdded=["f"], filesAddedChecksum=["c"], replace=False)
    parts = [InsertEventRequestData(filesAdded=[], partitionVal=[day]) for day in "ba"]
    ids = fire(client, database, name, insertData=whole)
    ids += fire(client, f"@hive#{database}", name.upper(), ["a"], insertData=InsertEventRequestData(filesAdded=["g"]))
    ids += fire(client, database, name, insertDatas=parts)
    ids += fire(client, database, name, ["b"], refreshEvent=True)
    ids += fire(client, database, name, refreshEvent=False)
    events = log.read()
    assert [event.eventId for event in events] == ids
    assert [event.eventType for event in events] == ["INSERT"] * 4 + ["RELOAD"] * 2
    told = [message(event) for event in events]
    assert (told[0]["files"], told[0]["replace"], "ptnObjJson" in told[0]) == (["f#c##"], "false", False)
    assert (told[1]["files"], told[1]["replace"]) == (["g###"], "true")
    days = [struct(Partition, entry["ptnObjJson"]).values for entry in told[1:5]]
    assert days == [["a"], ["b"], ["a"], ["b"]]
    assert [entry["refreshEvent"] for entry in told[4:]] == ["true", "false"]
    assert fire(client, database, name, insertDatas=[]) == []


def test_many_partitions_can_be_refreshed_in_one_call(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    client.add_partitions([partition(database, name, [day]) for day in "ab"])
    log.read()
    request = FireEventRequest(True, FireEventRequestData(refreshEvent=True), database, name)
    request.batchPartitionValsForRefresh = [["b"], ["a"]]
    ids = client.fire_listener_event(request).eventIds
    events = log.read()
    assert [event.eventId for event in events] == ids
    assert [struct(Partition, message(notification_event)["ptnObjJson"]).values for notification_event in events] == [
        ["b"],
        ["a"],
    ]


@pytest.mark.parametrize(
    ("name", "values", "data", "text"),
    [
        ("nope", None, {"refreshEvent": True}, "nope table not found"),
        ("t", ["x"], {"refreshEvent": True}, "has no partition ds=x"),
        ("t", ["x", "y"], {"refreshEvent": True}, "keys [ds], values [x, y]"),
        ("t", ["x\0"], {"refreshEvent": True}, "U+0000"),
        ("t", None, {}, "insertData, insertDatas or refreshEvent"),
        ("t", None, {"insertDatas": [InsertEventRequestData(filesAdded=[])]}, "Partition values must be set"),
        (
            "t",
            None,
            {"insertData": InsertEventRequestData(filesAdded=["f", "g"], filesAddedChecksum=["c"])},
            "2 files come with 1 checksums",
        ),
    ],
)
def test_reports_that_clients_may_not_send(
    client: Any, log: Follower, name: str, values: list[str] | None, data: dict[str, Any], text: str
) -> None:
    database, _ = new_table(client, KEYS)
    log.read()
    with pytest.raises(TApplicationException) as raised:
        fire(client, database, name, values, **data)
    assert text in str(raised.value)
    assert log.read() == []


def test_writes_of_transactions_are_kept_for_readers_of_the_commit_event(client: Any) -> None:
    database, name = new_table(client, KEYS)
    client.create_table(table(database, "u"))
    client.add_partition(partition(database, name, ["a"]))

    def write(table_name: str, files: list[str], values: list[str] | None = None) -> WriteNotificationLogRequest:
        return WriteNotificationLogRequest(
            77, 3, database, table_name, InsertEventRequestData(filesAdded=files), values
        )

    client.add_write_notification_log(write(name, ["f"], ["a"]))
    again = [write(name, ["g"], ["a"]), write(name, ["f", "h"], ["a"])]
    client.add_write_notification_log_in_batch(WriteNotificationLogBatchRequest("hive", database, name, again))
    client.add_write_notification_log(write("u", ["x", "y"]))
    first, second = client.get_all_write_event_info(GetAllWriteEventInfoRequest(77, database))
    assert (first.table, first.partition, first.files, first.writeId) == (name, "ds=a", "f###]g###]h###", 3)
    assert struct(Partition, first.partitionObj) == client.get_partition(database, name, ["a"])
    assert (second.table, second.partition, second.files) == ("u", "", "x###]y###")
    assert struct(Table, second.tableObj) == as_told(client, database, "u")
    assert client.get_all_write_event_info(GetAllWriteEventInfoRequest(77, database, "u")) == [second]
    assert client.get_all_write_event_info(GetAllWriteEventInfoRequest(77, "*", "*")) == [first, second]
    assert client.get_all_write_event_info(GetAllWriteEventInfoRequest(78, database)) == []
    with pytest.raises(TApplicationException, match="nope table not found"):
        client.add_write_notification_log(write("nope", []))


def test_engines_read_that_the_log_is_complete(client: Any) -> None:
    for key in ("hive.metastore.dml.events", "hive.metastore.notifications.add.thrift.objects"):
        assert client.get_config_value(key, "") == "true"
    assert client.get_config_value("metastore.catalog.default", "") == "hive"
    assert client.cm_recycle(CmRecycleRequest("file:/x", True)) is not None
