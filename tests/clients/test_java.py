"""Hive's Java client 2.3.10: databases, tables, partitions, fields, configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.clients.java import Hive, names, refused
from tests.wire.builders import unique

KEYS = ("ds", "string"), ("n", "int")


@pytest.fixture
def events(hive: Hive, java_client: Any, database: str) -> Any:
    """A table with four partitions, as the server returns it."""
    java_client.createTable(hive.table(database, "Events", *KEYS))
    values = ("x", "9"), ("x", "10"), ("y/z", "100"), ("é", "-1")
    assert java_client.add_partitions([hive.partition(database, "events", *value) for value in values]) == 4
    return java_client.getTable(database, "EVENTS")


def folder(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def test_databases(hive: Hive, java_client: Any) -> None:
    name = unique("java")
    java_client.createDatabase(hive.api.Database(name.upper(), "a comment", None, {"k": "v"}))
    with refused("AlreadyExistsException", name):
        java_client.createDatabase(hive.api.Database(name, None, None, None))
    stored_database = java_client.getDatabase(name)
    assert (stored_database.getName(), stored_database.getDescription(), dict(stored_database.getParameters())) == (
        name,
        "a comment",
        {"k": "v"},
    )
    assert folder(stored_database.getLocationUri()).is_dir()
    assert name in java_client.getAllDatabases()
    assert list(java_client.getDatabases(f"{name[:8]}*|{name}")).count(name) == 1
    stored_database.setParameters({"k": "w"})
    java_client.alterDatabase(name, stored_database)
    assert dict(java_client.getDatabase(name).getParameters()) == {"k": "w"}
    java_client.createTable(hive.table(name, "t"))
    with refused("InvalidOperationException", f"Database {name} is not empty"):
        java_client.dropDatabase(name)
    java_client.dropDatabase(name, True, False, True)
    java_client.dropDatabase(name, True, True)  # unknown ones are ignored
    with refused("NoSuchObjectException", name):
        java_client.dropDatabase(name, True, False)
    with refused("NoSuchObjectException", name):
        java_client.getDatabase(name)


def test_tables(hive: Hive, java_client: Any, database: str, events: Any) -> None:
    assert (events.getTableName(), events.getTableType(), events.getOwner()) == ("events", "MANAGED_TABLE", "me")
    assert [key.getName() for key in events.getPartitionKeys()] == ["ds", "n"]
    with refused("AlreadyExistsException", f"{database}.events"):
        java_client.createTable(hive.table(database, "events"))
    with refused("InvalidObjectException", "nowhere"):
        java_client.createTable(hive.table("nowhere", "events"))
    assert java_client.tableExists(database, "events")
    assert not java_client.tableExists(database, "none")
    with refused("NoSuchObjectException", "none"):
        java_client.getTable(database, "none")
    view = hive.table(database, "a_view")
    view.setTableType("VIRTUAL_VIEW")
    view.setViewOriginalText("SELECT 1")
    view.setViewExpandedText("SELECT 1")
    java_client.createTable(view)
    assert list(java_client.getAllTables(database)) == ["a_view", "events"]
    assert list(java_client.getTables(database, "ev*|none")) == ["events"]
    kind = hive.metastore.TableType.VIRTUAL_VIEW
    assert list(java_client.getTables(database, "*", kind)) == ["a_view"]
    metas = java_client.getTableMeta(database, "*", ["VIRTUAL_VIEW", "MANAGED_TABLE"])
    assert [(meta.getTableName(), meta.getTableType()) for meta in metas] == [
        ("a_view", "VIRTUAL_VIEW"),
        ("events", "MANAGED_TABLE"),
    ]
    assert [each.getTableName() for each in java_client.getTableObjectsByName(database, ["events", "none"])] == [
        "events"
    ]
    text = 'hive_filter_field_owner__ = "me" and hive_filter_field_params__k = "v"'
    assert list(java_client.listTableNamesByFilter(database, text, -1)) == ["a_view", "events"]
    with refused("MetaException", "filter"):
        java_client.listTableNamesByFilter(database, "nonsense here", -1)


def test_altered_renamed_and_dropped_tables(hive: Hive, java_client: Any, database: str, events: Any) -> None:
    changed = events.deepCopy()
    changed.getSd().setCols(hive.columns(("a", "bigint"), ("x", "string"), ("more", "date")))
    java_client.alter_table(database, "events", changed, True)
    assert [col.getType() for col in java_client.getPartition(database, "events", "ds=x/n=9").getSd().getCols()] == [
        "bigint",
        "string",
        "date",
    ]
    changed.getSd().setCols(hive.columns(("a", "boolean")))
    with refused("InvalidOperationException", "incompatible"):
        java_client.alter_table(database, "events", changed)
    renamed = java_client.getTable(database, "events")
    renamed.setTableName("renamed")
    context = hive.api.EnvironmentContext()
    context.setProperties({"CASCADE": "true"})
    java_client.alter_table_with_environmentContext(database, "events", renamed, context)
    assert list(java_client.getAllTables(database)) == ["renamed"]
    with refused("InvalidOperationException", "events"):
        java_client.alter_table(database, "events", renamed)
    location = folder(java_client.getTable(database, "renamed").getSd().getLocation())
    assert location.name == "renamed"
    assert (location / "ds=x" / "n=9").is_dir()
    java_client.dropTable(database, "renamed", True, False, True)
    assert not location.exists()
    java_client.dropTable(database, "renamed", True, True)
    with refused("NoSuchObjectException", "renamed"):
        java_client.dropTable(database, "renamed", True, False)


def test_partitions_read(java_client: Any, database: str, events: Any) -> None:
    everything = ["ds=x/n=10", "ds=x/n=9", "ds=y%2Fz/n=100", "ds=é/n=-1"]
    assert list(java_client.listPartitionNames(database, "events", -1)) == everything
    assert list(java_client.listPartitionNames(database, "events", 2)) == everything[:2]
    assert list(java_client.listPartitionNames(database, "events", ["", "100"], -1)) == everything[2:3]
    assert names(java_client.listPartitions(database, "events", -1)) == ["x/10", "x/9", "y/z/100", "é/-1"]
    assert names(java_client.listPartitions(database, "events", ["x"], -1)) == ["x/10", "x/9"]
    assert names(java_client.listPartitionsWithAuthInfo(database, "events", -1, "me", [])) == [
        "x/10",
        "x/9",
        "y/z/100",
        "é/-1",
    ]
    assert names(java_client.listPartitionsWithAuthInfo(database, "events", ["é"], -1, "me", [])) == ["é/-1"]
    assert names(java_client.listPartitionsByFilter(database, "events", "n > 9 and ds <> 'x'", -1)) == ["y/z/100"]
    assert java_client.getNumPartitionsByFilter(database, "events", "n < 10") == 2
    assert names(java_client.getPartitionsByNames(database, "events", [everything[3], "ds=no/n=1"])) == ["é/-1"]
    assert names([java_client.getPartition(database, "events", ["y/z", "100"])]) == ["y/z/100"]
    assert names([java_client.getPartition(database, "events", everything[2])]) == ["y/z/100"]
    assert names([java_client.getPartitionWithAuthInfo(database, "events", ["x", "9"], "me", [])]) == ["x/9"]
    with refused("NoSuchObjectException"):
        java_client.getPartition(database, "events", ["no", "1"])
    with refused("MetaException", "nope"):
        java_client.listPartitionsByFilter(database, "events", "nope = 1", -1)


def test_partition_specs_values_and_expressions(hive: Hive, java_client: Any, database: str, events: Any) -> None:
    specs = java_client.listPartitionSpecs(database, "events", -1)
    assert specs.size() == 4
    assert java_client.listPartitionSpecsByFilter(database, "events", "n = 100", -1).size() == 1
    more = [hive.partition(database, "events", "spec", str(number)) for number in range(3)]
    spec = hive.api.PartitionSpec(database, "events", None)
    spec.setPartitionList(hive.api.PartitionListComposingSpec(more))
    assert java_client.add_partitions_pspec(hive.metastore.partition.spec.PartitionSpecProxy.Factory.get(spec)) == 3
    request = hive.api.PartitionValuesRequest(database, "events", hive.columns(KEYS[0]))
    partition_values = java_client.listPartitionValues(request)
    assert sorted({row.getRow()[0] for row in partition_values.getPartitionValues()}) == ["spec", "x", "y/z", "é"]
    result = hive.jvm.java.util.ArrayList()
    unsure = java_client.listPartitionsByExpr(database, "events", b"not for us", "default", -1, result)
    assert (unsure, len(result)) == (True, 7)  # all of them; the client filters again


def test_partitions_written(hive: Hive, java_client: Any, database: str, events: Any) -> None:
    added = java_client.add_partition(hive.partition(database, "events", "a", "1"))
    assert folder(added.getSd().getLocation()).is_dir()
    with refused("AlreadyExistsException", "Partition already exists"):
        java_client.add_partition(hive.partition(database, "events", "a", "1"))
    two = [hive.partition(database, "events", "a", "1"), hive.partition(database, "events", "a", "2")]
    assert names(java_client.add_partitions(two, True, True)) == ["a/2"]
    assert names([java_client.appendPartition(database, "events", ["a", "3"])]) == ["a/3"]
    assert names([java_client.appendPartition(database, "events", "ds=a/n=4")]) == ["a/4"]
    changed = java_client.getPartition(database, "events", ["a", "1"])
    changed.setParameters({"k": "w"})
    java_client.alter_partition(database, "events", changed)
    java_client.alter_partition(database, "events", changed, None)
    java_client.alter_partitions(database, "events", [changed])
    java_client.alter_partitions(database, "events", [changed], hive.api.EnvironmentContext())
    assert java_client.getPartition(database, "events", ["a", "1"]).getParameters()["k"] == "w"
    changed.setValues(["b", "1"])
    java_client.renamePartition(database, "events", ["a", "1"], changed)
    moved = java_client.getPartition(database, "events", ["b", "1"])
    assert folder(moved.getSd().getLocation()).parts[-2:] == ("ds=b", "n=1")
    changed.setValues(["gone", "1"])
    with refused("InvalidOperationException"):
        java_client.alter_partition(database, "events", changed)
    assert java_client.dropPartition(database, "events", ["b", "1"], True)
    assert not folder(moved.getSd().getLocation()).exists()
    assert java_client.dropPartition(database, "events", "ds=a/n=2", True)
    options = hive.metastore.PartitionDropOptions.instance().deleteData(True).purgeData(True)
    assert java_client.dropPartition(database, "events", ["a", "3"], options)
    with refused("NoSuchObjectException"):
        java_client.dropPartition(database, "events", ["a", "3"], True)


def test_exchanged_partitions(hive: Hive, java_client: Any, database: str, events: Any) -> None:
    java_client.createTable(hive.table(database, "target", *KEYS))
    moved = java_client.exchange_partitions({"ds": "x"}, database, "events", database, "target")
    assert sorted(names(moved)) == ["x/10", "x/9"]
    java_client.exchange_partition({"ds": "é", "n": "-1"}, database, "events", database, "target")
    assert names(java_client.listPartitions(database, "target", -1)) == ["x/10", "x/9", "é/-1"]
    assert names(java_client.listPartitions(database, "events", -1)) == ["y/z/100"]


def test_fields_names_and_marks(hive: Hive, java_client: Any, database: str, events: Any) -> None:
    assert [field.getName() for field in java_client.getFields(database, "events")] == ["a", "x"]
    assert [each.getName() for each in java_client.getSchema(database, "events")] == ["a", "x", "ds", "n"]
    assert list(java_client.partitionNameToVals("ds=y%2Fz/n=1")) == ["y/z", "1"]
    assert dict(java_client.partitionNameToSpec("ds=y%2Fz/n=1")) == {"ds": "y/z", "n": "1"}
    java_client.validatePartitionNameCharacters(["a", "é"])
    done = hive.api.PartitionEventType.LOAD_DONE
    which = {"ds": "x", "n": "9"}
    assert not java_client.isPartitionMarkedForEvent(database, "events", which, done)
    java_client.markPartitionForEvent(database, "events", which, done)
    assert java_client.isPartitionMarkedForEvent(database, "events", which, done)


def test_configuration_and_connection(java_client: Any, database: str) -> None:
    assert java_client.getConfigValue("hive.metastore.nothing.of.the.kind", "fallback") == "fallback"
    assert java_client.getConfigValue("hive.metastore.warehouse.dir", "")
    java_client.setMetaConf("hive.metastore.try.direct.sql", "false")
    assert java_client.getMetaConf("hive.metastore.try.direct.sql") in ("true", "false")
    java_client.flushCache()
    java_client.reconnect()
    assert java_client.getDatabase(database).getName() == database
    assert not java_client.isLocalMetaStore()


def test_framed_and_compact(hive: Hive, database: str) -> None:
    for framed in ("true", "false"):
        settings = {"hive_metastore_thrift_framed_transport_enabled": framed}
        client = hive.connect(hive_metastore_thrift_compact_protocol_enabled="true", **settings)
        client.createTable(hive.table(database, f"framed_{framed}"))
        assert client.getTable(database, f"framed_{framed}").getParameters()["k"] == "v"
        client.close()
