"""Messages of events: Hive's fields, and bounds that hold whatever a change brings."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.events import (
    LARGEST,
    NAMED,
    WHOLE,
    DatabaseText,
    Event,
    EventType,
    EventWriter,
    PartitionText,
    TableText,
    encoded_file,
)

TABLE = TableText("hive", "db", "t", "MANAGED_TABLE", ("ds", "n"), -1, "{table}")
WRITER = EventWriter(1_700_000_000)


def message(event: Event) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(event.message)
    assert content["timestamp"] == event.time == 1_700_000_000
    assert content["server"] == content["servicePrincipal"] == ""
    return content


def values(count: int) -> list[list[str]]:
    return [["a", str(n)] for n in range(count)]


def test_databases() -> None:
    database = DatabaseText("hive", "db", "{database}")
    event = WRITER.create_database(database)
    assert (event.type, event.catalog, event.database, event.table) == ("CREATE_DATABASE", "hive", "db", None)
    assert (message(event)["db"], message(event)["dbJson"]) == ("db", "{database}")
    changed = message(WRITER.alter_database(database, database._replace(text="{after}")))
    assert (changed["dbObjBeforeJson"], changed["dbObjAfterJson"]) == ("{database}", "{after}")
    assert message(WRITER.drop_database(database))["db"] == "db"


def test_a_renamed_table_is_filed_under_its_new_name_and_told_under_the_old_one() -> None:
    event = WRITER.alter_table(TABLE, TABLE._replace(database="other", name="u", text="{after}", write_id=7))
    assert (event.type, event.database, event.table) == ("ALTER_TABLE", "other", "u")
    content = message(event)
    assert (content["db"], content["table"], content["tableType"]) == ("db", "t", "MANAGED_TABLE")
    assert (content["tableObjBeforeJson"], content["tableObjAfterJson"]) == ("{table}", "{after}")
    assert (content["isTruncateOp"], content["writeId"]) == ("false", 7)


def test_partitions_have_their_values_by_key() -> None:
    before, after = PartitionText(["a", "1"], "{p}"), PartitionText(["a", "2"], "{q}")
    content = message(WRITER.alter_partition(TABLE, before, after, truncated=True))
    assert content["keyValues"] == {"ds": "a", "n": "1"}
    assert (content["partitionObjBeforeJson"], content["partitionObjAfterJson"]) == ("{p}", "{q}")
    assert content["isTruncateOp"] == "true"
    inserted = message(WRITER.insert(TABLE, before, replace=True, files=["f###"]))
    assert (inserted["ptnObjJson"], inserted["partKeyVals"]) == ("{p}", {"ds": "a", "n": "1"})
    assert (inserted["replace"], inserted["files"]) == ("true", ["f###"])
    assert "ptnObjJson" not in message(WRITER.insert(TABLE, None, replace=False))


def test_added_partitions_are_one_event_with_their_objects() -> None:
    (event,) = WRITER.add_partitions(TABLE, values(WHOLE), map(str, range(WHOLE)))
    content = message(event)
    assert event.type == EventType.ADD_PARTITION
    assert content["partitions"][-1] == {"ds": "a", "n": str(WHOLE - 1)}
    assert content["partitionListJson"] == [str(n) for n in range(WHOLE)]
    assert list(WRITER.add_partitions(TABLE, [], [])) == []


def test_more_are_told_without_objects_and_the_table_is_to_be_read_anew() -> None:
    def refuse() -> Any:
        raise AssertionError("objects of so many partitions must not be written")
        yield

    *added, reload, insert = WRITER.add_partitions(TABLE, values(NAMED + 1), refuse())
    assert [len(message(event)["partitions"]) for event in added] == [NAMED, 1]
    assert all(message(event)["partitionListJson"] == [] for event in added)
    assert (reload.type, message(reload)["refreshEvent"]) == (EventType.RELOAD, "false")
    assert (insert.type, "ptnObjJson" in message(insert)) == (EventType.INSERT, False)


@given(st.lists(st.integers(0, LARGEST // 2), min_size=1, max_size=5))
def test_no_message_holds_objects_without_end(sizes: list[int]) -> None:
    objects = ["x" * size for size in sizes]
    first, *others = WRITER.add_partitions(TABLE, values(len(sizes)), objects)
    assert len(first.message) < LARGEST + 10_000
    assert message(first)["partitionListJson"] == ([] if others else objects)
    assert bool(others) == (sum(sizes) > LARGEST)


def test_dropped_partitions_are_told_by_their_values() -> None:
    events = list(WRITER.drop_partitions(TABLE, values(2 * NAMED)))
    assert [event.type for event in events] == [EventType.DROP_PARTITION] * 2
    told = [pair["n"] for event in events for pair in message(event)["partitions"]]
    assert told == [str(n) for n in range(2 * NAMED)]


def test_files_are_encoded_as_hive_does() -> None:
    assert encoded_file("file:/x") == "file:/x###"
    assert encoded_file("file:/x", "abc", "delta_1") == "file:/x#abc##delta_1"
