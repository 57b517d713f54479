"""Rules of skew for all clients: rejections with their exceptions, and the stored form of values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.wire.builders import columns, descriptor, new_database, new_table, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import (
    EnvironmentContext,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    SkewedInfo,
    StorageDescriptor,
)
from thrift_idl.gen.metastore.ttypes import ScanRequest

DEFAULT = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"


def list_bucketed(
    names: Sequence[str] = ("a",), values: Sequence[Sequence[str]] = (["1"],), **fields: Any
) -> StorageDescriptor:
    return descriptor(skewedInfo=skewed(names, values), storedAsSubDirectories=True, **fields)


@pytest.mark.parametrize(
    ("types", "sent", "stored"),
    [
        (["int"], [["01"], ["1"], ["+2"]], [["1"], ["2"]]),
        (["decimal(6,2)"], [["1.50"], ["1.5"], ["2.00"]], [["1.5"], ["2"]]),
        (["date"], [["2020-1-5"], ["2020-01-05"]], [["2020-01-05"]]),
        (["boolean"], [["TRUE"], ["true"]], [["true"]]),
        (["string"], [["A"], ["a"], ["01"]], [["A"], ["a"], ["01"]]),
        (["int", "string"], [["01", "A"], ["1", "A"], ["1", "a"]], [["1", "A"], ["1", "a"]]),
        (["int"], [["x"], ["__HIVE_DEFAULT_PARTITION__"]], [["x"], ["__HIVE_DEFAULT_PARTITION__"]]),
    ],
)
def test_values_of_a_partitioned_table_are_normalized_by_type(
    hive_client: Any, types: list[str], sent: list[list[str]], stored: list[list[str]]
) -> None:
    names = [f"c{number}" for number, _ in enumerate(types)]
    sd = list_bucketed(names, sent, cols=columns(*zip(names, types, strict=True)))
    sd.skewedInfo.skewedColValueLocationMaps = {tuple(sent[0]): "file:/x"}
    database, name = new_table(hive_client, [("ds", "string")], sd=sd)
    stored_table = hive_client.get_table(database, name)
    assert stored_table.sd.skewedInfo.skewedColValues == stored
    assert stored_table.sd.skewedInfo.skewedColValueLocationMaps == {tuple(stored[0]): "file:/x"}
    stored_table.sd.skewedInfo = skewed(names, sent)
    hive_client.alter_table_with_environment_context(database, name, stored_table, EnvironmentContext({}))
    assert hive_client.get_table(database, name).sd.skewedInfo.skewedColValues == stored


def test_texts_stay_if_files_may_exist(hive_client: Any) -> None:
    """Hive writes rows of 1 to the default directory if 01 is declared, so recording 1 would hide them."""
    sent = [["01"], ["1"]]
    database, name = new_table(hive_client, sd=list_bucketed(values=sent))
    assert hive_client.get_table(database, name).sd.skewedInfo.skewedColValues == sent
    database, name = new_table(hive_client, [("ds", "string")])
    hive_client.add_partition(partition(database, name, ["x"], sd=list_bucketed(values=sent)))
    assert hive_client.get_partition(database, name, ["x"]).sd.skewedInfo.skewedColValues == sent


@pytest.mark.parametrize("keys", [(), (("ds", "string"),)])
def test_existing_directories_are_found(metastore_client: Any, keys: Sequence[tuple[str, str]]) -> None:
    """As after DROP, CREATE and MSCK: a value without a location has no rows."""
    database = new_database(metastore_client)
    home = Path(metastore_client.get_database(database).locationUri.removeprefix("file:")) / "there"
    directory = home / "ds=x" if keys else home
    for name in (
        "a=1/x=b%2Fc",
        "a=7/x=b",
        f"a=1/{DEFAULT}",
        f"{DEFAULT}/{DEFAULT}",
        "x=2/a=1",
        "_tmp/a=1",
        "a=9",
        "a=/x=b",
        "a=2/x=%00",
    ):
        (directory / name).mkdir(parents=True)
    (directory / "a=8").write_text("no directory")
    sd = list_bucketed(["a", "x"], [["1", "b/c"], ["2", "b"]], location=str(home))
    external = {"EXTERNAL": "TRUE"}
    metastore_client.create_table(
        table(database, "t", list(keys), sd=sd, parameters=external, tableType="EXTERNAL_TABLE")
    )
    stored_table = metastore_client.get_table(database, "t")
    if keys:
        assert stored_table.sd.skewedInfo.skewedColValueLocationMaps == {}
        own = list_bucketed(["a", "x"], [["1", "b/c"], ["2", "b"]], location=str(directory))
        metastore_client.add_partition(partition(database, "t", ["x"], sd=own))
        stored_table = metastore_client.get_partition(database, "t", ["x"])
    places = {("1", "b/c"): f"file:{directory}/a=1/x=b%2Fc", ("7", "b"): f"file:{directory}/a=7/x=b"}
    assert stored_table.sd.skewedInfo.skewedColValueLocationMaps == places
    scanned = metastore_client.plan_scan(ScanRequest(database, "t")).partitions[0].directories
    assert {each.location for each in scanned} == {*places.values(), f"file:{directory}/{DEFAULT}/{DEFAULT}"}


def test_list_bucketing_excludes_buckets(hive_client: Any) -> None:
    both = list_bucketed(bucketCols=["x"], numBuckets=4)
    database = new_database(hive_client)
    with pytest.raises(InvalidObjectException, match=rf"{database}.t \(skewed by a\) is CLUSTERED BY x"):
        hive_client.create_table(table(database, "t", sd=both))
    hive_client.create_table(table(database, "t", [("ds", "string")], sd=descriptor(bucketCols=["x"], numBuckets=4)))
    with pytest.raises(InvalidObjectException, match=rf"{database}.t partition ds=1 \(skewed by a\) is CLUSTERED BY x"):
        hive_client.add_partition(partition(database, "t", ["1"], sd=both))
    changed = hive_client.get_table(database, "t")
    changed.sd.skewedInfo, changed.sd.storedAsSubDirectories = both.skewedInfo, True
    with pytest.raises(InvalidOperationException, match="CLUSTERED BY x"):
        hive_client.alter_table(database, "t", changed)
    changed.sd.storedAsSubDirectories = False  # information only: it serves joins
    hive_client.alter_table(database, "t", changed)
    actual = hive_client.get_table(database, "t").sd
    assert (actual.bucketCols, actual.numBuckets, actual.skewedInfo.skewedColNames) == (["x"], 4, ["a"])


def test_no_partition_is_named_as_the_default_directory(hive_client: Any) -> None:
    database, name = new_table(hive_client, [("ds", "string"), ("n", "int")], sd=list_bucketed())
    with pytest.raises(InvalidObjectException, match=rf"{database}.t: the partition value ds={DEFAULT}"):
        hive_client.add_partition(partition(database, name, [DEFAULT, "1"], sd=list_bucketed()))
    with pytest.raises(InvalidObjectException, match="default directory"):
        hive_client.append_partition(database, name, [DEFAULT, "1"])
    hive_client.add_partition(partition(database, name, ["x", "1"], sd=list_bucketed()))
    renamed = hive_client.get_partition(database, name, ["x", "1"])
    renamed.values = [DEFAULT, "1"]
    with pytest.raises((InvalidOperationException, MetaException), match="default directory"):
        hive_client.rename_partition(database, name, ["x", "1"], renamed)
    plain, name = new_table(hive_client, [("ds", "string")])
    hive_client.append_partition(plain, name, [DEFAULT])


@pytest.mark.parametrize(
    ("after", "text"),
    [
        ([("b", "int"), ("x", "string")], "it would be dropped"),
        ([("a", "bigint"), ("x", "string")], "its type int would be bigint"),
        ([("x", "string")], "it would be dropped"),
    ],
)
@pytest.mark.parametrize("says_skew", [True, False])
def test_a_skewed_column_is_neither_renamed_nor_retyped_nor_dropped(
    hive_client: Any, after: list[tuple[str, str]], text: str, *, says_skew: bool
) -> None:
    database, name = new_table(hive_client, [("ds", "string")], sd=list_bucketed())
    changed = hive_client.get_table(database, name)
    changed.sd.cols = columns(*after)
    if not says_skew:  # as Spark sends it
        changed.sd.skewedInfo = skewed([], [])
    with pytest.raises(InvalidOperationException, match=rf"\[Error 10207\]: a is .*table {database}.t: {text}"):
        hive_client.alter_table(database, name, changed)
    changed.sd.skewedInfo = skewed([], [])
    context = EnvironmentContext({"alterTableOpType": "NOT_SKEWED"})
    hive_client.alter_table_with_environment_context(database, name, changed, context)
    assert [column.name for column in hive_client.get_table(database, name).sd.cols] == [column for column, _ in after]


def test_other_columns_may_change(hive_client: Any) -> None:
    database, name = new_table(hive_client, [("ds", "string")], sd=list_bucketed())
    changed = hive_client.get_table(database, name)
    changed.sd.cols = columns(("A", "INT"), ("y", "string"), ("z", "int"))
    hive_client.alter_table(database, name, changed)
    assert hive_client.get_table(database, name).sd.skewedInfo.skewedColNames == ["a"]


def test_a_partition_changed_meanwhile_is_not_overwritten(metastore_client: Any) -> None:
    database, name = new_table(metastore_client, [("ds", "string")], sd=list_bucketed())
    metastore_client.add_partition(partition(database, name, ["x"], sd=list_bucketed()))
    seen = metastore_client.get_partition(database, name, ["x"])
    first = metastore_client.plan_scan(ScanRequest(database, name)).partitions[0].version
    for version, fails in ((first, False), (first, True), (first + 1, False)):
        context = EnvironmentContext({"expected_version": str(version)})
        if fails:
            with pytest.raises(
                (MetaException, InvalidOperationException), match=f"version {first + 1}, but the client expects {first}"
            ):
                metastore_client.alter_partition_with_environment_context(database, name, seen, context)
        else:
            metastore_client.alter_partition_with_environment_context(database, name, seen, context)


@pytest.mark.parametrize("is_skewed", [True, False])
def test_a_table_or_partition_moves_into_a_directory_below_its_own(hive_client: Any, is_skewed: bool) -> None:
    """Clients that do not know skew send none. The skewed locations follow, and the location is as sent."""
    database, name = new_table(hive_client, [("ds", "string")])
    hive_client.add_partition(partition(database, name, ["1"]))
    stored, own = hive_client.get_table(database, name), hive_client.get_partition(database, name, ["1"])
    for struct in (stored, own):
        if is_skewed:
            column = struct.sd.cols[0].name
            struct.sd.skewedInfo = SkewedInfo([column], [["1"]], {("1",): f"{struct.sd.location}/{column}=1"})
            struct.sd.storedAsSubDirectories = True
    hive_client.alter_table(database, name, stored)
    hive_client.alter_partition(database, name, own)
    for struct in (stored, own):
        struct.sd.skewedInfo = None
        struct.sd.location += "/below"
    hive_client.alter_table(database, name, stored)
    hive_client.alter_partition(database, name, own)
    for sent, kept in (
        (stored, hive_client.get_table(database, name)),
        (own, hive_client.get_partition(database, name, ["1"])),
    ):
        assert kept.sd.location == sent.sd.location
        skewed_locations = list(kept.sd.skewedInfo.skewedColValueLocationMaps.values())
        assert skewed_locations == ([f"{sent.sd.location}/{kept.sd.cols[0].name}=1"] if is_skewed else [])
