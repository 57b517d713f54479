"""Partition specs: grouped by shared descriptors, complete, or in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server
from tests.wire.builders import columns, descriptor, new_database, new_table, partition, skewed, table
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    GetPartitionsFilterSpec,
    GetPartitionsRequest,
    GetProjectionsSpec,
    InvalidObjectException,
    MetaException,
    NoSuchObjectException,
    PartitionFilterMode,
    PartitionSpec,
    StorageDescriptor,
)

KEYS = [("ds", "string"), ("n", "int")]
GROUPED = {"partition.spec.grouping.enabled": "true"}


def fill(client: Any, elsewhere: Path, **fields: Any) -> tuple[str, str]:
    """Two partitions of one shape, one of another, one elsewhere, one with its own skewed locations."""
    database, name = new_table(client, KEYS, **fields)
    other = descriptor(cols=columns(("a", "int")))
    skew = descriptor(skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True)
    skew.skewedInfo.skewedColValueLocationMaps = {("1",): "file:/x/a=1"}
    client.add_partitions(
        [
            partition(database, name, ["a", "1"], parameters={"k1": "v", "other": "w"}),
            partition(database, name, ["a", "2"]),
            partition(database, name, ["b", "1"], sd=other),
            partition(database, name, ["b", "2"], sd=descriptor(f"file:{elsewhere}")),
            partition(database, name, ["c", "1"], sd=skew),
        ]
    )
    return database, name


def restored(spec: PartitionSpec) -> dict[tuple[str, ...], tuple[str, Any]]:
    """Returns location and columns by values, as Hive's PartitionSpecProxy combines them."""
    shared, composed = spec.sharedSDPartitionSpec, spec.partitionList
    actual = {tuple(each.values): (each.sd.location, each.sd.cols) for each in composed.partitions} if composed else {}
    for without_sd in shared.partitions if shared else []:
        actual[tuple(without_sd.values)] = (spec.rootPath + without_sd.relativePath, shared.sd.cols)
    return actual


def whole(client: Any, database: str, name: str) -> dict[tuple[str, ...], tuple[str, Any]]:
    partitions = client.get_partitions(database, name, -1)
    return {tuple(each.values): (each.sd.location, each.sd.cols) for each in partitions}


def test_without_grouping_all_are_in_one_list(hive_client: Any, tmp_path: Path) -> None:
    database, name = fill(hive_client, tmp_path)
    (spec,) = hive_client.get_partitions_pspec(f"@hive#{database}", name.upper(), -1)
    assert (spec.dbName, spec.tableName, spec.catName) == (database, name, "hive")
    assert spec.rootPath == hive_client.get_table(database, name).sd.location
    assert spec.partitionList.partitions == hive_client.get_partitions(database, name, -1)
    (spec,) = hive_client.get_part_specs_by_filter(database, name, "ds = 'a' and n > 1", -1)
    assert [each.values for each in spec.partitionList.partitions] == [["a", "2"]]
    (spec,) = hive_client.get_partitions_pspec(database, name, 2)
    assert len(spec.partitionList.partitions) == 2


def test_other_protocols_read_the_same(metastore_server: Server, hive_client: Any, tmp_path: Path) -> None:
    from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
    from thrift.transport.TSocket import TSocket
    from thrift.transport.TTransport import TBufferedTransport

    database, name = fill(hive_client, tmp_path)
    transport = TBufferedTransport(TSocket(metastore_server.host, metastore_server.port))
    transport.open()
    compact = ThriftHiveMetastore.Client(TCompactProtocolAccelerated(transport))
    assert compact.get_partitions_pspec(database, name, -1) == hive_client.get_partitions_pspec(database, name, -1)
    transport.close()


def test_grouped_specs_contain_shared_parts_once(hive_client: Any, tmp_path: Path) -> None:
    database, name = fill(hive_client, tmp_path, parameters=GROUPED)
    specs = hive_client.get_partitions_pspec(database, name, -1)
    shared = [[each.values for each in spec.sharedSDPartitionSpec.partitions] for spec in specs[:2]]
    assert shared == [[["a", "1"], ["a", "2"]], [["b", "1"]]]
    assert [each.values for each in specs[2].partitionList.partitions] == [["b", "2"], ["c", "1"]]
    assert specs[0].sharedSDPartitionSpec.partitions[0].relativePath == "/ds=a/n=1"
    together: dict[Any, Any] = {}
    for spec in specs:
        together |= restored(spec)
    assert together == whole(hive_client, database, name)


@pytest.mark.parametrize("parameters", [{}, GROUPED], ids=["whole", "grouped"])
def test_no_partitions_are_one_empty_list(hive_client: Any, parameters: dict[str, str]) -> None:
    for keys in (KEYS, []):
        (spec,) = hive_client.get_partitions_pspec(*new_table(hive_client, keys, parameters=parameters), -1)
        assert spec.partitionList.partitions == []


@pytest.mark.parametrize("parameters", [{}, GROUPED], ids=["whole", "grouped"])
def test_specs_are_added_as_they_were_read(hive_client: Any, tmp_path: Path, parameters: dict[str, str]) -> None:
    database, name = fill(hive_client, tmp_path, parameters=parameters)
    specs = hive_client.get_partitions_pspec(database, name, -1)
    before = whole(hive_client, database, name)
    with pytest.raises(AlreadyExistsException):
        hive_client.add_partitions_pspec(specs)
    for values in before:
        hive_client.drop_partition(database, name, list(values), False)
    assert hive_client.add_partitions_pspec(specs) == 5
    assert whole(hive_client, database, name) == before


def test_specs_that_make_no_sense_are_rejected(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    hive_client.create_table(table(database, "other", KEYS))
    assert hive_client.add_partitions_pspec([]) == 0
    assert hive_client.add_partitions_pspec(None) == 0
    with pytest.raises(MetaException, match="database and table name cannot be null"):
        hive_client.add_partitions_pspec([PartitionSpec()])
    with pytest.raises(InvalidObjectException, match="has no partitions"):
        hive_client.add_partitions_pspec([PartitionSpec(database, name)])
    both = [hive_client.get_partitions_pspec(database, value, -1)[0] for value in (name, "other")]
    with pytest.raises(MetaException, match="add the partitions of one table in each call"):
        hive_client.add_partitions_pspec(both)
    for call in (
        lambda: hive_client.get_partitions_pspec(database, "nope", -1),
        lambda: hive_client.get_part_specs_by_filter(new_database(hive_client), "nope", "", -1),
    ):
        with pytest.raises(NoSuchObjectException):
            call()
    for text in ("nope = 1", "ds = ", "(" * 1000, "x" * 100_000):
        with pytest.raises(MetaException):
            hive_client.get_part_specs_by_filter(database, name, text, -1)


def parts(client: Any, database: str, name: str, fields: list[str] | None = None, **spec: Any) -> list[PartitionSpec]:
    filters = GetPartitionsFilterSpec(spec.pop("filterMode", None), spec.pop("filters", None))
    request = GetPartitionsRequest(
        dbName=database, tblName=name, projectionSpec=GetProjectionsSpec(fields, **spec), filterSpec=filters
    )
    return list(client.get_partitions_with_specs(request).partitionSpec)


def test_only_the_requested_fields(hive_client: Any, tmp_path: Path) -> None:
    database, name = fill(hive_client, tmp_path)
    (spec,) = parts(hive_client, database, name, ["values", "createTime"])
    shared = spec.sharedSDPartitionSpec
    assert shared.sd == StorageDescriptor()  # Hive's own client copies it
    assert [without_sd.values for without_sd in shared.partitions] == [
        ["a", "1"],
        ["a", "2"],
        ["b", "1"],
        ["b", "2"],
        ["c", "1"],
    ]
    assert {
        (without_sd.parameters, without_sd.lastAccessTime, without_sd.relativePath) for without_sd in shared.partitions
    } == {(None,) * 3}
    actual_parts = parts(hive_client, database, name, ["values", "sd.location", "sd.serdeInfo.serializationLib"])
    sd = actual_parts[0].sharedSDPartitionSpec.sd
    assert (sd.cols, sd.serdeInfo.parameters) == (None, None)
    assert sd.serdeInfo.serializationLib == descriptor().serdeInfo.serializationLib
    names = parts(hive_client, database, name, ["sd.cols.name"])[0].sharedSDPartitionSpec.sd.cols
    assert [(field.name, field.type) for field in names] == [("a", None), ("x", None)]
    for bad in ("nope", "sd.nope", "values.x", "sd.cols.name.x", ""):
        with pytest.raises(MetaException, match="Invalid projection field name"):
            parts(hive_client, database, name, [bad])


def test_only_some_parameters(hive_client: Any, tmp_path: Path) -> None:
    database, name = fill(hive_client, tmp_path)
    for given, expected in (
        ({"includeParamKeyPattern": "k_"}, {"k1"}),
        ({"excludeParamKeyPattern": "transient%"}, {"k1", "other"}),
        ({"includeParamKeyPattern": "%o%", "excludeParamKeyPattern": "o%"}, set()),
    ):
        actual_parts = parts(hive_client, database, name, ["values", "parameters"], **given)
        assert actual_parts[0].sharedSDPartitionSpec.partitions[0].parameters.keys() == expected


@pytest.mark.parametrize(
    ("mode", "filters", "expected"),
    [
        (PartitionFilterMode.BY_NAMES, ["ds=a/n=1", "nope"], [["a", "1"]]),
        (PartitionFilterMode.BY_NAMES, [], []),
        (PartitionFilterMode.BY_VALUES, ["", "2"], [["a", "2"], ["b", "2"]]),
        (PartitionFilterMode.BY_VALUES, ["c"], [["c", "1"]]),
        (PartitionFilterMode.BY_EXPR, ["ds > 'a'", "n = 2"], [["b", "2"]]),
        (PartitionFilterMode.BY_EXPR, None, [["a", "1"], ["a", "2"], ["b", "1"], ["b", "2"], ["c", "1"]]),
        (None, None, [["a", "1"], ["a", "2"], ["b", "1"], ["b", "2"], ["c", "1"]]),
    ],
)
def test_only_the_requested_partitions(
    hive_client: Any, tmp_path: Path, mode: int | None, filters: list[str] | None, expected: list[list[str]]
) -> None:
    database, name = fill(hive_client, tmp_path)
    (spec,) = parts(hive_client, database, name, ["values"], filterMode=mode, filters=filters)
    listed = spec.sharedSDPartitionSpec or spec.partitionList
    assert [each.values for each in listed.partitions] == expected


def test_filters_that_make_no_sense_are_rejected(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    for mode, filters in (
        (PartitionFilterMode.BY_EXPR, ["nope = 1"]),
        (PartitionFilterMode.BY_VALUES, ["a", "1", "x"]),
        (None, ["ds = 'a'"]),
    ):
        with pytest.raises(MetaException):
            parts(hive_client, database, name, filterMode=mode, filters=filters)
    assert hive_client.get_partitions_with_specs(GetPartitionsRequest(dbName=database, tblName=name)).partitionSpec
    with pytest.raises(MetaException, match="table not found"):
        parts(hive_client, database, "nope")
