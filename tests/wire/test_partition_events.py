"""Partitions marked with an event."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import new_table
from thrift_idl.gen.hive_metastore.ttypes import InvalidPartitionException, PartitionEventType, UnknownTableException

DONE = PartitionEventType.LOAD_DONE
KEYS = [("ds", "string"), ("n", "int")]


def test_a_mark_is_remembered(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    values = {"n": "1", "DS": "a/b"}
    assert hive_client.isPartitionMarkedForEvent(database, name, values, DONE) is False
    for _ in range(2):
        hive_client.markPartitionForEvent(f"@hive#{database}", name.upper(), values, DONE)
    assert hive_client.isPartitionMarkedForEvent(database, name, {"ds": "a/b", "n": "1"}, DONE) is True
    assert hive_client.isPartitionMarkedForEvent(database, name, {"ds": "a/b", "n": "2"}, DONE) is False
    hive_client.drop_table(database, name, True)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"ds": "a"}, "Number of partition columns in table: 2 doesn't match"),
        ({}, "doesn't match with number of supplied partition values: 0"),
        (None, "doesn't match with number of supplied partition values: 0"),
        ({"ds": "a", "x": "1"}, "No value found for partition column: n"),
        ({"ds": "a\0", "n": "1"}, "cannot be stored"),
        ({"ds": "a" * 10_000, "n": "1"}, "too long"),
    ],
)
def test_values_must_be_those_of_the_keys(hive_client: Any, values: dict[str, str] | None, text: str) -> None:
    database, name = new_table(hive_client, KEYS)
    for call in (hive_client.markPartitionForEvent, hive_client.isPartitionMarkedForEvent):
        with pytest.raises(InvalidPartitionException, match=text):
            call(database, name, values, DONE)
    with pytest.raises(InvalidPartitionException, match="type of the partition event"):
        hive_client.markPartitionForEvent(database, name, {"ds": "a", "n": "1"}, None)


def test_the_table_must_be_there(hive_client: Any) -> None:
    for call in (hive_client.markPartitionForEvent, hive_client.isPartitionMarkedForEvent):
        with pytest.raises(UnknownTableException, match="Table: nope is not found"):
            call("default", "nope", {"ds": "a"}, DONE)
