"""Changes of partitions: altered, renamed, exchanged, marked; and partition specs."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.contract.scenarios.partitions import KEYS, by_values, filled
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    EnvironmentContext,
    Partition,
    PartitionListComposingSpec,
    PartitionSpec,
    PartitionSpecWithSharedSD,
    PartitionWithoutSD,
)

QUIET = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
ROW = ["a", "1"]


def read(hive: Recorder, db: str, values: list[str], label: str = "") -> Any:
    return hive.at(label).get_partition(db, "t", values)


def in_order(specs: list[PartitionSpec]) -> list[PartitionSpec]:
    """Returns specs in a fixed order: neither their order nor that of their partitions is defined."""
    for spec in specs:
        for held in (spec.sharedSDPartitionSpec, spec.partitionList):
            if held:
                held.partitions.sort(key=lambda each: each.values)
    return sorted(specs, key=lambda each: (each.sharedSDPartitionSpec is None, each.rootPath))


@scenario
def partitions_are_changed(hive: Recorder, db: str) -> None:
    filled(hive, db)
    changed = read(hive, db, ROW)
    changed.parameters = {"k": "v", "transient_lastDdlTime": "5"}
    changed.createTime = 1
    changed.sd.cols = columns(("z", "string"))
    changed.sd.location = f"file:{hive.folder}/{db}_moved"
    hive.alter_partition_with_environment_context(db, "t", changed, QUIET)
    read(hive, db, ROW, "changed")
    for time in ("0", None):
        changed.parameters = {"transient_lastDdlTime": time} if time else {}
        hive.at(f"time {time}").alter_partition_with_environment_context(db, "t", changed, QUIET)
        read(hive, db, ROW, f"time {time}")
    hive.at("statistics").alter_partition(db, "t", changed)
    two = [read(hive, db, [day, "2"]) for day in ("a", "b")]
    for each in two:
        each.parameters["all"] = "yes"
    hive.alter_partitions_with_environment_context(db, "t", two, QUIET)
    hive.at("both", show=by_values).get_partitions_ps(db, "t", ["", "2"], -1)
    hive.at("no context").alter_partitions_with_environment_context(db, "t", two, None)
    hive.at("none").alter_partitions(db, "t", [])
    two[0].parameters["all"] = "no"
    two[1].values = ["nope", "1"]
    hive.at("one is missing").alter_partitions_with_environment_context(db, "t", two, QUIET)
    hive.at("one is missing", show=by_values).get_partitions_ps(db, "t", ["", "2"], -1)
    hive.at("missing").alter_partition(db, "t", partition(db, "t", ["nope", "1"]))
    hive.at("few values").alter_partition(db, "t", partition(db, "t", ["a"]))
    hive.at("no values").alter_partition(db, "t", Partition(dbName=db, tableName="t", sd=descriptor(), parameters={}))
    hive.at("no descriptor").alter_partition(db, "t", partition(db, "t", ROW, sd=None))
    hive.at("other table").alter_partition(db, "t", partition(db, "other", ROW))


@scenario
def partitions_are_renamed(hive: Recorder, db: str) -> None:
    filled(hive, db)
    hive.put(f"{db}.db/t/ds=a/n=1/data")
    changed = read(hive, db, ROW)
    changed.values = ["z", "26"]
    hive.rename_partition(db, "t", ROW, changed)
    read(hive, db, ["z", "26"], "new")
    read(hive, db, ROW, "old")
    hive.files(f"{db}.db/t")
    changed.values = ["a", "2"]
    hive.at("taken").rename_partition(db, "t", ["z", "26"], changed)
    hive.at("missing").rename_partition(db, "t", ["q", "1"], changed)
    hive.at("few values").rename_partition(db, "t", ["z"], changed)
    hive.at("no values").rename_partition(db, "t", [], changed)
    changed.values = ["z"]
    hive.at("few new values").rename_partition(db, "t", ["z", "26"], changed)
    changed.values = ["z", "26"]
    changed.parameters["k"] = "v"
    hive.at("same name").rename_partition(db, "t", ["z", "26"], changed)
    read(hive, db, ["z", "26"], "same name")
    elsewhere = partition(db, "t", ["e", "1"], sd=descriptor(f"file:{hive.folder}/{db}_elsewhere"))
    hive.add_partition(elsewhere)
    elsewhere.values = ["f", "1"]
    hive.at("elsewhere").rename_partition(db, "t", ["e", "1"], elsewhere)
    read(hive, db, ["f", "1"], "elsewhere")


@scenario
def partitions_of_external_tables_are_renamed(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", KEYS, parameters={"EXTERNAL": "TRUE"}, tableType="EXTERNAL_TABLE"))
    hive.add_partition(partition(db, "t", ROW))
    changed = read(hive, db, ROW)
    changed.values = ["z", "26"]
    hive.rename_partition(db, "t", ROW, changed)
    read(hive, db, ["z", "26"], "new")
    hive.files(f"{db}.db")


@scenario
def partitions_are_exchanged(hive: Recorder, db: str) -> None:
    for name in ("source", "target", "other"):
        cols = columns(("a", "int")) if name == "other" else columns(("a", "int"), ("x", "string"))
        hive.create_table(table(db, name, KEYS, sd=descriptor(cols=cols)))
    hive.add_partitions([partition(db, "source", ["a", n]) for n in ("1", "2", "3")])
    hive.put(f"{db}.db/source/ds=a/n=1/data")
    both = (db, "source", db, "target")
    hive.exchange_partition({"ds": "a", "n": "1"}, *both)
    hive.at("gone").get_partition_names(db, "source", -1)
    hive.at("come").get_partitions(db, "target", -1)
    hive.files(f"{db}.db")
    hive.exchange_partitions({"ds": "a"}, *both)
    hive.at("come").get_partition_names(db, "target", -1)
    hive.at("nothing left").exchange_partitions({"ds": "a"}, *both)
    hive.add_partition(partition(db, "source", ["a", "1"]))
    hive.at("there").exchange_partition({"ds": "a", "n": "1"}, *both)
    hive.at("other columns").exchange_partition({"ds": "a", "n": "1"}, db, "source", db, "other")
    hive.at("unknown key").exchange_partition({"nope": "a"}, *both)
    hive.at("no values").exchange_partition({}, *both)
    hive.at("gap").exchange_partition({"n": "1"}, *both)
    hive.at("missing source").exchange_partition({"ds": "a"}, db, "nope", db, "target")
    hive.at("missing target").exchange_partition({"ds": "a"}, db, "source", db, "nope")
    hive.files(f"{db}.db")


@scenario
def partitions_as_specs(hive: Recorder, db: str) -> None:
    filled(hive, db)
    hive.add_partition(partition(db, "t", ["e", "1"], sd=descriptor(f"file:{hive.folder}/{db}_elsewhere")))
    for limit in (-1, 0, 2):
        hive.at(f"limit {limit}", show=in_order).get_partitions_pspec(db, "t", limit)
    for text in ("ds = 'a'", "n > 1", "", "nope = 1"):
        hive.at(repr(text), show=in_order).get_part_specs_by_filter(db, "t", text, -1)
    hive.at("missing").get_partitions_pspec(db, "nope", -1)
    hive.at("missing").get_part_specs_by_filter(db, "nope", "", -1)
    root = f"file:{hive.folder}/{db}.db/t"
    shared = PartitionSpecWithSharedSD(
        [PartitionWithoutSD(["s", n], 0, 0, f"/ds=s/n={n}", {"p": n}) for n in ("1", "2")], descriptor(root)
    )
    hive.at("shared").add_partitions_pspec([PartitionSpec(db, "t", root, sharedSDPartitionSpec=shared)])
    hive.at("shared", show=by_values).get_partitions_ps(db, "t", ["s"], -1)
    composed = PartitionListComposingSpec([partition(db, "t", ["l", "1"])])
    hive.at("list").add_partitions_pspec([PartitionSpec(db, "t", partitionList=composed)])
    hive.at("list", show=by_values).get_partitions_ps(db, "t", ["l"], -1)
    hive.at("there").add_partitions_pspec([PartitionSpec(db, "t", partitionList=composed)])
    hive.at("none").add_partitions_pspec([])
    hive.at("missing").add_partitions_pspec([PartitionSpec(db, "nope", partitionList=composed)])


@scenario
def partitions_are_marked(hive: Recorder, db: str) -> None:
    filled(hive, db)
    key = {"ds": "a", "n": "1"}
    hive.at("not yet").isPartitionMarkedForEvent(db, "t", key, 1)
    hive.markPartitionForEvent(db, "t", key, 1)
    hive.isPartitionMarkedForEvent(db, "t", key, 1)
    hive.at("other").isPartitionMarkedForEvent(db, "t", {"ds": "a", "n": "2"}, 1)
    hive.at("missing table").markPartitionForEvent(db, "nope", key, 1)
    hive.at("missing table").isPartitionMarkedForEvent(db, "nope", key, 1)
    hive.at("missing partition").markPartitionForEvent(db, "t", {"ds": "q", "n": "1"}, 1)
    hive.at("few keys").markPartitionForEvent(db, "t", {"ds": "a"}, 1)
    hive.at("unknown key").markPartitionForEvent(db, "t", {"nope": "a"}, 1)
    hive.at("few keys").isPartitionMarkedForEvent(db, "t", {"ds": "a"}, 1)
    hive.at("no keys").markPartitionForEvent(db, "t", {}, 1)
