"""Files that are uploaded to the locations that are expected before the job are not renamed afterwards."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from metastore.client.structs import NOT_SKEWED, Column, Skew, Storage, Table
from metastore.domain.buckets import NOT_BUCKETED, Buckets
from metastore.domain.skew_directories import file_path
from spark_client.table.skew_layout import FLAT, LAYOUT
from spark_client.write.placement import PlacementPlanner, Write
from spark_client.write.snapshot import PartitionState, Values
from spark_client.write.staging import StagedFile
from spark_client.write.upload_targets import upload_targets

ROOT, QUERY = "s3a://bucket/t", "abcdefghijklmnop-7"
OWN = f"{ROOT}/_versions/{QUERY}"
STORAGE = Storage("parquet", "parquet", "parquet")
LIST = Skew(("x",), (("7",), ("8",)), {}, directories=True)
SKEWS = (NOT_SKEWED, LIST, Skew(("x",), (("8",),), directories=True))
VALUES: tuple[Values, ...] = (("1",), ("2",), ("a/b",))


def table(skew: Skew = NOT_SKEWED, *, layout: str = "", buckets: Buckets = NOT_BUCKETED) -> Table:
    parameters = {LAYOUT: layout} if layout else {}
    columns = (Column("P", "string"),)
    return Table("d", "t", (Column("x", "int"),), columns, ROOT, STORAGE, skew, parameters=parameters, buckets=buckets)


def partition(location: str, skew: Skew = NOT_SKEWED, buckets: Buckets = NOT_BUCKETED) -> PartitionState:
    return PartitionState(location, 4, skew, STORAGE, {}, buckets)


def append(to: Table, snapshot: dict[Values, PartitionState]) -> dict[str, str]:
    return upload_targets(Write(to, {}, overwrite=False), snapshot, QUERY)


def test_new_partitions_are_in_the_directory_of_the_write() -> None:
    assert append(table(), {}) == {"directory": OWN, "depth": "1", "column:0": "p=", "number:0": ""}


def test_rows_of_a_partition_go_to_its_location() -> None:
    elsewhere = partition("s3a://other/place")
    assert append(table(), {("a/b",): elsewhere})["location:3:a/b"] == "s3a://other/place"


def test_an_overwrite_leaves_the_locations_of_partitions() -> None:
    write = Write(table(), {}, overwrite=True)
    targets = upload_targets(write, {("1",): partition(f"{ROOT}/p=1")}, QUERY)
    assert not [name for name in targets if name.startswith(("location", "prefix"))]


def test_directories_of_heavy_values() -> None:
    recorded = replace(LIST, locations={("7",): f"{ROOT}/recorded"})
    targets = append(table(LIST), {("1",): partition(f"{ROOT}/p=1", recorded), ("2",): partition(f"{ROOT}/p=2")})
    default = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME/"
    assert [targets[f"number:{number}"] for number in range(3)] == [default, "x=7/", "x=8/"]
    own = [targets[f"prefix:{number}:1:1"] for number in range(3)]
    assert own == [f"{ROOT}/p=1/{default}", f"{ROOT}/recorded/", f"{ROOT}/p=1/x=8/"]
    assert targets["prefix:0:1:2"] == f"{ROOT}/p=2/", "a partition without heavy values"


def test_prefixes_of_heavy_values_in_the_flat_layout() -> None:
    targets = append(table(LIST, layout=FLAT), {})
    assert [targets[f"number:{number}"] for number in range(3)] == ["skew=", "skew.x=7=", "skew.x=8="]


def test_names_of_buckets() -> None:
    own, more = Buckets(("x",), 2), Buckets(("x",), 3)
    targets = append(table(buckets=own), {("1",): partition(f"{ROOT}/p=1", buckets=more)})
    assert [targets[f"number:{number}"] for number in range(3)] == ["000000_0_", "000001_0_", "000002_0_"]
    assert targets["location:1:1"] == f"{ROOT}/p=1"


@st.composite
def snapshots(draw: st.DrawFn) -> dict[Values, PartitionState]:
    found = {}
    for values in draw(st.lists(st.sampled_from(VALUES), unique=True)):
        location = f"{ROOT}/_versions/abcdefghijklmnop-3/{len(found)}"
        skew = draw(st.sampled_from(SKEWS))
        known = draw(st.sets(st.sampled_from(sorted(skew.values)))) if skew.values else set()
        found[values] = partition(location, replace(skew, locations={each: f"{location}/{each[0]}" for each in known}))
    return found


@given(snapshots(), st.sampled_from(SKEWS), st.sampled_from(["", FLAT]), st.booleans(), st.data())
def test_nothing_moves_if_no_other_write_changes_the_partitions(
    snapshot: dict[Values, PartitionState], skew: Skew, layout: str, overwrite: bool, data: st.DataObject
) -> None:
    planner = PlacementPlanner(Write(table(skew, layout=layout), {}, overwrite), snapshot, QUERY)
    staged = []
    for number, values in enumerate(data.draw(st.lists(st.sampled_from(VALUES), max_size=6))):
        directories = planner.expected_directories(values)
        chosen = data.draw(st.integers(0, len(directories) - 1))
        staged.append(StagedFile(file_path(directories[chosen], f"{QUERY}-{number}"), values, chosen, 10, 5))
    granted = set(planner.requested_skew_directories(staged))
    assert planner.plan(staged, granted).moves == ()


def test_a_flat_file_keeps_one_prefix_when_it_moves_after_a_conflict() -> None:
    before = {("1",): partition(f"{ROOT}/old", LIST)}
    after = {("1",): partition(f"{ROOT}/new", LIST)}
    write = Write(table(LIST, layout=FLAT), {}, overwrite=False)
    first = PlacementPlanner(write, before, QUERY)
    file = StagedFile(file_path(first.expected_directories(("1",))[1], f"{QUERY}-0"), ("1",), 1, 10, 5)
    (move,) = PlacementPlanner(write, after, QUERY).plan([file], set()).moves
    assert (move.source, move.target) == (f"{ROOT}/old/skew.x=7={QUERY}-0", f"{ROOT}/new/skew.x=7={QUERY}-0")
