"""The changes that events report: messages of both formats, renames, partitions, and messages that cannot be read."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metastore.domain.names import DatabaseName, TableName
from metastore.encoding.json import encode_json
from metastore.importing.follower.changes import OWN, Changes, changes_of, partition_names
from metastore.importing.messages import is_renamed
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, NotificationEvent

T = TableName("hive", "db", "t")


def event(kind: str, message: dict[str, Any] | str | None = None, **fields: Any) -> NotificationEvent:
    text = message if isinstance(message, str) or message is None else json.dumps(message)
    given: dict[str, Any] = {"dbName": "DB", "tableName": "T", "messageFormat": "json-0.2"}
    return NotificationEvent(eventId=1, eventTime=0, eventType=kind, message=text, **given | fields)


def altered(before: Any, after: Any) -> dict[str, str]:
    return {"tableObjBeforeJson": encode_json(before), "tableObjAfterJson": encode_json(after)}


def names(changes: Changes, keys: list[str]) -> list[str] | None:
    actual_partitions = changes.partitions[T]
    return None if actual_partitions is None else sorted(set(partition_names(keys, actual_partitions)))


def test_a_table_that_is_altered_without_its_columns_leaves_the_partitions() -> None:
    after = table("db", "t")
    after.parameters = {"x": "1"}
    changes = changes_of([event("ALTER_TABLE", altered(table("db", "t"), after))])
    assert (changes.tables, changes.partitions) == ({T}, {})


@pytest.mark.parametrize("field", ["sd.cols", "tableName", "dbName"])
def test_a_table_that_gets_other_columns_or_another_name_is_read_as_a_whole(field: str) -> None:
    after = table("db", "t")
    if field == "sd.cols":
        after.sd.cols = [*after.sd.cols, FieldSchema("c", "int")]
    else:
        setattr(after, field, "other")
    changes = changes_of([event("ALTER_TABLE", altered(table("db", "t"), after))])
    assert T in changes.tables
    assert set(changes.partitions.values()) == {None}
    if field != "sd.cols":
        other = TableName("hive", after.dbName, after.tableName)
        assert set(changes.partitions) == {T, other}


@pytest.mark.parametrize("message", [None, "", "no JSON", "[1]", "{}", {"tableObjBeforeJson": "{"}])
def test_a_message_that_cannot_be_read_counts_for_the_whole_object(message: Any) -> None:
    for kind in ("ALTER_TABLE", "ADD_PARTITION", "ALTER_PARTITION", "SOMETHING_NEW"):
        changes = changes_of([event(kind, message)])
        assert changes.partitions == {T: None}


def test_partitions_of_all_kinds_of_messages() -> None:
    before, after = (encode_json(partition("db", "t", [value, "b"])) for value in ("1", "2"))
    changes = changes_of(
        [
            event(
                "ADD_PARTITION", {"partitions": [{"y": "b", "X": "a/c"}, {"X": "__HIVE_DEFAULT_PARTITION__", "y": "d"}]}
            ),
            event(
                "ALTER_PARTITION",
                {"keyValues": {"x": "1", "y": "b"}, "partitionObjBeforeJson": before, "partitionObjAfterJson": after},
            ),
            event("INSERT", {"ptnObjJson": encode_json(partition("db", "t", ["3", "b"]))}),
        ]
    )
    assert names(changes, ["x", "y"]) == [
        "x=1/y=b",
        "x=2/y=b",
        "x=3/y=b",
        "x=__HIVE_DEFAULT_PARTITION__/y=d",
        "x=a%2Fc/y=b",
    ]
    assert names(changes, ["z"]) == []  # the table has other keys now


def test_the_format_of_hive_4() -> None:
    text = json.dumps({"partitions": [{"x": "ü"}]}).encode()
    packed = base64.b64encode(gzip.compress(text)).decode()
    changes = changes_of([event("DROP_PARTITION", packed, messageFormat="gzip(json-2.0)")])
    assert names(changes, ["x"]) == ["x=ü"]
    broken = changes_of([event("DROP_PARTITION", packed[:20], messageFormat="gzip(json-2.0)")])
    assert broken.partitions == {T: None}


def test_databases_and_objects_outside_tables() -> None:
    changes = changes_of(
        [
            event("DROP_DATABASE", "{}", tableName=None),
            event("CREATE_DATABASE", "{}", tableName=None, catName="other"),
            event("OPEN_TXN", "{}", tableName=" ", dbName=" "),
            event("INSERT", {}),
        ]
    )
    assert changes.databases == {DatabaseName("hive", "db"), DatabaseName("other", "db")}
    assert changes.cleared == {DatabaseName("hive", "db")}
    assert changes.has_others
    assert changes.tables == {T}


def test_statistics_of_partitions_leave_those_of_the_table() -> None:
    """The types of Hive 4's events (MessageBuilder)."""
    assert changes_of([event("UPDATE_TBL_COL_STAT_EVENT", {})]).statistics == {T: {OWN}}
    for kind, field in (("UPDATE_PART_COL_STAT_EVENT", "partVals"), ("DELETE_PART_COL_STAT_EVENT", "partValues")):
        changes = changes_of([event("ADD_PARTITION", {"partitions": [{"x": "1"}]}), event(kind, {field: ["2"]})])
        assert changes.statistics == {T: {(("x", "1"),), ("2",)}}
    assert changes_of([event("UPDATE_PART_COL_STAT_EVENT_BATCH", {})]).statistics == {T: None}


_KINDS = ("ALTER_TABLE", "ADD_PARTITION", "ALTER_PARTITION", "INSERT", "UPDATE_PART_COL_STAT_EVENT", "CREATE_TABLE")
_FIELDS = (
    "tableObjBeforeJson",
    "partitions",
    "keyValues",
    "ptnObjJson",
    "partitionObjAfterJson",
    "partVals",
    "1",
    "lst",
)
_ODD = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS), inner | inner.map(json.dumps))
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.sampled_from(_KINDS), _ODD)
def test_a_message_of_any_form_is_a_change_of_its_table(kind: str, message: Any) -> None:
    text = json.dumps(message)
    changes = changes_of([event(kind, text)])
    is_renamed(event(kind, text))
    assert changes.names == {T}
    for partitions in (changes.partitions[T], changes.statistics.get(T)) if T in changes.partitions else ():
        partition_names(["ds"], partitions or ())


def test_a_message_that_is_nested_too_deep_is_unreadable() -> None:
    changes = changes_of([event("ALTER_TABLE", '{"tableObjBeforeJson": ' + "[" * 100_000)])
    assert (changes.tables, changes.partitions) == ({T}, {T: None})
