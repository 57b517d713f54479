"""Messages of events: Hive's fields, and size limits that hold for every change."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from metastore.domain import events
from metastore.domain.events import (
    LARGEST,
    NAMED,
    PLACEHOLDER,
    WHOLE,
    DatabaseText,
    Event,
    EventType,
    Objects,
    PartitionText,
    TableText,
    encoded_file,
)
from metastore.domain.names import DatabaseName, TableName

TABLE = TableText(TableName("hive", "db", "t"), "MANAGED_TABLE", ("ds", "n"), -1, "{table}")


def message(event: Event) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(event.message.replace(PLACEHOLDER, event.repeated))
    assert content["server"] == content["servicePrincipal"] == ""
    return content


def values(count: int) -> list[list[str]]:
    return [["a", str(n)] for n in range(count)]


def test_databases() -> None:
    database = DatabaseText(DatabaseName("hive", "db"), "{database}")
    event = events.create_database(database)
    assert (event.type, event.catalog, event.database, event.table) == ("CREATE_DATABASE", "hive", "db", None)
    assert (message(event)["db"], message(event)["dbJson"]) == ("db", "{database}")
    changed = message(events.alter_database(database, database._replace(text="{after}")))
    assert (changed["dbObjBeforeJson"], changed["dbObjAfterJson"]) == ("{database}", "{after}")
    assert message(events.drop_database(database))["db"] == "db"


def test_a_rename_is_stored_under_the_new_name_and_reports_the_old_one() -> None:
    event = events.alter_table(TABLE, TABLE._replace(name=TableName("hive", "other", "u"), text="{after}", write_id=7))
    assert (event.type, event.database, event.table) == ("ALTER_TABLE", "other", "u")
    content = message(event)
    assert (content["db"], content["table"], content["tableType"]) == ("db", "t", "MANAGED_TABLE")
    assert (content["tableObjBeforeJson"], content["tableObjAfterJson"]) == ("{table}", "{after}")
    assert (content["isTruncateOp"], content["writeId"]) == ("false", 7)


def test_partitions_have_their_values_by_key() -> None:
    before, after = PartitionText(["a", "1"], "{p}"), PartitionText(["a", "2"], "{q}")
    content = message(events.alter_partition(TABLE, before, after, truncated=True))
    assert content["keyValues"] == {"ds": "a", "n": "1"}
    assert (content["partitionObjBeforeJson"], content["partitionObjAfterJson"]) == ("{p}", "{q}")
    assert content["isTruncateOp"] == "true"
    inserted = message(events.insert(TABLE, before, replace=True, files=["f###"]))
    assert (inserted["ptnObjJson"], inserted["partKeyVals"]) == ("{p}", {"ds": "a", "n": "1"})
    assert (inserted["replace"], inserted["files"]) == ("true", ["f###"])
    assert "ptnObjJson" not in message(events.insert(TABLE, None, replace=False))


def test_added_partitions_are_one_event_with_their_objects() -> None:
    (event,) = events.add_partitions(TABLE, values(WHOLE), Objects(map(str, range(WHOLE))))
    content = message(event)
    assert event.type == EventType.ADD_PARTITION
    assert content["partitions"][-1] == {"ds": "a", "n": str(WHOLE - 1)}
    assert content["partitionListJson"] == [str(n) for n in range(WHOLE)]
    assert list(events.add_partitions(TABLE, [], Objects([]))) == []


def test_many_partitions_are_reported_without_objects() -> None:
    def refuse() -> Any:
        raise AssertionError("objects of so many partitions must not be written")
        yield

    *added, reload, insert = events.add_partitions(TABLE, values(NAMED + 1), Objects(refuse()))
    assert [len(message(event)["partitions"]) for event in added] == [NAMED, 1]
    assert all(message(event)["partitionListJson"] == [] for event in added)
    assert (reload.type, message(reload)["refreshEvent"]) == (EventType.RELOAD, "false")
    assert (insert.type, "ptnObjJson" in message(insert)) == (EventType.INSERT, False)


@given(st.lists(st.integers(0, LARGEST // 2), min_size=1, max_size=5))
def test_no_message_holds_objects_without_end(sizes: list[int]) -> None:
    objects = ["x" * size for size in sizes]
    first, *others = events.add_partitions(TABLE, values(len(sizes)), Objects(objects))
    assert len(first.message) < LARGEST + 10_000
    assert message(first)["partitionListJson"] == ([] if others else objects)
    assert bool(others) == (sum(sizes) > LARGEST)


@given(st.lists(st.text(), min_size=1, max_size=3), st.text(), st.text())
def test_parts_common_to_all_objects_are_in_the_message_once(own: list[str], common: str, value: str) -> None:
    texts = [json.dumps({"common": common, "own": name}, separators=(",", ":")) for name in own]
    marked = json.dumps({"common": common}, separators=(",", ":"))[1:-1]
    objects = Objects((f"{{{PLACEHOLDER}{text[len(marked) + 1 :]}" for text in texts), marked)
    keyed = [[value, f"{{{PLACEHOLDER}"]] * len(own)
    (event,) = events.add_partitions(TABLE, keyed, objects)
    assert (event.repetitions, event.message.count(PLACEHOLDER)) == (len(own), len(own))
    assert message(event)["partitionListJson"] == texts
    assert message(event)["partitions"] == [{"ds": value, "n": f"{{{PLACEHOLDER}"}] * len(own)


def test_repetitions_count_where_messages_must_not_be_too_long() -> None:
    objects = Objects([f"{{{PLACEHOLDER}}}"] * 3, "x" * (LARGEST // 3))
    assert len(list(events.add_partitions(TABLE, values(3), objects))) == 3


def test_dropped_partitions_are_named_by_their_values() -> None:
    dropped = list(events.drop_partitions(TABLE, values(2 * NAMED)))
    assert [event.type for event in dropped] == [EventType.DROP_PARTITION] * 2
    told = [pair["n"] for event in dropped for pair in message(event)["partitions"]]
    assert told == [str(n) for n in range(2 * NAMED)]


def test_files_are_encoded_as_hive_does() -> None:
    assert encoded_file("file:/x") == "file:/x###"
    assert encoded_file("file:/x", "abc", "delta_1") == "file:/x#abc##delta_1"


def test_catalogs_and_functions() -> None:
    created = events.create_catalog("c")
    assert (created.type, created.catalog, created.database, message(created)["catalog"]) == (
        "CREATE_CATALOG",
        "c",
        None,
        "c",
    )
    altered = message(events.alter_catalog("c", "{before}", "{after}"))
    assert (altered["catObjBeforeJson"], altered["catObjAfterJson"]) == ("{before}", "{after}")
    assert message(events.drop_catalog("c"))["catalog"] == "c"
    function = events.create_function(DatabaseName("hive", "db"), "{function}")
    assert (function.database, function.table) == ("db", None)
    assert message(function)["functionObjJson"] == "{function}"
    assert message(events.drop_function(DatabaseName("hive", "db"), "f"))["functionName"] == "f"


def test_constraints() -> None:
    owner = TableName("hive", "db", "t")
    keys = events.add_constraints(owner, "pk", ["{a}", "{b}"])
    assert (keys.type, keys.table) == ("ADD_PRIMARYKEY", "t")
    assert message(keys)["primaryKeyListJson"] == ["{a}", "{b}"]
    dropped = message(events.drop_constraint(owner, "k"))
    assert (dropped["dbName"], dropped["tableName"], dropped["constraintName"]) == ("db", "t", "k")


def test_indexes() -> None:
    made = events.create_index(DatabaseName("hive", "db"), "{index}")
    assert (made.type, made.database, made.table, message(made)["db"]) == ("CREATE_INDEX", "db", None, "db")
    assert message(made)["indexObjJson"] == "{index}"
    changed = message(events.alter_index(DatabaseName("hive", "db"), "{before}", "{after}"))
    assert (changed["beforeIndexObjJson"], changed["afterIndexObjJson"]) == ("{before}", "{after}")
    dropped = message(events.drop_index(TableName("hive", "db", "t"), "i", "held"))
    assert (dropped["indexName"], dropped["origTableName"], dropped["indexTableName"]) == ("i", "t", "held")


def test_transactions() -> None:
    opened = events.open_transactions(3, 5)
    assert (opened.catalog, opened.database, opened.table) == (None, None, None)
    assert (message(opened)["fromTxnId"], message(opened)["toTxnId"], message(opened)["txnIds"]) == (3, 5, [3, 4, 5])
    assert message(events.commit_transaction(3))["txnid"] == message(events.abort_transaction(3))["txnid"] == 3
    allocated = events.allocate_write_ids(TableName("hive", "db", "t"), [(3, 1), (4, 2)])
    assert (allocated.type, allocated.table) == ("ALLOC_WRITE_ID_EVENT", "t")
    assert (message(allocated)["txnIdList"], message(allocated)["writeIdList"]) == ([3, 4], [1, 2])
