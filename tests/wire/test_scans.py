"""Planning scans and publishing writes, over the wire."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, new_table, partition, skewed
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    MetaException,
    NoSuchObjectException,
)
from thrift_idl.gen.metastore.ttypes import (
    ConflictException,
    PredicateNode,
    PredicateOperator,
    PublishMode,
    PublishPartition,
    PublishRequest,
    ScanRequest,
    SkewedLocation,
)

OPERATOR = PredicateOperator


def equal(column: str, value: str) -> PredicateNode:
    return PredicateNode(OPERATOR.EQUAL, column, [value])


def both(*nodes: PredicateNode) -> list[PredicateNode]:
    return [*nodes, PredicateNode(OPERATOR.AND, operands=len(nodes))]


@pytest.fixture
def skewed_table(metastore_client: Any) -> tuple[str, str]:
    sd = descriptor(
        cols=columns(("dest", "string"), ("n", "int")),
        skewedInfo=skewed(["dest"], [["ATL"], ["LAX"]]),
        storedAsSubDirectories=True,
    )
    return new_table(metastore_client, [("month", "int")], sd=sd)


def entry(table: str, month: int, mode: int = PublishMode.OVERWRITE, **fields: Any) -> PublishPartition:
    location = fields.pop("location", f"file:/w/{table}/month={month}")
    places = [SkewedLocation([value], f"{location}/dest={value}") for value in fields.pop("values_found", ("ATL",))]
    return PublishPartition([str(month)], mode, location, places, **fields)


def publish(client: Any, table: tuple[str, str], *entries: PublishPartition) -> Any:
    return client.publish(PublishRequest(*table, "query", list(entries)))


def planned(client: Any, table: tuple[str, str], predicate: list[PredicateNode]) -> dict[str, list[str]]:
    plan = client.plan_scan(ScanRequest(*table, predicate))
    return {
        each.values[0]: [directory.location.removeprefix(each.location) for directory in each.directories]
        for each in plan.partitions
    }


DEFAULT = "/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"


def test_partitions_and_directories_are_pruned(metastore_client: Any, skewed_table: tuple[str, str]) -> None:
    for month in range(1, 13):
        values = ("ATL", "LAX") if month % 2 else ("ATL",)
        publish(metastore_client, skewed_table, entry("t", month, values_found=values))

    def plan(*nodes: PredicateNode) -> dict[str, list[str]]:
        return planned(metastore_client, skewed_table, both(*nodes))

    assert plan(equal("month", "2"), equal("dest", "ATL")) == {"2": ["/dest=ATL"]}
    assert plan(equal("month", "02"), equal("dest", "LAX")) == {"2": []}  # no such rows in this month
    assert plan(equal("month", "3"), equal("dest", "BOS")) == {"3": [DEFAULT]}
    assert plan(PredicateNode(OPERATOR.LESS, "month", ["3"]), equal("dest", "ATL")) == {
        "1": ["/dest=ATL"],
        "2": ["/dest=ATL"],
    }
    either = PredicateNode(OPERATOR.IN, "dest", ["LAX", "BOS"])
    assert plan(equal("month", "1"), either) == {"1": ["/dest=LAX", DEFAULT]}
    everything = planned(metastore_client, skewed_table, [])
    assert len(everything) == 12
    assert everything["1"] == ["/dest=ATL", "/dest=LAX", DEFAULT]
    unknown = both(equal("month", "1"), PredicateNode(OPERATOR.UNKNOWN))
    assert planned(metastore_client, skewed_table, unknown) == {"1": everything["1"]}


def test_parts_shared_by_partitions_are_sent_once(metastore_client: Any, skewed_table: tuple[str, str]) -> None:
    publish(metastore_client, skewed_table, *(entry("t", month) for month in range(1, 6)))
    plan = metastore_client.plan_scan(ScanRequest(*skewed_table))
    assert [partition.storageIndex for partition in plan.partitions] == [0] * 5
    (storage,) = plan.storages
    assert [column.name for column in storage.columns] == ["dest", "n"]
    assert "Parquet" in storage.inputFormat


def test_one_plan_has_partitions_of_every_kind(metastore_client: Any, skewed_table: tuple[str, str]) -> None:
    publish(metastore_client, skewed_table, entry("t", 1))
    metastore_client.add_partition(partition(*skewed_table, ["2"], sd=descriptor()))
    other = [["BOS"]]
    publish(
        metastore_client,
        skewed_table,
        entry("t", 3, values_found=("BOS",), skewedColNames=["dest"], skewedColValues=other),
        entry("t", 4, values_found=(), skewedColNames=[], skewedColValues=[]),
    )
    plan = planned(metastore_client, skewed_table, [equal("dest", "BOS")])
    assert plan == {"1": [DEFAULT], "2": [""], "3": ["/dest=BOS"], "4": [""]}
    whole = metastore_client.plan_scan(ScanRequest(*skewed_table))
    skewed = {each.values[0]: whole.storages[each.storageIndex].skewed for each in whole.partitions}
    assert skewed == {"1": True, "2": False, "3": True, "4": False}
    stored = metastore_client.get_partition(*skewed_table, ["3"])
    assert stored.sd.skewedInfo.skewedColValues == other


def test_files_outside_directories_are_named_if_they_have_no_match(
    metastore_client: Any, skewed_table: tuple[str, str]
) -> None:
    metastore_client.append_partition(*skewed_table, ["1"])
    assert planned(metastore_client, skewed_table, [equal("dest", "BOS")]) == {"1": [DEFAULT]}
    for predicate, pruned in (
        ([equal("dest", "BOS")], ["skew.dest=ATL=", "skew.dest=LAX="]),
        ([equal("dest", "ATL")], ["skew.dest=LAX=", "skew="]),
        ([], None),
    ):
        (storage,) = metastore_client.plan_scan(ScanRequest(*skewed_table, predicate)).storages
        assert storage.prunedFiles == pruned


def test_unpartitioned_tables(metastore_client: Any) -> None:
    table = new_table(metastore_client)
    plan = metastore_client.plan_scan(ScanRequest(*table, [equal("a", "1")]))
    location = metastore_client.get_table(*table).sd.location
    assert [(each.values, [d.location for d in each.directories]) for each in plan.partitions] == [([], [location])]
    new = PublishPartition([], PublishMode.OVERWRITE, "file:/w/new", [], expectedVersion=plan.tableVersion)
    assert publish(metastore_client, table, new).replaced == [location]
    with pytest.raises(ConflictException):
        publish(metastore_client, table, new)
    assert metastore_client.get_table(*table).sd.location == "file:/w/new"


@pytest.mark.parametrize(
    "predicate",
    [
        [PredicateNode(OPERATOR.AND, operands=2)],
        [PredicateNode(OPERATOR.EQUAL, "month", None)],
        [PredicateNode(OPERATOR.EQUAL, None, ["1"])],
        [equal("month", "1"), equal("month", "2")],
        [PredicateNode(99, "month", ["1"])],
        [equal("month", "1")] * 20_000,
    ],
)
def test_malformed_predicates_are_rejected(
    metastore_client: Any, skewed_table: tuple[str, str], predicate: list[PredicateNode]
) -> None:
    with pytest.raises(MetaException):
        metastore_client.plan_scan(ScanRequest(*skewed_table, predicate))


def test_predicates_that_are_wrong_for_the_type_keep_everything(
    metastore_client: Any, skewed_table: tuple[str, str]
) -> None:
    publish(metastore_client, skewed_table, entry("t", 1))
    metastore_client.add_partition(partition(*skewed_table, ["x1"]))  # no number for this server
    assert set(planned(metastore_client, skewed_table, [equal("month", "nonsense")])) == {"1", "x1"}
    assert set(planned(metastore_client, skewed_table, [equal("month", "1")])) == {"1", "x1"}
    assert set(planned(metastore_client, skewed_table, [equal("month", "2")])) == {"x1"}
    depth = [equal("month", "1"), *[PredicateNode(OPERATOR.NOT)] * 5_000]
    assert set(planned(metastore_client, skewed_table, depth)) == {"1", "x1"}


def test_publishing_is_one_transaction(metastore_client: Any, skewed_table: tuple[str, str]) -> None:
    first = publish(metastore_client, skewed_table, entry("t", 1, expectedVersion=0), entry("t", 2, expectedVersion=0))
    assert (len(set(first.versions)), first.replaced) == (2, [])
    with pytest.raises(
        ConflictException, match=rf"month=2 has version {first.versions[1]}, but the writer saw that it did not exist"
    ):
        publish(metastore_client, skewed_table, entry("t", 3), entry("t", 2, expectedVersion=0))
    with pytest.raises(AlreadyExistsException):
        publish(metastore_client, skewed_table, entry("t", 3), entry("t", 2, PublishMode.CREATE))
    with pytest.raises(MetaException, match="Duplicate"):
        publish(metastore_client, skewed_table, entry("t", 3), entry("t", 3))
    with pytest.raises((MetaException, InvalidObjectException)):
        publish(metastore_client, skewed_table, entry("t", 3), PublishPartition([], PublishMode.OVERWRITE, "x", []))
    with pytest.raises(NoSuchObjectException):
        publish(metastore_client, (skewed_table[0], "nope"), entry("t", 1))
    assert metastore_client.get_partition_names(*skewed_table, -1) == ["month=1", "month=2"]


def test_overwriting_swaps_and_appending_adds_up(metastore_client: Any, skewed_table: tuple[str, str]) -> None:
    name = skewed_table[0]  # locations that other objects use are not replaced
    statistics = {"numRows": "5", "totalSize": "50", "numFiles": "1"}
    (first,) = publish(metastore_client, skewed_table, entry(name, 1, parameters=statistics)).versions
    more = entry(name, 1, PublishMode.APPEND, values_found=("LAX",), parameters=statistics, expectedVersion=first)
    assert publish(metastore_client, skewed_table, more).versions == [first + 1]
    stored_partition = metastore_client.get_partition(*skewed_table, ["1"])
    assert {key: stored_partition.parameters[key] for key in statistics} == {
        "numRows": "10",
        "totalSize": "100",
        "numFiles": "2",
    }
    assert set(stored_partition.sd.skewedInfo.skewedColValueLocationMaps) == {("ATL",), ("LAX",)}
    swap = entry(name, 1, location=f"file:/w/{name}/_versions/q/month=1", parameters={"numRows": "1"})
    result = publish(metastore_client, skewed_table, swap)
    assert (result.versions, result.replaced) == ([first + 2], [f"file:/w/{name}/month=1"])
    stored_partition = metastore_client.get_partition(*skewed_table, ["1"])
    assert stored_partition.sd.location == f"file:/w/{name}/_versions/q/month=1"
    assert set(stored_partition.sd.skewedInfo.skewedColValueLocationMaps) == {("ATL",)}
    assert stored_partition.parameters["numRows"] == "1"
    assert "numFiles" not in stored_partition.parameters
    with pytest.raises(ConflictException):
        publish(metastore_client, skewed_table, entry(name, 1, PublishMode.APPEND))  # its old location
    other = {"skewedColNames": ["dest"], "skewedColValues": [["BOS"]]}
    with pytest.raises(ConflictException, match="skew"):
        publish(metastore_client, skewed_table, entry(name, 1, PublishMode.APPEND, location=swap.location, **other))
    elsewhere = entry(name, 1, PublishMode.APPEND, location=swap.location)
    elsewhere.skewedLocations[0].location += "x"  # readers would miss the rows in the present directory of the value
    with pytest.raises(ConflictException, match=r"the rows of \('ATL',\) are in"):
        publish(metastore_client, skewed_table, elsewhere)


def test_one_of_two_writers_with_the_same_version_wins(
    metastore_client: Any, metastore_server: Server, skewed_table: tuple[str, str]
) -> None:
    seen = publish(metastore_client, skewed_table, entry("t", 1), entry("t", 2)).versions
    start, won, lost = threading.Barrier(8), [], []

    def write(number: int) -> None:
        with connected(metastore_server) as client:
            start.wait()
            entries = [
                entry("t", month, location=f"file:/w/t/{number}/month={month}", expectedVersion=seen[month - 1])
                for month in ((1, 2) if number % 2 else (2, 1))
            ]
            try:
                publish(client, skewed_table, *entries)
                won.append(number)
            except ConflictException:
                lost.append(number)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(won) == 1
    assert len(lost) == 7
    places = {each.sd.location for each in metastore_client.get_partitions(*skewed_table, -1)}
    assert places == {f"file:/w/t/{won[0]}/month={month}" for month in (1, 2)}


def test_a_column_that_changed_its_type_prunes_no_directory(
    metastore_client: Any, skewed_table: tuple[str, str]
) -> None:
    by_number = {"skewedColNames": ["n"], "skewedColValues": [["1"], ["2"]]}
    publish(metastore_client, skewed_table, entry("t", 1, values_found=("1", "2"), **by_number))
    assert planned(metastore_client, skewed_table, [equal("n", "1")]) == {"1": ["/dest=1"]}
    widened = metastore_client.get_table(*skewed_table)
    widened.sd.cols[1].type = "string"
    metastore_client.alter_table(*skewed_table, widened)
    assert planned(metastore_client, skewed_table, [equal("n", "1")]) == {"1": ["/dest=1", "/dest=2", DEFAULT]}


def test_a_drop_removes_the_files_of_overwrites_and_appends_in_all_directories(
    metastore_client: Any, tmp_path: Any
) -> None:
    sd = descriptor(f"{tmp_path}/t", skewedInfo=skewed(["x"], [["1"]]), storedAsSubDirectories=True)
    table = new_table(metastore_client, [("month", "int")], sd=sd)
    root = f"file:{tmp_path}/t"
    for month in (1, 2):
        places = (f"{root}/_versions/q1/month={month}", f"{root}/month={month}/x=1")
        for location in places:
            Path(location.removeprefix("file:")).mkdir(parents=True)
        skew = [SkewedLocation(["1"], places[1])]
        publish(metastore_client, table, PublishPartition([str(month)], PublishMode.OVERWRITE, places[0], skew))
    metastore_client.drop_partition(*table, ["1"], True)
    left = {str(path.relative_to(tmp_path / "t")) for path in (tmp_path / "t").rglob("*")}
    assert left == {"_versions", "_versions/q1", "_versions/q1/month=2", "month=2", "month=2/x=1"}
    metastore_client.drop_table(*table, True)
    assert not (tmp_path / "t").exists()
    plain = new_table(metastore_client, sd=descriptor(f"{tmp_path}/u"))
    (tmp_path / "u/_versions/q1").mkdir(parents=True)
    swapped = PublishPartition([], PublishMode.OVERWRITE, f"file:{tmp_path}/u/_versions/q1", [])
    publish(metastore_client, plain, swapped)
    metastore_client.drop_table(*plain, True)
    assert not (tmp_path / "u").exists()


def test_the_plan_contains_the_tables_own_buckets(metastore_client: Any) -> None:
    sd = descriptor(bucketCols=["A", "x"], numBuckets=4)
    database, name = new_table(metastore_client, [("ds", "string")], sd=sd, parameters={"bucketing_version": "2"})
    told = metastore_client.plan_scan(ScanRequest(database, name)).buckets
    assert [(column.name, column.type) for column in told.columns] == [("a", "int"), ("x", "string")]
    assert (told.count, told.bucketingVersion) == (4, "2")
    database, name = new_table(metastore_client)
    assert metastore_client.plan_scan(ScanRequest(database, name)).buckets is None
