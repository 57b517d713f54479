"""Tables, as clients of every version see them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, new_database, new_table, partition, skewed, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    AlterTableRequest,
    ClientCapabilities,
    CreateTableRequest,
    Database,
    DropTableRequest,
    EnvironmentContext,
    GetTableRequest,
    GetTablesRequest,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    PrincipalType,
    SerDeInfo,
    StorageDescriptor,
    Table,
    UnknownDBException,
)


def folder(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def test_objects_are_returned_as_they_were_stored(hive_client: Any) -> None:
    """Trap 17."""
    database = new_database(hive_client)
    sent = table(
        database,
        "Mixed",
        [("ds", "string")],
        parameters={"k": "v" * 33_000, "é": "日本"},
        retention=2**31 - 1,
        owner="o",
        sd=descriptor(
            cols=columns(("A", "int"), ("s", "struct<x:array<string>,Y:decimal(10,2)>")),
            skewedInfo=skewed(["a"], [["1"], ["2"]]),
            storedAsSubDirectories=True,
        ),
    )
    sent.sd.skewedInfo.skewedColValueLocationMaps = {("1",): "file:/x/a=1"}
    hive_client.create_table(sent)
    stored = hive_client.get_table(database, "MIXED")
    assert (stored.tableName, stored.dbName, stored.owner, stored.retention) == ("mixed", database, "o", 2**31 - 1)
    assert [(c.name, c.type) for c in stored.sd.cols] == [
        ("a", "int"),
        ("s", "struct<x:array<string>,Y:decimal(10,2)>"),
    ]
    assert stored.parameters["k"] == "v" * 33_000
    assert stored.parameters["é"] == "日本"
    assert stored.sd.skewedInfo.skewedColValues == [["1"], ["2"]]
    assert stored.sd.skewedInfo.skewedColValueLocationMaps == {("1",): "file:/x/a=1"}
    assert stored.sd.storedAsSubDirectories
    assert [key.name for key in stored.partitionKeys] == ["ds"]
    assert folder(stored.sd.location).is_dir()
    assert int(stored.parameters["transient_lastDdlTime"]) >= stored.createTime > 0


def test_every_form_of_the_call_reads_the_same_table(hive_client: Any) -> None:
    """Trap 27."""
    database, name = new_table(hive_client, [("ds", "string")])
    plain = hive_client.get_table(database, name)
    capable = GetTableRequest(database, name, ClientCapabilities([1]), catName="hive")
    assert hive_client.get_table_req(capable).table == plain
    assert hive_client.get_table_objects_by_name(database, [name, "nope"]) == [plain]
    assert hive_client.get_table_objects_by_name_req(GetTablesRequest(database, [name])).tables == [plain]
    assert hive_client.get_schema(database, name) == [*plain.sd.cols, *plain.partitionKeys]
    assert hive_client.get_fields(database, name) == plain.sd.cols


def test_an_almost_empty_table_is_completed(hive_client: Any) -> None:
    """Trap 3."""
    database = new_database(hive_client)
    sd = StorageDescriptor(cols=[], serdeInfo=SerDeInfo())
    hive_client.create_table(Table(tableName="t", dbName=database, sd=sd))
    stored = hive_client.get_table(database, "t")
    assert stored.sd.serdeInfo == SerDeInfo(parameters={})
    assert (stored.sd.cols, stored.partitionKeys, stored.tableType) == ([], [], "MANAGED_TABLE")
    assert stored.sd.skewedInfo.skewedColNames == []


def test_missing_and_present(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    with pytest.raises(AlreadyExistsException, match=name):
        hive_client.create_table(table(database, name.upper()))
    with pytest.raises(InvalidObjectException, match="nowhere"):
        hive_client.create_table(table("nowhere", "t"))
    with pytest.raises(NoSuchObjectException, match="nope"):
        hive_client.get_table(database, "nope")
    with pytest.raises(NoSuchObjectException):
        hive_client.drop_table(database, "nope", True)
    assert hive_client.get_all_tables("nowhere") == []


@pytest.mark.parametrize(
    "change",
    [
        {"tableName": "a b"},
        {"tableName": "x" * 10_000},
        {"tableName": "new\nline"},
        {"sd": descriptor(cols=columns(("a", "integr")))},
        {"sd": descriptor(cols=columns(("a", "int"), ("A", "int")))},
        {"sd": descriptor(cols=columns(("", "int")))},
        {"sd": descriptor(skewedInfo=skewed(["nope"], [["1"]]))},
        {"sd": descriptor(skewedInfo=skewed(["a", "x"], [["1"]]))},
        {"parameters": {"k": "a\0b"}},
    ],
)
def test_malformed_tables_are_rejected_and_leave_nothing(hive_client: Any, change: dict[str, Any]) -> None:
    database = new_database(hive_client)
    bad = table(database, "t")
    for field, value in change.items():
        setattr(bad, field, value)
    with pytest.raises(InvalidObjectException):
        hive_client.create_table(bad)
    assert hive_client.get_all_tables(database) == []


@pytest.mark.parametrize(
    "change",
    [{"dbName": None}, {"tableName": None}, {"sd": descriptor(cols=columns(("a", None)))}],  # type: ignore[arg-type]
)
def test_null_arguments_raise_meta_exception(hive_client: Any, change: dict[str, Any]) -> None:
    """As in Hive."""
    database = new_database(hive_client)
    bad = table(database, "t")
    for field, value in change.items():
        setattr(bad, field, value)
    with pytest.raises(MetaException, match=r"was sent without|has no type"):
        hive_client.create_table(bad)
    assert hive_client.get_all_tables(database) == []


def test_a_partition_column_may_be_a_column(hive_client: Any) -> None:
    """As in Hive, which hmsbench expects."""
    database, name = new_table(hive_client, [("a", "int")])
    hive_client.add_partition(partition(database, name, ["1"]))
    assert hive_client.get_partition_names(database, name, -1) == ["a=1"]
    assert [each.values for each in hive_client.get_partitions_by_filter(database, name, "a = 1", -1)] == [["1"]]


def test_tables_are_sought_in_databases_by_a_pattern(hive_client: Any) -> None:
    """Hive 4's client lists them in this way, without naming tables."""
    prefix = unique("p")
    for text in "ab":
        hive_client.create_database(Database(name=f"{prefix}_{text}"))
        hive_client.create_table(table(f"{prefix}_{text}", f"t_{text}"))
    listed = hive_client.get_table_objects_by_name_req(GetTablesRequest(f"{prefix}_*", tablesPattern="t_*")).tables
    assert [(each.dbName, each.tableName) for each in listed] == [(f"{prefix}_{text}", f"t_{text}") for text in "ab"]
    assert listed[0] == hive_client.get_table(f"{prefix}_a", "t_a")
    with pytest.raises(UnknownDBException, match=r"Could not find database hive\.nowhere"):
        hive_client.get_table_objects_by_name_req(GetTablesRequest("nowhere", tablesPattern="*"))


def test_listings_name_the_owner(hive_client: Any) -> None:
    database, _ = new_table(hive_client, owner="staff", ownerType=PrincipalType.ROLE)
    (actual,) = hive_client.get_table_meta(database, "*", [])
    assert (actual.ownerName, actual.ownerType, actual.catName) == ("staff", PrincipalType.ROLE, "hive")


def test_the_root_of_a_file_system_is_no_table(hive_client: Any) -> None:
    database = new_database(hive_client)
    with pytest.raises(InvalidObjectException, match="t location must not be root path"):
        hive_client.create_table(table(database, "t", sd=descriptor("file:///")))


def test_external_tables_keep_their_files(hive_client: Any, tmp_path: Path) -> None:
    database = new_database(hive_client)
    for name, parameters in (("kept", {}), ("purged", {"external.table.purge": "TRUE"})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("12345")
        external = table(
            database,
            name,
            sd=descriptor(f"{tmp_path}/{name}"),
            parameters={"EXTERNAL": "TRUE"} | parameters,
            tableType="EXTERNAL_TABLE",
        )
        hive_client.create_table(external)
        stored = hive_client.get_table(database, name)
        assert stored.tableType == "EXTERNAL_TABLE"
        assert (stored.parameters["numFiles"], stored.parameters["totalSize"]) == ("1", "5")
        hive_client.drop_table(database, name, True)
    assert (tmp_path / "kept" / "file").exists()
    assert not (tmp_path / "purged").exists()


def test_the_parameter_decides_whether_a_table_is_external(hive_client: Any) -> None:
    """Trap 15."""
    database = new_database(hive_client)
    hive_client.create_table(table(database, "t", tableType="EXTERNAL_TABLE"))
    changed = hive_client.get_table(database, "t")
    assert changed.tableType == "MANAGED_TABLE"
    changed.parameters["EXTERNAL"] = "true"
    hive_client.alter_table(database, "t", changed)
    assert hive_client.get_table(database, "t").tableType == "EXTERNAL_TABLE"


def test_views_have_no_place(hive_client: Any) -> None:
    database = new_database(hive_client)
    view = table(database, "v", tableType="VIRTUAL_VIEW", viewOriginalText="select 1", viewExpandedText="select 1")
    hive_client.create_table(view)
    assert hive_client.get_table(database, "v").sd.location is None
    assert hive_client.get_tables_by_type(database, None, "VIRTUAL_VIEW") == ["v"]
    hive_client.drop_table_with_environment_context(database, "v", True, EnvironmentContext())


def test_listings(hive_client: Any) -> None:
    database = new_database(hive_client)
    for name in ("b", "a", "ab"):
        hive_client.create_table_req(CreateTableRequest(table(database, name, parameters={"comment": name, "p": name})))
    assert hive_client.get_all_tables(database) == ["a", "ab", "b"]
    assert hive_client.get_tables(database, "a*|x") == ["a", "ab"]
    metas = hive_client.get_table_meta(database, "*", [])
    assert [(meta.tableName, meta.comments, meta.tableType) for meta in metas] == [
        (name, name, "MANAGED_TABLE") for name in ("a", "ab", "b")
    ]
    assert hive_client.get_table_meta(database, "a*", ["VIRTUAL_VIEW"]) == []

    def by_filter(text: str, limit: int = -1) -> list[str]:
        names: list[str] = hive_client.get_table_names_by_filter(database, text, limit)
        return names

    assert by_filter('hive_filter_field_params__p = "ab"') == ["ab"]
    assert by_filter('hive_filter_field_params__p LIKE "a%" and hive_filter_field_owner__ = "me"') == ["a", "ab"]
    assert by_filter('hive_filter_field_params__p LIKE "a%"', 1) == ["a"]
    # Clients of Hive 4.1 search tables by a pattern in this way.
    assert by_filter('hive_filter_field_tableName__ like "(?i)A.*"') == ["a", "ab"]
    with pytest.raises(MetaException):
        by_filter("nonsense = 1")


def test_alter_renames_and_moves_managed_tables(hive_client: Any) -> None:
    database, name = new_table(hive_client, [("ds", "string")])
    hive_client.add_partition(partition(database, name, ["1"], sd=descriptor()))
    old = hive_client.get_table(database, name)
    (folder(old.sd.location) / "ds=1" / "data").write_text("x")
    renamed = hive_client.get_table(database, name)
    renamed.tableName = "Other"
    hive_client.alter_table(database, name, renamed)
    new = hive_client.get_table(database, "other")
    assert new.sd.location == old.sd.location.removesuffix("/t") + "/other"
    moved = hive_client.get_partition(database, "other", ["1"])
    assert moved.sd.location == f"{new.sd.location}/ds=1"
    assert moved.tableName == "other"
    assert (folder(moved.sd.location) / "data").exists()
    assert not folder(old.sd.location).exists()
    assert hive_client.get_all_tables(database) == ["other"]


def test_alter_refuses(hive_client: Any) -> None:
    database, name = new_table(hive_client, [("ds", "string")])
    hive_client.create_table(table(database, "taken"))

    def altered(**fields: Any) -> None:
        changed = hive_client.get_table(database, name)
        for field, value in fields.items():
            setattr(changed, field, value)
        hive_client.alter_table(database, name, changed)

    with pytest.raises(InvalidOperationException, match=f"new table {database}.taken already exists"):
        altered(tableName="taken")
    with pytest.raises(InvalidOperationException, match="partition keys"):
        altered(partitionKeys=columns(("other", "string")))
    with pytest.raises(InvalidOperationException, match="incompatible"):
        altered(sd=descriptor(cols=columns(("a", "array<int>"))))
    with pytest.raises(InvalidOperationException, match="database"):
        altered(dbName="nowhere")
    with pytest.raises(InvalidOperationException, match="table not found"):
        hive_client.alter_table(database, "nope", table(database, "nope"))


def test_cascade_reaches_all_partitions(hive_client: Any) -> None:
    database, name = new_table(hive_client, [("ds", "string")])
    hive_client.add_partitions([partition(database, name, [str(i)]) for i in range(20)])
    wider = hive_client.get_table(database, name)
    wider.sd.cols.append(columns(("new", "bigint"))[0])
    hive_client.alter_table(database, name, wider)
    assert {len(each.sd.cols) for each in hive_client.get_partitions(database, name, -1)} == {2}
    wider.sd.cols.append(columns(("newer", "bigint"))[0])
    context = EnvironmentContext({"CASCADE": "true"})
    hive_client.alter_table_with_environment_context(database, name, wider, context)
    assert {len(each.sd.cols) for each in hive_client.get_partitions(database, name, -1)} == {4}


def test_compare_and_swap(hive_client: Any) -> None:
    """Trap 18."""
    database, name = new_table(hive_client, parameters={"metadata_location": "0"})
    changed = hive_client.get_table(database, name)
    changed.parameters["metadata_location"] = "1"
    context = {"expected_parameter_key": "metadata_location", "expected_parameter_value": "0"}
    hive_client.alter_table_with_environment_context(database, name, changed, EnvironmentContext(context))
    changed.parameters["metadata_location"] = "2"
    text = "The table has been modified. The parameter value for key 'metadata_location' is '1'"
    with pytest.raises(MetaException, match=text):
        hive_client.alter_table_with_environment_context(database, name, changed, EnvironmentContext(context))
    request = AlterTableRequest(dbName=database, tableName=name, table=changed)
    request.expectedParameterKey, request.expectedParameterValue = "metadata_location", "1"
    hive_client.alter_table_req(request)
    assert hive_client.get_table(database, name).parameters["metadata_location"] == "2"


def test_a_commit_to_an_iceberg_table_replaces_no_other_commit(hive_client: Any) -> None:
    """Without a lock and an expected value, as clients send it that hold a lock which others do not ask for."""
    database, name = new_table(hive_client, parameters={"table_type": "ICEBERG", "metadata_location": "0"})
    first, second = (hive_client.get_table(database, name) for _ in range(2))
    for number, changed in enumerate((first, second), 1):
        changed.parameters |= {"metadata_location": f"{number}", "previous_metadata_location": "0"}
    hive_client.alter_table(database, name, first)
    text = "The table has been modified. The parameter value for key 'metadata_location' is '1'"
    with pytest.raises(MetaException, match=text):
        hive_client.alter_table(database, name, second)
    second.parameters["previous_metadata_location"] = "1"
    hive_client.alter_table(database, name, second)
    assert hive_client.get_table(database, name).parameters["metadata_location"] == "2"


def test_sixteen_writers_never_lose_a_commit(hive_client: Any, metastore_server: Server) -> None:
    database, name = new_table(hive_client, parameters={"n": "0"})
    start, commits = threading.Barrier(16), []

    def write() -> None:
        with connected(metastore_server) as client:
            start.wait()
            for _ in range(2):
                while True:
                    mine = client.get_table(database, name)
                    seen = mine.parameters["n"]
                    mine.parameters["n"] = str(int(seen) + 1)
                    context = EnvironmentContext({"expected_parameter_key": "n", "expected_parameter_value": seen})
                    try:
                        client.alter_table_with_environment_context(database, name, mine, context)
                    except MetaException:
                        continue
                    commits.append(mine.parameters["n"])
                    break

    writers = [threading.Thread(target=write) for _ in range(16)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(map(int, commits)) == list(range(1, 33))
    assert hive_client.get_table(database, name).parameters["n"] == "32"


def test_drop_removes_data_at_other_locations(hive_client: Any, tmp_path: Path) -> None:
    """Trap 30."""
    database, name = new_table(hive_client, [("ds", "string")])
    hive_client.add_partition(partition(database, name, ["1"], sd=descriptor(f"{tmp_path}/far")))
    location = folder(hive_client.get_table(database, name).sd.location)
    assert (tmp_path / "far").is_dir()
    hive_client.drop_table_req(DropTableRequest(dbName=database, tableName=name, deleteData=True))
    assert not (tmp_path / "far").exists()
    assert not location.exists()


def test_a_context_without_properties_is_taken(hive_client: Any) -> None:
    database = new_database(hive_client)
    hive_client.create_table_with_environment_context(table(database, "t"), EnvironmentContext(None))
    same = hive_client.get_table(database, "t")
    hive_client.alter_table_with_environment_context(database, "t", same, EnvironmentContext(None))
    same.parameters |= {"numFiles": "0", "totalSize": "0"}  # counted by the way
    assert hive_client.get_table(database, "t") == same


def test_the_location_may_be_missing_in_alter_where_no_files_are_counted(hive_client: Any) -> None:
    """For a table with partitions, or with DO_NOT_UPDATE_STATS; Hive would lose the table's location."""
    for keys, context in (([("ds", "string")], {}), ([], {"DO_NOT_UPDATE_STATS": "true"})):
        database, name = new_table(hive_client, keys)
        before = hive_client.get_table(database, name)
        new = table(database, name, keys, parameters={"a": "b"})
        hive_client.alter_table_with_environment_context(database, name, new, EnvironmentContext(context))
        after = hive_client.get_table(database, name)
        assert after.sd == before.sd
        assert after.parameters["a"] == "b"


def test_unknown_methods_leave_the_connection_usable(hive_client: Any) -> None:
    """Trap 1."""
    from thrift.Thrift import TApplicationException

    with pytest.raises(TApplicationException) as caught:
        hive_client.drop_dataconnector(unique(), True, True)
    assert caught.value.type == TApplicationException.UNKNOWN_METHOD
    assert caught.value.message == "Invalid method name: 'drop_dataconnector'"
    assert hive_client.getStatus() == 2


def test_changing_a_table_counts_its_files_again(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    same = hive_client.get_table(database, name)
    (folder(same.sd.location) / "file").write_text("12345")
    hive_client.alter_table_with_environment_context(
        database, name, same, EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
    )
    assert "numFiles" not in hive_client.get_table(database, name).parameters
    hive_client.alter_table(database, name, same)
    counted = hive_client.get_table(database, name).parameters
    assert (counted["numFiles"], counted["totalSize"]) == ("1", "5")
