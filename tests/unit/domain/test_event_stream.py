"""What a reader of the notification log is told of gaps and of a log that begins again."""

from __future__ import annotations

import json
from typing import Any

from metastore.domain.event_stream import LoggedEvent, Position, Wanted, event_object
from metastore.encoding.json import encode_json
from thrift_idl.gen.hive_metastore.ttypes import Partition, SkewedInfo, StorageDescriptor, Table

EVERYTHING = Wanted()


def event(number: int, kind: str = "ADD_PARTITION", table: str | None = "t", message: str = "{}") -> LoggedEvent:
    return LoggedEvent(number, 1_700_000_000, kind, "hive", "d", table, message)


def taken(position: Position, *events: LoggedEvent, wanted: Wanted = EVERYTHING) -> list[Any]:
    objects = list(position.take(events, "HIDDEN", wanted, details=False))
    return [(each["first"], each["last"]) if each["type"] == "MISSED" else each["id"] for each in objects]


def test_gaps() -> None:
    position = Position(3, known=True)
    assert taken(position, event(4), event(7), event(8)) == [4, (5, 6), 7, 8]
    assert taken(position, event(10)) == [(9, 9), 10]
    assert position.after == 10


def test_what_was_deleted_before_the_first_event_is_no_loss() -> None:
    position = Position(0, known=False)
    assert taken(position, event(500)) == [500]
    assert taken(position, event(502)) == [(501, 501), 502]


def test_hidden_and_unwanted_events_are_no_gaps() -> None:
    position = Position(0, known=True)
    wanted = Wanted("d", "t", ("ADD_PARTITION",))
    others = event(1, table="u"), event(2, "DROP_PARTITION"), event(3, "HIDDEN", None), event(4, table=None)
    assert taken(position, *others, event(5), wanted=wanted) == [5]


def test_the_rename_of_a_table_is_an_event_of_both_names() -> None:
    skewed = StorageDescriptor(skewedInfo=SkewedInfo(["a"], [["x"]], {("x",): "/x"}))
    before = json.dumps({"tableObjBeforeJson": encode_json(Table(tableName='a"}\\ü', dbName="old", sd=skewed))})
    renamed = event(5, "ALTER_TABLE", "t", before)
    former = {"database": "old", "table": 'a"}\\ü'}
    assert event_object(renamed, details=False)["renamed_from"] == former
    for wanted in (EVERYTHING, Wanted("old"), Wanted("old", former["table"]), Wanted("d", "t", ("ALTER_TABLE",))):
        assert wanted.includes(renamed)
    for wanted in (Wanted("old", "t"), Wanted("d", former["table"]), Wanted("other"), Wanted("old", None, ("INSERT",))):
        assert not wanted.includes(renamed)
    stays = event(5, "ALTER_TABLE", "t", json.dumps({"tableObjBeforeJson": encode_json(Table("t", "d"))}))
    assert "renamed_from" not in event_object(stays, details=False)


def test_a_log_that_begins_again() -> None:
    position = Position(100, known=True)
    assert list(position.rewind(100)) == []
    (told,) = position.rewind(60)
    assert (told["id"], told["type"], told["from"]) == (60, "REWOUND", 100)
    assert taken(position, event(61)) == [61]


def test_objects() -> None:
    several = event(1, message='{"partitions":[{"ds":"1"},{"ds":"2"}],"user":"ann"}')
    assert event_object(several, details=False) == {
        "id": 1,
        "time": "2023-11-14T22:13:20Z",
        "type": "ADD_PARTITION",
        "catalog": "hive",
        "database": "d",
        "table": "t",
        "partitions": [{"ds": "1"}, {"ds": "2"}],
        "user": "ann",
    }
    one = event(2, "ALTER_PARTITION", message='{"keyValues":{"ds":"1"}}')
    assert event_object(one, details=True)["partitions"] == [{"ds": "1"}]
    assert event_object(one, details=True)["message"] == {"keyValues": {"ds": "1"}}
    nothing = LoggedEvent(3, 0, "OPEN_TXN", None, None, None, "{}")
    assert event_object(nothing, details=False) == {"id": 3, "time": "1970-01-01T00:00:00Z", "type": "OPEN_TXN"}


def test_a_renamed_partition_has_its_old_and_its_new_values() -> None:
    """A program that waits for the new values must be told."""
    fields = {"keyValues": {"ds": "1", "hour": "2"}}
    for new, values in (("1", [fields["keyValues"]]), ("9", [fields["keyValues"], {"ds": "9", "hour": "2"}])):
        skew = SkewedInfo(["c"], [["us"]], {("us",): "file:/w/c=us"})  # text that is not valid JSON
        after = Partition(values=[new, "2"], dbName="d", sd=StorageDescriptor(skewedInfo=skew))
        message = json.dumps({**fields, "partitionObjAfterJson": encode_json(after)})
        assert event_object(event(1, "ALTER_PARTITION", message=message), details=False)["partitions"] == values


def test_an_event_with_a_strange_partition_does_not_end_the_stream() -> None:
    for after in ("{}", '{"1":{"lst":["str",2,"9","9"]}}', '{"1":{"lst":["str",1,'):
        message = json.dumps({"keyValues": {"ds": "1"}, "partitionObjAfterJson": after})
        found = event_object(event(1, "ALTER_PARTITION", message=message), details=False)
        assert found["partitions"] == [{"ds": "1"}]
