"""Calls that Hive's clients expect to be rejected, and with which exception. A rejected call changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metastore.client import connect
from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, new_database, new_table, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    GetProjectionsSpec,
    GetTablesRequest,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    PartitionListComposingSpec,
    PartitionSpec,
    PartitionSpecWithSharedSD,
    PartitionWithoutSD,
    StorageDescriptor,
    UnknownDBException,
)

KEYS = [("ds", "string")]


def without(sd: StorageDescriptor, name: str) -> StorageDescriptor:
    setattr(sd, name, None)
    return sd


@pytest.mark.parametrize("missing", ["cols", "serdeInfo"])
def test_a_table_needs_its_columns_and_its_serde(hive_client: Any, missing: str) -> None:
    database = new_database(hive_client)
    with pytest.raises(MetaException, match=rf"without sd\.{missing}"):
        hive_client.create_table(table(database, "t", sd=without(descriptor(), missing)))
    assert hive_client.get_all_tables(database) == []


def test_a_table_has_a_descriptor(hive_client: Any) -> None:
    new = table(new_database(hive_client), "t")
    new.sd = None
    with pytest.raises(MetaException, match="without sd"):
        hive_client.create_table(new)


@pytest.mark.parametrize("missing", ["cols", "serdeInfo", "location"])
def test_an_altered_table_must_have_its_required_fields(hive_client: Any, missing: str) -> None:
    database, name = new_table(hive_client)
    before = hive_client.get_table(database, name)
    new = hive_client.get_table(database, name)
    without(new.sd, missing)
    with pytest.raises(MetaException, match=rf"without sd\.{missing}"):
        hive_client.alter_table(database, name, new)
    assert hive_client.get_table(database, name) == before


@pytest.mark.parametrize("missing", ["sd", "dbName", "tableName"])
def test_a_changed_table_has_a_descriptor_and_names(hive_client: Any, missing: str) -> None:
    database, name = new_table(hive_client)
    before = hive_client.get_table(database, name)
    new = hive_client.get_table(database, name)
    setattr(new, missing, None)
    with pytest.raises(MetaException, match=f"without {missing}"):
        hive_client.alter_table(database, name, new)
    assert hive_client.get_table(database, name) == before


def test_partitions_of_two_databases_are_not_added_together(hive_client: Any) -> None:
    one, other = (new_table(hive_client, KEYS)[0] for _ in range(2))
    with pytest.raises(MetaException, match=rf"does not belong to target table {one}\.t: it is {other}\.t's"):
        hive_client.add_partitions([partition(one, "t", ["a"]), partition(other, "t", ["b"])])
    assert hive_client.get_partition_names(one, "t", -1) == hive_client.get_partition_names(other, "t", -1) == []


@pytest.mark.parametrize("field", ["dbName", "tableName"])
def test_a_partition_of_another_table_is_not_altered_or_renamed(hive_client: Any, field: str) -> None:
    database, name = new_table(hive_client, KEYS)
    before = hive_client.add_partition(partition(database, name, ["a"]))
    new, renamed = partition(database, name, ["a"], parameters={"k": "v"}), partition(database, name, ["b"])
    for each in (new, renamed):
        setattr(each, field, "other")
    for call in (
        lambda: hive_client.alter_partition(database, name, new),
        lambda: hive_client.alter_partitions(database, name, [new]),
        lambda: hive_client.rename_partition(database, name, ["a"], renamed),
    ):
        with pytest.raises(MetaException, match="does not belong to target table"):
            call()
    assert hive_client.get_partitions(database, name, -1) == [before]
    new = partition(f"@hive#{database}", name, ["a"], parameters={"k": "v"})
    hive_client.alter_partition(database, name, new)
    assert hive_client.get_partition(database, name, ["a"]).parameters["k"] == "v"


@pytest.mark.parametrize("keys", [[], KEYS])
def test_the_text_of_a_skewed_place_is_kept_and_nothing_is_done_there(hive_client: Any, keys: list[Any]) -> None:
    """A location that is no path is accepted, as in Hive: its object is changed, renamed and dropped like any other."""
    database = new_database(hive_client)
    sd = descriptor(skewedInfo=skewed(["a"], [["1"]]))
    sd.skewedInfo.skewedColValueLocationMaps = {("1",): "location1"}
    hive_client.create_table(table(database, "t", keys, sd=sd))
    if keys:
        hive_client.add_partition(partition(database, "t", ["a"], sd=sd))
        hive_client.add_partition(partition(database, "t", ["b"], sd=sd))
        hive_client.drop_partition(database, "t", ["b"], True)
    new = hive_client.get_table(database, "t")
    assert new.sd.skewedInfo.skewedColValueLocationMaps == {("1",): "location1"}
    new.tableName = "u"
    hive_client.alter_table(database, "t", new)
    hive_client.truncate_table(database, "u", [])
    home = Path(hive_client.get_table(database, "u").sd.location.removeprefix("file:"))
    assert home.is_dir()
    hive_client.create_table(table(database, "v", keys, sd=sd))
    hive_client.drop_table(database, "u", True)
    assert not home.exists()
    hive_client.drop_database(database, True, True)
    with pytest.raises(NoSuchObjectException):
        hive_client.get_table(database, "v")


def projected(client: Any, database: str, *fields: str, **patterns: str) -> Any:
    spec = GetProjectionsSpec(list(fields), **patterns)
    (actual,) = client.get_table_objects_by_name_req(GetTablesRequest(database, ["t"], projectionSpec=spec)).tables
    return actual


def test_tables_are_projected(hive_client: Any) -> None:
    """As in Hive 4: a projection of single values keeps the table's ids; everything is returned if lists or maps are
    requested.
    """
    database, name = new_table(hive_client, owner="o")
    whole = hive_client.get_table(database, name)
    part = projected(hive_client, database, "owner", "sd.location", "sd.serdeInfo.serializationLib")
    assert (part.owner, part.sd.location) == ("o", whole.sd.location)
    assert part.sd.serdeInfo.serializationLib == whole.sd.serdeInfo.serializationLib
    assert (part.tableName, part.dbName, part.catName, part.sd.cols, part.parameters) == (None,) * 5
    assert (part.createTime, part.lastAccessTime, part.retention) == (0, 0, 0)
    assert projected(hive_client, database) == whole
    for plural in ("parameters", "sd.cols.name", "sd.serdeInfo.parameters"):
        assert projected(hive_client, database, "owner", plural) == whole


@pytest.mark.parametrize("fields", [["nope"], ["owner", "sd.nope"]])
def test_tables_are_not_projected_on_missing_fields(hive_client: Any, fields: list[str]) -> None:
    database, _ = new_table(hive_client)
    with pytest.raises(MetaException, match="projec"):
        projected(hive_client, database, *fields)


@pytest.mark.parametrize("pattern", ["includeParamKeyPattern", "excludeParamKeyPattern"])
def test_patterns_choose_nothing_of_tables(hive_client: Any, pattern: str) -> None:
    """As in Hive 4: projections are for partitions, and rejected without fields."""
    database, _ = new_table(hive_client, owner="o")
    assert projected(hive_client, database, "owner", **{pattern: "foo"}).owner == "o"
    spec = GetProjectionsSpec(**{pattern: "foo"})
    with pytest.raises(InvalidOperationException, match="Include and Exclude Param key are not supported"):
        hive_client.get_table_objects_by_name_req(GetTablesRequest(database, ["t"], projectionSpec=spec))


@pytest.mark.parametrize("name", [None, "", "@hive#", "@#default"])
def test_tables_are_sought_in_a_database_that_is_named(hive_client: Any, name: str | None) -> None:
    with pytest.raises(UnknownDBException, match="null or empty"):
        hive_client.get_table_names_by_filter(name, 'hive_filter_field_owner__ = "me"', -1)


def test_matching_objects_are_returned(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    with pytest.raises(InvalidOperationException, match="null filter"):
        hive_client.get_table_names_by_filter(database, None, -1)
    with pytest.raises(InvalidOperationException, match="null tables"):
        hive_client.get_table_objects_by_name_req(GetTablesRequest(database, None))
    with pytest.raises(UnknownDBException, match="nowhere"):
        hive_client.get_table_objects_by_name_req(GetTablesRequest("nowhere", [name]))
    with pytest.raises(UnknownDBException):
        hive_client.get_table_objects_by_name_req(GetTablesRequest("", [name]))
    for missing in (None, "@hive#"):
        for call in (hive_client.get_tables, hive_client.get_tables_by_type):
            with pytest.raises(MetaException, match="name or pattern of the database is null"):
                call(missing, "*", *([None] if call == hive_client.get_tables_by_type else []))
        with pytest.raises(MetaException, match="name or pattern of the database is null"):
            hive_client.get_all_tables(missing)


def test_tables_are_listed_by_a_pattern_of_databases(hive_client: Any) -> None:
    """As in Hive: the name of the database is a pattern, like that of the tables."""
    one, _ = new_table(hive_client)
    other = f"{one}_x"
    hive_client.create_database(Database(name=other))
    hive_client.create_table(table(other, "u"))
    assert hive_client.get_tables(f"{one}*", "*") == ["t", "u"]
    assert hive_client.get_tables(f"{one}|{other.upper()}", "u|v") == ["u"]
    assert hive_client.get_tables_by_type(f"@hive#{one}*", "*", "MANAGED_TABLE") == ["t", "u"]
    assert hive_client.get_tables_by_type(f"{one}*", "*", "VIRTUAL_VIEW") == []
    assert hive_client.get_all_tables(f"{one}*") == ["t", "u"]
    assert hive_client.get_tables("nowhere", "*") == hive_client.get_tables(f"@nowhere#{one}", "*") == []


def test_a_partition_is_not_appended_to_a_view(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS, tableType="VIRTUAL_VIEW")
    with pytest.raises(MetaException, match="is a view"):
        hive_client.append_partition(database, name, ["a"])
    with pytest.raises(MetaException, match="is a view"):
        hive_client.append_partition_by_name(database, name, "ds=a")
    assert hive_client.get_partition_names(database, name, -1) == []


def test_a_table_does_not_move_between_catalogs(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    before = hive_client.get_table(database, name)
    new = hive_client.get_table(database, name)
    new.catName = "other"
    with pytest.raises(InvalidOperationException, match="between catalogs"):
        hive_client.alter_table(database, name, new)
    assert hive_client.get_table(database, name) == before


def test_the_list_of_a_spec_with_both_kinds_counts(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    shared = PartitionSpecWithSharedSD([PartitionWithoutSD(["a"], relativePath="/ds=a")], descriptor())
    listed = PartitionListComposingSpec([partition(database, name, ["b"])])
    assert hive_client.add_partitions_pspec([PartitionSpec(database, name, None, shared, listed)]) == 1
    assert hive_client.get_partition_names(database, name, -1) == ["ds=b"]


def test_a_spec_needs_the_table_of_its_partitions_and_a_location(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    unnamed = partition(database, name, ["a"])
    unnamed.dbName = unnamed.tableName = None
    with pytest.raises(MetaException, match="must be set in the partition"):
        hive_client.add_partitions_pspec(
            [PartitionSpec(database, name, None, None, PartitionListComposingSpec([unnamed]))]
        )
    for location in (None, ""):
        own = PartitionWithoutSD(["a"], relativePath="/ds=a")
        shared = PartitionSpecWithSharedSD([own], descriptor(location))
        with pytest.raises(MetaException, match=r"without sd\.location"):
            hive_client.add_partitions_pspec([PartitionSpec(database, name, None, shared)])
    shared = PartitionSpecWithSharedSD([PartitionWithoutSD(["a"])], None)
    with pytest.raises(MetaException, match="without sd"):
        hive_client.add_partitions_pspec([PartitionSpec(database, name, None, shared)])
    for names in ((database, ""), ("", name)):
        with pytest.raises(InvalidObjectException, match="table or database do not exist"):
            hive_client.add_partitions_pspec([PartitionSpec(*names, None, shared)])
    assert hive_client.get_partition_names(database, name, -1) == []


@pytest.mark.parametrize("field", ["sd", "sd.serdeInfo", "name", "type"])
def test_a_partition_has_its_sort_order(hive_client: Any, field: str) -> None:
    database, name = new_table(hive_client, KEYS)
    new = partition(database, name, ["a"])
    if field == "sd":
        new.sd = None
    elif field == "sd.serdeInfo":
        new.sd.serdeInfo = None
    else:
        setattr(new.sd.cols[0], field, None)
    with pytest.raises(MetaException, match=r"was sent without|has no name or no type"):
        hive_client.add_partitions([new])
    assert hive_client.get_partition_names(database, name, -1) == []


def test_types_of_a_partition_are_taken_as_they_are(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    new = partition(database, name, ["a"])
    new.sd.cols[0].type = "xyz"
    hive_client.add_partition(new)
    assert hive_client.get_partition(database, name, ["a"]).sd.cols[0].type == "xyz"


def test_the_original_directory_of_an_archived_partition_is_deleted(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    home = Path(hive_client.get_table(database, name).sd.location.removeprefix("file:"))
    for text in ("original", "stranger"):
        (home.parent / text).mkdir()
        (home / text).mkdir()
    archived = {"is_archived": "true", "original_location": f"file:{home}/original"}
    hive_client.add_partition(partition(database, name, ["a"], parameters=archived))
    outside = {"is_archived": "true", "original_location": f"file:{home.parent}/stranger"}
    hive_client.add_partition(partition(database, name, ["b"], parameters=outside))
    for value in "ab":
        hive_client.drop_partition(database, name, [value], True)
    assert sorted(path.name for path in home.iterdir()) == ["ds=a", "ds=b", "stranger"]
    assert (home.parent / "stranger").is_dir()  # data outside of the table's directory do not belong to it


def test_a_renamed_table_is_not_counted(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    home = Path(hive_client.get_table(database, name).sd.location.removeprefix("file:"))
    (home / "file").write_text("12345")
    renamed = hive_client.get_table(database, name)
    renamed.tableName = "u"
    hive_client.alter_table(database, name, renamed)
    assert "numFiles" not in hive_client.get_table(database, "u").parameters


def test_partitions_without_a_first_value_are_not_listed(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    for call in (
        lambda: hive_client.get_partitions_ps(database, name, [], -1),
        lambda: hive_client.get_partition_names_ps(database, name, [], -1),
        lambda: hive_client.get_partitions_ps_with_auth(database, name, [], -1, "me", []),
    ):
        with pytest.raises(MetaException, match="Invalid partition key & values"):
            call()


def test_our_client_asks_for_any_first_value(hive_client: Any, metastore_server: Server) -> None:
    database, name = new_table(hive_client, KEYS)
    hive_client.add_partitions([partition(database, name, [text]) for text in "ab"])
    with connect(metastore_server.uri) as client:
        assert client.get_partition_names(database, name) == ("ds=a", "ds=b")
        assert client.get_partition_names(database, name, ["b"]) == ("ds=b",)


@pytest.mark.parametrize("names", [("", "t"), ("d", "")])
def test_names_of_partitions_of_no_table_are_rejected(hive_client: Any, names: tuple[str, str]) -> None:
    with pytest.raises(NoSuchObjectException):
        hive_client.get_partition_names(*names, -1)


def test_truncation_passes_over_partitions_that_are_not_there(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    there = hive_client.add_partition(partition(database, name, ["a"]))
    directory = Path(there.sd.location.removeprefix("file:"))
    (directory / "file").write_text("x")
    hive_client.truncate_table(database, name, ["ds=nope"])
    assert (directory / "file").exists()
    hive_client.truncate_table(database, name, ["ds=nope", "ds=a"])
    assert not list(directory.iterdir())


def test_partitions_are_grouped_if_hcatalog_asks_for_it(hive_client: Any) -> None:
    grouped = {"hive.hcatalog.partition.spec.grouping.enabled": "true"}
    for parameters, expected in ((grouped, True), ({}, False)):
        database, name = new_table(hive_client, KEYS, parameters=parameters)
        hive_client.add_partition(partition(database, name, ["a"]))
        (spec,) = hive_client.get_partitions_pspec(database, name, -1)
        assert (spec.sharedSDPartitionSpec is not None) is expected


def test_a_connection_may_have_types_unchecked(metastore_server: Server) -> None:
    """Hive's client needs this for `drop_columns`."""
    key = "metastore.disallow.incompatible.col.type.changes"
    with connected(metastore_server) as client, connected(metastore_server) as other:
        database, name = new_table(client)
        new = client.get_table(database, name)
        new.sd.cols = columns(("x", "array<int>"))
        with pytest.raises(InvalidOperationException, match="incompatible"):
            client.alter_table(database, name, new)
        client.setMetaConf(f"hive.{key}", "false")
        assert (client.getMetaConf(key), other.getMetaConf(key)) == ("false", "true")
        with pytest.raises(InvalidOperationException, match="incompatible"):
            other.alter_table(database, name, new)
        client.alter_table(database, name, new)
        assert client.get_table(database, name).sd.cols == new.sd.cols


@pytest.mark.parametrize(
    "key", ["client.socket.timeout", "partition.order.expr", "expression.proxy", "client.capability.check"]
)
def test_settings_of_clients_are_kept_for_their_connection(metastore_server: Server, key: str) -> None:
    with connected(metastore_server) as client:
        for prefix in ("metastore.", "hive.metastore."):
            client.setMetaConf(prefix + key, prefix)
            assert client.getMetaConf(f"metastore.{key}") == client.getMetaConf(f"hive.metastore.{key}") == prefix
    with connected(metastore_server) as client:
        assert client.getMetaConf(f"metastore.{key}") != prefix
