"""Partitions as in Hive: renamed at any location, without columns of their own, and missing ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.wire.builders import columns, descriptor, new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import MetaException, NoSuchObjectException

KEYS = [("ds", "string")]


def folder(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def test_a_renamed_partition_moves_from_any_location_to_its_default_one(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    home = hive_client.get_table(database, name).sd.location
    for value, path in (("a", f"{home}/own"), ("b", f"{home}/shared"), ("c", f"{home}/shared/inside")):
        hive_client.add_partition(partition(database, name, [value], sd=descriptor(path)))
        (folder(path) / "data").write_text(value)
    for value, stays in (("a", False), ("b", True), ("c", False)):
        renamed = hive_client.get_partition(database, name, [value])
        before, renamed.values = renamed.sd.location, [f"new_{value}"]
        hive_client.rename_partition(database, name, [value], renamed)
        after = hive_client.get_partition(database, name, renamed.values).sd.location
        assert after == (before if stays else f"{home}/ds=new_{value}")
        assert (folder(after) / "data").read_text() == value


def test_a_partition_may_have_no_columns_of_its_own(hive_client: Any) -> None:
    """As in Hive, a reader takes the columns of the table."""
    database, name = new_table(hive_client, KEYS)
    bare, whole, empty = descriptor(), descriptor(), descriptor(cols=[])
    bare.cols = None
    sent = [partition(database, name, [text], sd=sd) for text, sd in (("a", bare), ("b", whole), ("c", empty))]
    assert hive_client.add_partitions(sent) == 3
    assert [each.sd.cols for each in hive_client.get_partitions(database, name, -1)] == [None, whole.cols, []]
    changed = hive_client.get_partition(database, name, ["a"])
    changed.parameters["k"] = "v"
    hive_client.alter_partition(database, name, changed)
    assert hive_client.get_partition(database, name, ["a"]).sd.cols is None
    table = hive_client.get_table(database, name)
    table.sd.cols += columns(("new", "int"))
    hive_client.alter_table_with_cascade(database, name, table, True)
    assert [each.sd.cols for each in hive_client.get_partitions(database, name, -1)] == [table.sd.cols] * 3


def test_missing_objects_are_named_as_requested(hive_client: Any) -> None:
    with pytest.raises(NoSuchObjectException, match=r"invDBName\.invTableName table not found"):
        hive_client.get_partitions_by_filter("invDBName", "invTableName", 'p1 = "p11"', -1)


def test_a_place_without_a_scheme_is_one_below_the_table(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    hive_client.add_partition(partition(database, name, ["a"]))
    changed = hive_client.get_partition(database, name, ["a"])
    changed.sd.location = "some/where"
    hive_client.alter_partition(database, name, changed)
    path = f"{hive_client.get_table(database, name).sd.location}/some/where"
    assert hive_client.get_partition(database, name, ["a"]).sd.location == path
    changed.sd.location = "../" * 50
    with pytest.raises(MetaException):
        hive_client.alter_partition(database, name, changed)
    assert hive_client.get_partition(database, name, ["a"]).sd.location == path
