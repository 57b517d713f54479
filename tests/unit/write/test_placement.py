"""Where the files of a write are stored: the properties that readers and other writers need, for any table and rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.client.structs import NOT_SKEWED, Column, PublishMode, PublishPartition, Skew, Storage, Table
from metastore.domain.buckets import NOT_BUCKETED
from metastore.domain.partition_names import value_path
from metastore.domain.skew_directories import skew_directories
from spark_client.table.paths import is_below, name_of, parent
from spark_client.write.placement import (
    Placement,
    PlacementPlanner,
    Write,
    final_locations,
    table_root,
    write_directory,
)
from spark_client.write.snapshot import PartitionState, Values
from spark_client.write.staging import StagedFile

ROOT, QUERY = "file:/w/t", "token-7"
STORAGE = Storage("parquet", "parquet", "parquet")
LISTS = [NOT_SKEWED, Skew(("x",), (("7",), ("8",)), {}, directories=True), Skew(("x",), (("8",),), directories=True)]
VALUES = [("1",), ("2",), ("a/b",)]


@dataclass(frozen=True)
class Case:
    """A planned write."""

    planner: PlacementPlanner
    staged: tuple[StagedFile, ...]
    granted: frozenset[str]
    contents: dict[str, list[str]]

    @property
    def placement(self) -> Placement:
        return self.planner.plan(self.staged, self.granted, self.contents)


def existing(draw: st.DrawFn, values: Values, skew: Skew) -> PartitionState:
    """An existing partition in any kind of directory, with directories for some of its skewed values."""
    name = value_path(["p"], values) if values else ""
    location = draw(st.sampled_from([f"{ROOT}/{name}", f"{ROOT}/_versions/token-3/{name}", f"file:/elsewhere/{name}"]))
    location = location.rstrip("/")
    inside = dict(zip(skew.values, skew_directories(skew.columns, skew.values)[1:], strict=True)) if skew.values else {}
    known = draw(st.sets(st.sampled_from(sorted(inside)))) if inside else set()
    locations = {value: f"{location}/{inside[value]}" for value in known}
    own = Skew(skew.columns, skew.values, locations, skew.directories)
    return PartitionState(location, draw(st.integers(1, 9)), own, STORAGE, {}, NOT_BUCKETED)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    partitioned = draw(st.booleans())
    keys: list[Values] = [*VALUES] if partitioned else [()]
    skew = draw(st.sampled_from(LISTS))
    there = keys if not partitioned else draw(st.lists(st.sampled_from(keys), unique=True))
    snapshot = {
        values: existing(draw, values, skew if not values else draw(st.sampled_from(LISTS))) for values in there
    }
    location = snapshot[()].location if not partitioned else ROOT
    location = location if is_below(location, ROOT) else ROOT
    if not partitioned:
        snapshot[()] = PartitionState(location, 4, skew, STORAGE, {}, NOT_BUCKETED)
    columns = (Column("p", "string"),) if partitioned else ()
    table = Table("d", "t", (Column("x", "int"),), columns, location, STORAGE, skew)
    overwrite, in_place = draw(st.booleans()), draw(st.booleans())
    required = draw(st.lists(st.sampled_from(keys), max_size=1))
    write = Write(table, {}, overwrite, replaces=required)
    planner = PlacementPlanner(write, snapshot, QUERY, overwrite and in_place)
    staged = []
    for number, values in enumerate(draw(st.lists(st.sampled_from(keys), max_size=8))):
        current = snapshot[values].skew if values in snapshot and not overwrite else skew
        directory = draw(st.integers(0, len(current.values)))
        path = [value_path(["p"], values)] if values else []
        path += [f"skewed_directory={directory}"] if skew.values else []
        if not skew.values:
            directory = 0
        name = "/".join([write_directory(table, QUERY), *path, f"{QUERY}-{number}"])
        staged.append(StagedFile(name, values, directory, 10, 5))
    wishes = [*planner.requested_directories(staged), *planner.requested_skew_directories(staged)]
    granted = frozenset(draw(st.lists(st.sampled_from(wishes)))) if wishes else frozenset()
    contents = {place: [place] if partitioned else [f"{place}/old"] for place in planner.replaced_in_place(staged)}
    return Case(planner, tuple(staged), granted, contents)


def final(case: Case) -> dict[str, StagedFile]:
    """Returns the location of each file after the moves."""
    places = {}
    for file in case.staged:
        location = file.location
        for move in case.placement.moves:
            if is_below(location, move.source):
                location = move.target + location.removeprefix(move.source)
        places[location] = file
    assert list(places) == final_locations(case.staged, case.placement.moves)
    return places


def led_to(case: Case, publication: PublishPartition) -> list[str]:
    """Returns the directories of a published partition: the default one, then those of skewed values."""
    before = case.planner.snapshot.get(publication.values)
    appended = publication.mode == PublishMode.APPEND
    skew = before.skew if appended and before else case.planner.write.table.skew
    known = dict(before.skew.locations) if appended and before else {}
    known |= publication.skewed_locations
    if not skew.is_list_bucketed:
        return [publication.location]
    default = f"{publication.location}/{skew_directories(skew.columns, skew.values)[0]}"
    return [default, *(known.get(value, "") for value in skew.values)]


@given(cases())
def test_every_file_is_in_the_location_of_its_partition(case: Case) -> None:
    published = {publication.values: led_to(case, publication) for publication in case.placement.publications}
    places = final(case)
    assert len(places) == len(case.staged)
    for location, file in places.items():
        assert parent(location) == published[file.values][file.directory]
        assert QUERY in name_of(location)


@given(cases())
def test_only_own_files_are_moved_and_only_out_of_the_own_directory(case: Case) -> None:
    own = write_directory(case.planner.write.table, QUERY)
    assert all(is_below(move.source, own) for move in case.placement.moves)
    if not case.planner.in_place:
        assert case.placement.away == ()


@given(cases())
def test_whole_directories_move_to_unused_locations(case: Case) -> None:
    alone = (write_directory(case.planner.write.table, QUERY), *case.granted)
    files = {file.location for file in case.staged}
    for move in case.placement.moves:
        assert move.source in files or any(is_below(move.target, path) for path in alone)


@given(cases())
def test_files_move_only_to_registered_locations(case: Case) -> None:
    placement, own = case.placement, write_directory(case.planner.write.table, QUERY)
    said = {own, *placement.shared_directories, *case.granted, *case.planner.replaced_in_place(case.staged)}
    for move in placement.moves:
        assert any(is_below(move.target, location) for location in said), (move, said)


@given(cases())
def test_new_and_overwritten_partitions_have_their_own_directory(case: Case) -> None:
    own = write_directory(case.planner.write.table, QUERY)
    replaced = case.planner.replaced_in_place(case.staged)
    for publication in case.placement.publications:
        if publication.mode != PublishMode.APPEND:
            path = publication.location
            assert is_below(path, own) or path in case.granted or path in replaced


@given(cases())
def test_each_partition_is_published_once_with_its_counts(case: Case) -> None:
    placement = case.placement
    files = Counter(file.values for file in case.staged)
    there = () if case.planner.write.overwrite else case.planner.snapshot
    wanted = {*files, *(values for values in case.planner.write.required(case.planner.snapshot) if values not in there)}
    assert sorted(publication.values for publication in placement.publications) == sorted(wanted)
    for publication in placement.publications:
        before = case.planner.snapshot.get(publication.values)
        assert publication.expected_version == (before.version if before else 0)
        assert publication.parameters["numFiles"] == str(files[publication.values])
        assert publication.parameters["numRows"] == str(5 * files[publication.values])


@given(cases())
def test_files_replaced_in_place_get_a_name_that_engines_ignore(case: Case) -> None:
    placement, table = case.placement, case.planner.write.table
    for rename in placement.away:
        assert f"_temp_{QUERY}" in rename.target
        assert rename.target in placement.retired_locations
        assert not any(is_below(move.target, rename.target) for move in placement.moves)
    for publication in placement.publications:
        before = case.planner.snapshot.get(publication.values)
        if case.planner.in_place and before and table.partition_columns and "/_versions/" not in before.location:
            assert publication.location == before.location


@pytest.mark.parametrize(
    ("root", "overwrite", "in_place", "requested"),
    [
        ("file:/w/t", False, False, ["p=3"]),
        ("file:/w/t", True, False, ["p=3"]),
        ("file:/w/t", True, True, ["p=2", "p=3"]),  # p=1 stays where it is: its contents are replaced
        ("s3a://b/t", True, False, []),  # a move copies every byte there
        ("s3a://b/t", True, True, ["p=2", "p=3"]),
    ],
)
def test_which_directories_in_hives_layout_are_requested(
    root: str, requested: list[str], *, overwrite: bool, in_place: bool
) -> None:
    """`p=1` is in its directory of Hive's layout, `p=2` in a version of it, and `p=3` is new."""
    table = Table("d", "t", (Column("x", "int"),), (Column("p", "string"),), root, STORAGE)
    places: dict[Values, str] = {("1",): f"{root}/p=1", ("2",): f"{root}/_versions/token-3/p=2"}
    snapshot = {
        values: PartitionState(place, 1, NOT_SKEWED, STORAGE, {}, NOT_BUCKETED) for values, place in places.items()
    }
    planner = PlacementPlanner(Write(table, {}, overwrite), snapshot, QUERY, in_place)
    staged = [StagedFile(f"{root}/s/{number}", (number,), 0, 10, 5) for number in "312"]
    assert planner.requested_directories(staged) == [f"{root}/{name}" for name in requested]


def test_the_root_of_a_table_in_one_of_its_versions() -> None:
    assert table_root(f"{ROOT}/_versions/token-3") == table_root(f"{ROOT}/") == ROOT
