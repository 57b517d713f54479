"""Changes of tables: renames, columns, partitions that follow, compare-and-swap; views."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, EnvironmentContext, Table

CASCADE = EnvironmentContext({"CASCADE": "true"})
QUIET = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
KEYS = [("ds", "string")]


def made(hive: Recorder, db: str, name: str = "t", keys: Any = KEYS, **fields: Any) -> Table:
    """Creates a table and reads it."""
    hive.create_table(table(db, name, keys, **fields))
    stored_table: Table = hive.get_table(db, name)
    return stored_table


@scenario
def tables_are_changed(hive: Recorder, db: str) -> None:
    changed = made(hive, db, "t", ())
    changed.parameters |= {"a": "1", "transient_lastDdlTime": "5"}
    changed.owner = "other"
    changed.retention = 9
    changed.createTime = 1
    changed.sd.cols = columns(("a", "bigint"), ("x", "string"), ("y", "double"))
    changed.sd.inputFormat = "in"
    changed.sd.serdeInfo.parameters = {"new": "1"}
    hive.alter_table_with_environment_context(db, "T", changed, QUIET)
    hive.get_table(db, "t")
    del changed.parameters["transient_lastDdlTime"]
    hive.at("without a time").alter_table_with_environment_context(db, "t", changed, QUIET)
    hive.at("without a time").get_table(db, "t")
    changed.parameters["transient_lastDdlTime"] = "5"
    hive.at("without a context's properties").alter_table_with_environment_context(
        db, "t", changed, EnvironmentContext(None)
    )
    hive.at("missing", says="table .*not found|doesn't exist").alter_table(db, "nope", table(db, "nope"))
    hive.at("missing database").alter_table("nowhere", "t", table("nowhere", "t"))
    hive.at("no name").alter_table(db, "t", table(db, None))
    hive.at("no table").alter_table(db, "t", None)


@scenario
def tables_whose_columns_change(hive: Recorder, db: str) -> None:
    kinds = ("int", "bigint", "decimal(10,2)", "double", "string", "varchar(5)", "date", "boolean")
    hive.create_table(table(db, "t", sd=descriptor(cols=columns(("a", "int"), ("b", "string")))))
    for old in (*kinds, "array<int>"):
        for new in (*kinds, "array<bigint>"):
            name = "c_" + "".join(text for text in old + new if text.isalnum())
            hive.call("create_table", (table(db, name, sd=descriptor(cols=columns(("a", old)))),))
            hive.at(f"{old} to {new}").alter_table_with_environment_context(
                db, name, table(db, name, sd=descriptor(cols=columns(("a", new)))), QUIET
            )
    for label, cols in (
        ("swapped", [("b", "string"), ("a", "int")]),
        ("fewer", [("a", "int")]),
        ("none", []),
        ("twice", [("a", "int"), ("A", "int")]),
        ("bad type", [("a", "integr")]),
    ):
        hive.at(label).alter_table_with_environment_context(
            db, "t", table(db, "t", sd=descriptor(cols=columns(*cols))), QUIET
        )


@scenario
def tables_are_renamed(hive: Recorder, db: str) -> None:
    hive.create_database(Database(name=f"{db}_b"))
    hive.create_table(table(db, "taken"))
    changed = made(hive, db)
    hive.put(f"{db}.db/t/ds=1/data")
    hive.add_partition(partition(db, "t", ["1"]))
    hive.add_partition(partition(db, "t", ["2"], sd=descriptor(f"file:{hive.folder}/{db}_away")))
    changed.tableName = "taken"
    hive.at("taken", says=f"new table {db}.taken already exists").alter_table(db, "t", changed)
    changed.tableName = "New_Name"
    hive.at("new name").alter_table(db, "t", changed)
    hive.at("new name").get_table(db, "new_name")
    hive.at("old name").get_table(db, "t")
    hive.at("new name").get_partitions(db, "new_name", -1)
    hive.files(f"{db}.db")
    changed = hive.at("again").get_table(db, "new_name")
    changed.dbName = f"{db}_b"
    hive.at("other database").alter_table(db, "new_name", changed)
    hive.at("other database").get_table(f"{db}_b", "new_name")
    hive.at("other database").get_partitions(f"{db}_b", "new_name", -1)
    hive.files(f"{db}.db")
    hive.files(f"{db}_b.db")
    changed.dbName = "nowhere"
    hive.at("unknown database").alter_table(f"{db}_b", "new_name", changed)


@scenario
def tables_that_are_external_are_renamed(hive: Recorder, db: str) -> None:
    """External data, and data at other locations, stay where they are."""
    for name, fields in (
        ("external", {"parameters": {"EXTERNAL": "TRUE"}, "tableType": "EXTERNAL_TABLE"}),
        ("elsewhere", {"sd": descriptor(f"file:{hive.folder}/{db}_elsewhere")}),
    ):
        changed = made(hive, db, name, **fields)
        changed.tableName = f"{name}_renamed"
        hive.at(name).alter_table(db, name, changed)
        hive.at(name).get_table(db, f"{name}_renamed")
    hive.files(f"{db}.db")


@scenario
def tables_whose_keys_change(hive: Recorder, db: str) -> None:
    changed = made(hive, db)
    hive.add_partition(partition(db, "t", ["1"]))
    for label, keys in (("name", [("dt", "string")]), ("count", []), ("type", [("ds", "int")])):
        changed.partitionKeys = columns(*keys)
        hive.at(label).alter_table(db, "t", changed)
        hive.at(label).get_table(db, "t")
    hive.get_partitions(db, "t", -1)


@scenario
def tables_change_with_their_partitions(hive: Recorder, db: str) -> None:
    changed = made(hive, db)
    hive.add_partition(partition(db, "t", ["1"]))
    changed.sd.cols = columns(("a", "bigint"), ("x", "string"), ("y", "int"))
    hive.at("restrict").alter_table(db, "t", changed)
    hive.at("restrict").get_partition(db, "t", ["1"])
    changed.sd.cols = columns(("a", "bigint"), ("x", "string"), ("y", "bigint"))
    hive.at("cascade").alter_table_with_environment_context(db, "t", changed, CASCADE)
    hive.at("cascade").get_partition(db, "t", ["1"])
    changed.sd.cols = columns(("a", "bigint"), ("x", "string"))
    hive.at("cascade").alter_table_with_cascade(db, "t", changed, True)
    hive.at("with cascade").get_partition(db, "t", ["1"])
    hive.get_schema(db, "t")


@scenario
def tables_are_moved(hive: Recorder, db: str) -> None:
    changed = made(hive, db)
    hive.add_partition(partition(db, "t", ["1"]))
    changed.sd.location = f"file:{hive.folder}/{db}_moved"
    hive.alter_table(db, "t", changed)
    hive.get_table(db, "t")
    hive.get_partition(db, "t", ["1"])
    hive.files(f"{db}.db")
    changed.sd.location = None
    hive.at("no location").alter_table(db, "t", changed)
    hive.at("no location").get_table(db, "t")


@scenario
def tables_are_compared_and_swapped(hive: Recorder, db: str) -> None:
    """Iceberg's commit without locks (HIVE-26882)."""
    hive.create_table(table(db, "t", parameters={"metadata_location": "one", "EXTERNAL": "TRUE"}))

    def commit(label: str, expected: str | None, new: str | None, key: str = "metadata_location") -> None:
        context = {"DO_NOT_UPDATE_STATS": "true", "expected_parameter_key": key}
        context |= {"expected_parameter_value": expected} if expected is not None else {}
        changed = table(db, "t", parameters={"EXTERNAL": "TRUE"} | ({"metadata_location": new} if new else {}))
        text = "The table has been modified. The parameter value for key 'metadata_location' is"
        says = text if expected == "stale" else ""
        hive.at(label, says=says).alter_table_with_environment_context(db, "t", changed, EnvironmentContext(context))
        hive.at(label).get_table(db, "t")

    commit("right", "one", "two")
    commit("stale", "stale", "three")
    commit("key is left out", "two", None)
    commit("no expectation", None, "four")
    commit("unknown key", "x", "five", "unknown")


@scenario
def views(hive: Recorder, db: str) -> None:
    text = {"viewOriginalText": "select 1", "viewExpandedText": "select `1`"}
    view = table(db, "v", tableType="VIRTUAL_VIEW", **text)
    hive.create_table(view)
    changed = hive.get_table(db, "v")
    changed.viewExpandedText = "select 2"
    changed.sd.cols = columns(("b", "string"))
    hive.alter_table(db, "v", changed)
    hive.at("changed").get_table(db, "v")
    hive.get_fields(db, "v")
    changed.tableName = "w"
    hive.at("rename").alter_table(db, "v", changed)
    hive.get_tables_by_type(db, "*", "VIRTUAL_VIEW")
    hive.files(f"{db}.db")
    hive.at("partitioned").create_table(table(db, "p", KEYS, tableType="VIRTUAL_VIEW", **text))
    hive.at("with location").add_partition(partition(db, "p", ["1"], sd=descriptor(f"file:{hive.folder}/x")))
    hive.at("without location").add_partition(partition(db, "p", ["2"]))
    hive.at("without descriptor").add_partition(partition(db, "p", ["3"], sd=None))
    hive.get_partitions(db, "p", -1)
    hive.at("partition").drop_partition(db, "p", ["2"], True)
    hive.at("materialized").create_table(table(db, "m", tableType="MATERIALIZED_VIEW", **text))
    hive.at("materialized").get_table(db, "m")
    hive.at("view").drop_table(db, "w", True)
    hive.at("partitioned view").drop_table(db, "p", True)
    hive.get_all_tables(db)
