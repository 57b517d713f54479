"""Which changes keep, set and clear the accuracy of statistics (COLUMN_STATS_ACCURATE), for each context of a client.

Hive answers `count(*)`, `min` and `max` from statistics that are marked as accurate, without reading the files.
"""

from __future__ import annotations

import json
from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPartitionsRequest,
    EnvironmentContext,
    Partition,
    PartitionListComposingSpec,
    PartitionSpec,
    PartitionSpecWithSharedSD,
    PartitionWithoutSD,
    Table,
)

FLAG = "COLUMN_STATS_ACCURATE"
COUNTS = {"numFiles": "1", "totalSize": "5"}  # of one file that `Recorder.put` writes
ROWS = {"numRows": "5", "rawDataSize": "50"}
KEYS = [("ds", "string")]


def accurate(*names: str, basic: bool = True) -> str:
    """Returns the flag as Hive's client writes it."""
    state: dict[str, Any] = {"BASIC_STATS": "true"} if basic else {}
    return json.dumps(state | ({"COLUMN_STATS": dict.fromkeys(names, "true")} if names else {}), separators=(",", ":"))


SENT: dict[str, dict[str, str]] = {
    "marked": {FLAG: accurate()} | COUNTS | ROWS,
    "columns": {FLAG: accurate("a", "x")} | COUNTS | ROWS,
    "columns only": {FLAG: accurate("a", basic=False)} | COUNTS | ROWS,
    "other counts": {FLAG: accurate("a"), "numFiles": "7", "totalSize": "70"} | ROWS,
    "no counts": {FLAG: accurate("a")} | ROWS,
    "old form": {FLAG: "true"} | COUNTS | ROWS,
    "broken": {FLAG: "{"} | COUNTS | ROWS,
    "unmarked": COUNTS | ROWS,
    "nothing": {},
    "parameter true": {FLAG: accurate(), "DO_NOT_UPDATE_STATS": "true"} | ROWS,
    "parameter false": {FLAG: accurate(), "DO_NOT_UPDATE_STATS": "false"} | ROWS,
}
CONTEXTS: dict[str, EnvironmentContext | None] = {
    "no context": None,
    "no properties": EnvironmentContext(None),
    "quiet": EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"}),
    "QUIET": EnvironmentContext({"DO_NOT_UPDATE_STATS": "TRUE"}),
    "not quiet": EnvironmentContext({"DO_NOT_UPDATE_STATS": "false"}),
    "task": EnvironmentContext({"STATS_GENERATED": "TASK"}),
    "user": EnvironmentContext({"STATS_GENERATED": "USER"}),
    "old task": EnvironmentContext({"STATS_GENERATED_VIA_STATS_TASK": "true"}),
    "quiet task": EnvironmentContext({"STATS_GENERATED": "TASK", "DO_NOT_UPDATE_STATS": "true"}),
}
CASES = [(sent, context) for sent in SENT for context in CONTEXTS]


def state(owner: Table | Partition) -> dict[str, str]:
    """Returns the parameters that are compared."""
    names = (FLAG, "numRows", "rawDataSize", "numFiles", "totalSize", "DO_NOT_UPDATE_STATS")
    return {name: owner.parameters[name] for name in names if name in (owner.parameters or {})}


def see(hive: Recorder, label: str, db: str, name: str = "t") -> None:
    hive.at(label, show=state).get_table(db, name)


def see_partition(hive: Recorder, label: str, db: str, values: list[str], name: str = "t") -> None:
    hive.at(label, show=state).get_partition(db, name, values)


def altered(hive: Recorder, db: str, name: str, context: EnvironmentContext | None, **fields: Any) -> None:
    """Alters a table: what is stored, with these fields."""
    hive.call("alter_table_with_environment_context", (db, name, changed_table(hive, db, name, **fields), context))


def changed_table(hive: Recorder, db: str, name: str, **fields: Any) -> Table:
    stored: Table = hive.call("get_table", (db, name))
    for field, value in fields.items():
        setattr(stored.sd if field in {"cols", "location"} else stored, field, value)
    return stored


def made(hive: Recorder, db: str, name: str, sent: dict[str, str], keys: Any = (), **fields: Any) -> None:
    """Creates a table whose directory has a file, and sets these parameters."""
    hive.put(f"{db}.db/{name}/file")
    hive.call("create_table", (table(db, name, keys, **fields),))
    altered(hive, db, name, CONTEXTS["quiet"], parameters=dict(sent))


@scenario
def accuracy_of_created_tables(hive: Recorder, db: str) -> None:
    for number, (sent, context) in enumerate(CASES):
        for folder in ("new", "existing"):
            name = f"{folder}_{number}"
            if folder == "existing":
                hive.put(f"{db}.db/{name}/file")
            new = table(db, name, parameters=dict(SENT[sent]))
            hive.call("create_table_with_environment_context", (new, CONTEXTS[context]))
            see(hive, f"{sent}, {context}, {folder}", db, name)
    for sent in SENT:
        name = "p_" + sent.replace(" ", "_")
        hive.call("create_table", (table(db, name, KEYS, parameters=dict(SENT[sent])),))
        see(hive, f"{sent}, partitioned", db, name)


@scenario
def accuracy_of_altered_tables(hive: Recorder, db: str) -> None:
    hive.put(f"{db}.db/t/file")
    hive.call("create_table", (table(db, "t"),))
    for sent, context in CASES:
        altered(hive, db, "t", CONTEXTS["quiet"], parameters=dict(SENT["columns"]))
        altered(hive, db, "t", CONTEXTS[context], parameters=dict(SENT[sent]))
        see(hive, f"{sent}, {context}", db)
    for method, last in (("alter_table", ()), ("alter_table_with_cascade", (False,))):
        altered(hive, db, "t", CONTEXTS["quiet"], parameters=dict(SENT["columns"]))
        hive.put(f"{db}.db/t/more")
        hive.at("a file came").__getattr__(method)(db, "t", changed_table(hive, db, "t"), *last)
        see(hive, f"a file came, {method}", db)


@scenario
def accuracy_of_tables_of_other_kinds(hive: Recorder, db: str) -> None:
    view = {"tableType": "VIRTUAL_VIEW", "viewOriginalText": "x", "viewExpandedText": "x"}
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "partitioned": (KEYS, {}),
        "external": ((), {"tableType": "EXTERNAL_TABLE"}),
        "view": ((), view),
    }
    for kind, (keys, fields) in kinds.items():
        made(hive, db, kind, {}, keys, **fields)
        external = {"EXTERNAL": "TRUE"} if kind == "external" else {}
        for context in CONTEXTS:
            altered(hive, db, kind, CONTEXTS[context], parameters=SENT["columns"] | external)
            see(hive, f"{kind}, {context}", db, kind)


@scenario
def accuracy_of_moved_tables(hive: Recorder, db: str) -> None:
    hive.put(f"{db}_place/more", "1234567")
    for number, context in enumerate(CONTEXTS):
        name = f"moved_{number}"
        made(hive, db, name, SENT["columns"])
        altered(hive, db, name, CONTEXTS[context], location=f"file:{hive.folder}/{db}_place")
        see(hive, f"another location, {context}", db, name)
        for kind, fields in (
            ("managed", {}),
            ("external", {"tableType": "EXTERNAL_TABLE", "parameters": {"EXTERNAL": "TRUE"}}),
            ("elsewhere", {"sd": descriptor(f"file:{hive.folder}/{db}_elsewhere_{number}")}),
        ):
            name = f"{kind}_{number}"
            made(hive, db, name, SENT["columns"] | fields.get("parameters", {}), **fields)
            altered(hive, db, name, CONTEXTS[context], tableName=f"{name}_renamed")
            see(hive, f"renamed, {kind}, {context}", db, f"{name}_renamed")
    made(hive, db, "p", SENT["columns"], KEYS)
    hive.call("add_partition", (partition(db, "p", ["1"], parameters=dict(SENT["columns"])),))
    altered(hive, db, "p", None, tableName="q")
    see(hive, "renamed, partitioned", db, "q")
    see_partition(hive, "table renamed", db, ["1"], "q")


@scenario
def accuracy_of_added_partitions(hive: Recorder, db: str) -> None:
    hive.call("create_table", (table(db, "t", KEYS),))
    methods: dict[str, Any] = {
        "add_partition": lambda new: (new,),
        "add_partitions": lambda new: ([new],),
        "add_partitions_req": lambda new: (AddPartitionsRequest(db, "t", [new], True),),
        "add_partitions_pspec": lambda new: (
            [PartitionSpec(db, "t", partitionList=PartitionListComposingSpec([new]))],
        ),
    }
    for folder in ("new", "existing"):
        for sent in SENT:
            if sent.startswith("parameter"):
                continue
            for method, arguments in methods.items():
                values = [f"{folder} {sent} {method}"]
                _add(hive, db, values, folder, SENT[sent], method, arguments)
            for context in CONTEXTS:
                values = [f"{folder} {sent} {context}"]
                _add(
                    hive,
                    db,
                    values,
                    folder,
                    SENT[sent],
                    "add_partition_with_environment_context",
                    lambda new, given=CONTEXTS[context]: (new, given),
                )
        for context in CONTEXTS:
            values = [f"{folder} append {context}"]
            if folder == "existing":
                hive.put(f"{db}.db/t/ds={values[0]}/file")
            hive.call("append_partition_with_environment_context", (db, "t", values, CONTEXTS[context]))
            see_partition(hive, values[0], db, values)
    for values in (["shared 1"], ["shared 2"]):
        hive.put(f"{db}.db/t/{values[0]}/file")
        sd = descriptor(f"file:{hive.folder}/{db}.db/t")
        sent = SENT["no counts"] if values == ["shared 1"] else SENT["columns"]
        without = PartitionWithoutSD(values, 0, 0, f"/{values[0]}", dict(sent))
        shared = PartitionSpecWithSharedSD([without], sd)
        hive.at(values[0]).add_partitions_pspec([PartitionSpec(db, "t", sd.location, sharedSDPartitionSpec=shared)])
        see_partition(hive, values[0], db, values)


def _add(
    hive: Recorder, db: str, values: list[str], folder: str, sent: dict[str, str], method: str, arguments: Any
) -> None:
    if folder == "existing":
        hive.put(f"{db}.db/t/ds={values[0]}/file")
    hive.call(method, arguments(partition(db, "t", values, parameters=dict(sent))))
    see_partition(hive, values[0], db, values)


def stored_partition(hive: Recorder, db: str, values: list[str], name: str = "t", **fields: Any) -> Partition:
    """Returns a partition as it is stored, with these fields."""
    stored: Partition = hive.call("get_partition", (db, name, values))
    for field, value in fields.items():
        setattr(stored.sd if field in {"cols", "location"} else stored, field, value)
    return stored


@scenario
def accuracy_of_altered_partitions(hive: Recorder, db: str) -> None:
    hive.call("create_table", (table(db, "t", KEYS),))
    hive.put(f"{db}.db/t/ds=1/file")
    hive.call("add_partition", (partition(db, "t", ["1"]),))
    quiet, one = CONTEXTS["quiet"], ["1"]
    for turn, before in enumerate(("columns", "nothing")):
        first = stored_partition(hive, db, one, parameters=dict(SENT[before]))
        for number, (sent, context) in enumerate(CASES, turn):
            changed = stored_partition(hive, db, one, parameters=dict(SENT[sent]))
            # Each case is sent by both methods, by one of them in each state.
            method, new = (("alter_partition", changed), ("alter_partitions", [changed]))[number % 2]
            hive.call("alter_partition_with_environment_context", (db, "t", first, quiet))
            hive.call(f"{method}_with_environment_context", (db, "t", new, CONTEXTS[context]))
            see_partition(hive, f"{before}, {sent}, {context}, {method}", db, one)
    hive.put(f"{db}.db/t/ds=1/more")
    for sent in ("columns", "no counts", "other counts"):
        changed = stored_partition(hive, db, one, parameters=dict(SENT[sent]))
        for method, arguments in (
            ("alter_partition", (changed,)),
            ("alter_partitions", ([changed],)),
            ("rename_partition", ([], changed)),
        ):
            first = stored_partition(hive, db, one, parameters=dict(SENT["columns"]))
            hive.call("alter_partition_with_environment_context", (db, "t", first, quiet))
            hive.call(method, (db, "t", *arguments))
            see_partition(hive, f"a file came, {sent}, {method}", db, one)


@scenario
def accuracy_of_moved_partitions(hive: Recorder, db: str) -> None:
    hive.put(f"{db}_place/more", "1234567")
    hive.call("create_table", (table(db, "t", KEYS),))
    for context in CONTEXTS:
        values = [context]
        hive.put(f"{db}.db/t/ds={context}/file")
        hive.call("add_partition", (partition(db, "t", values, parameters=dict(SENT["columns"])),))
        changed = stored_partition(hive, db, values, location=f"file:{hive.folder}/{db}_place")
        hive.call("alter_partition_with_environment_context", (db, "t", changed, CONTEXTS[context]))
        see_partition(hive, f"another location, {context}", db, values)
    for kind in ("MANAGED_TABLE", "EXTERNAL_TABLE"):
        parameters = {"EXTERNAL": "TRUE"} if kind == "EXTERNAL_TABLE" else {}
        hive.call("create_table", (table(db, kind, KEYS, tableType=kind, parameters=parameters),))
        for sent in ("columns", "other counts", "no counts"):
            old, new = [sent], [f"{sent} renamed"]
            hive.put(f"{db}.db/{kind.lower()}/ds={sent}/file")
            hive.call("add_partition", (partition(db, kind, old, parameters=dict(SENT["columns"])),))
            changed = stored_partition(hive, db, old, kind, parameters=dict(SENT[sent]))
            changed.values = new
            hive.at(f"{kind}, {sent}").rename_partition(db, kind, old, changed)
            see_partition(hive, f"renamed, {kind}, {sent}", db, new, kind)
    for name in ("source", "target"):
        hive.call("create_table", (table(db, name, KEYS),))
    for method, value in (("exchange_partition", "1"), ("exchange_partitions", "2")):
        hive.put(f"{db}.db/source/ds={value}/file")
        hive.call("add_partition", (partition(db, "source", [value], parameters=dict(SENT["columns"])),))
        hive.at(value, show=lambda _: None).__getattr__(method)({"ds": value}, db, "source", db, "target")
        see_partition(hive, f"exchanged, {method}", db, [value], "target")
