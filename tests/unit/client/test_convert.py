"""Thrift structs become dataclasses and are converted back; fields unknown to the dataclasses are kept."""

from __future__ import annotations

from dataclasses import replace

from metastore.client import convert
from metastore.client.structs import Column, Publication, PublishMode, PublishPartition, Skew, Storage, Table
from metastore.domain.buckets import Buckets
from thrift_idl.gen.hive_metastore import ttypes as hive
from thrift_idl.gen.metastore import ttypes as ours

STORAGE = Storage("in", "out", "serde", {"serialization.format": "1"})
TABLE = Table(
    database="db",
    name="t",
    columns=(Column("x", "int", "a comment"), Column("y", "string")),
    partition_columns=(Column("ds", "date"),),
    location="file:/w/t",
    storage=STORAGE,
    skew=Skew(("x", "y"), (("1", "a"), ("2", "b/c")), {("1", "a"): "file:/w/t/x=1/y=a"}, directories=True),
    parameters={"k": "v"},
    owner="me",
    buckets=Buckets(("y",), 8, (("x", True), ("y", False))),
)


def test_a_table_survives_the_way_there_and_back() -> None:
    assert convert.table_of(convert.overlay_table(TABLE)) == TABLE


def test_an_overlay_keeps_fields_that_the_dataclass_lacks() -> None:
    raw = convert.overlay_table(TABLE)
    raw.retention, raw.sd.compressed, raw.sd.serdeInfo.name = 7, True, "named"
    changed = convert.overlay_table(replace(TABLE, parameters={}), onto=raw)
    assert (changed.retention, changed.sd.compressed, changed.sd.serdeInfo.name) == (7, True, "named")
    assert changed.parameters == {}


def test_unset_fields_are_empty() -> None:
    bare = hive.Table(tableName="t", dbName="db", sd=hive.StorageDescriptor())
    table = convert.table_of(bare)
    assert (table.columns, table.partition_columns, dict(table.parameters)) == ((), (), {})
    assert not table.skew.is_list_bucketed


def test_a_publication_names_the_skew_of_its_files() -> None:
    entry = PublishPartition(
        ("1",), PublishMode.CREATE, "l", {("1", "a"): "l/x=1/y=a"}, 0, {"numRows": "3"}, TABLE.skew
    )
    raw = convert.publish_request(Publication(TABLE, "q", [entry])).partitions[0]
    assert raw == ours.PublishPartition(
        values=["1"],
        mode=ours.PublishMode.CREATE,
        location="l",
        skewedLocations=[ours.SkewedLocation(["1", "a"], "l/x=1/y=a")],
        expectedVersion=0,
        parameters={"numRows": "3"},
        skewedColNames=["x", "y"],
        skewedColValues=[["1", "a"], ["2", "b/c"]],
    )
