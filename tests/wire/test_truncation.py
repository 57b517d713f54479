"""Truncation removes files and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.wire.builders import descriptor, new_database, new_table, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext, MetaException, TruncateTableRequest

KEYS = [("ds", "string"), ("n", "int")]
STATISTICS = {"numFiles": "3", "numRows": "7", "totalSize": "100", "rawDataSize": "90", "other": "stays"}


def folder(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def fill(location: str) -> Path:
    """Writes files, a hidden one, and one in a subdirectory."""
    path = folder(location)
    (path / "below").mkdir(parents=True)
    for name in ("part-0", "_SUCCESS", "below/part-1"):
        (path / name).write_text("rows")
    return path


@pytest.fixture
def filled(hive_client: Any) -> tuple[str, str, list[Path]]:
    """Three partitions with files."""
    database, name = new_table(hive_client, KEYS)
    new = [partition(database, name, ["a", str(n)], parameters=dict(STATISTICS)) for n in (1, 2, 3)]
    hive_client.add_partitions(new)
    return database, name, [fill(each.sd.location) for each in hive_client.get_partitions(database, name, -1)]


def test_a_table_is_emptied_and_its_statistics_are_zero(hive_client: Any) -> None:
    database, name = new_table(hive_client, parameters=dict(STATISTICS))
    before = hive_client.get_table(database, name)
    path = fill(before.sd.location)
    assert hive_client.truncate_table(f"@hive#{database}", name.upper(), None) is None
    assert list(path.iterdir()) == []
    after = hive_client.get_table(database, name)
    zero = {"numFiles": "0", "numRows": "0", "totalSize": "0", "rawDataSize": "0"}
    accurate = {"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'}
    assert after.parameters == before.parameters | zero | accurate
    after.parameters = before.parameters
    assert after == before


@pytest.mark.parametrize("names", [[], ["ds=a"], ["nonsense"], [""]])
def test_names_of_partitions_on_a_table_without_them_empty_nothing(hive_client: Any, names: list[str]) -> None:
    database, name = new_table(hive_client, parameters=dict(STATISTICS))
    before = hive_client.get_table(database, name)
    path = fill(before.sd.location)
    hive_client.truncate_table(database, name, names)
    hive_client.truncate_table_req(TruncateTableRequest(database, name, names))
    assert (path / "part-0").exists()
    assert hive_client.get_table(database, name).parameters == before.parameters


def test_all_partitions_are_emptied(hive_client: Any, filled: tuple[str, str, list[Path]]) -> None:
    database, name, paths = filled
    hive_client.truncate_table(database, name, None)
    assert [list(path.iterdir()) for path in paths] == [[], [], []]
    for each in hive_client.get_partitions(database, name, -1):
        assert (each.parameters["numRows"], each.parameters["other"]) == ("0", "stays")
    assert hive_client.get_partition_names(database, name, -1) == ["ds=a/n=1", "ds=a/n=2", "ds=a/n=3"]


def test_only_the_named_partitions_are_emptied(hive_client: Any, filled: tuple[str, str, list[Path]]) -> None:
    database, name, paths = filled
    hive_client.truncate_table_req(TruncateTableRequest(database, name, ["ds=a/n=2"]))
    assert [len(list(path.iterdir())) for path in paths] == [3, 0, 3]
    assert [each.parameters["numRows"] for each in hive_client.get_partitions(database, name, -1)] == ["7", "0", "7"]
    hive_client.truncate_table(database, name, [])
    assert [len(list(path.iterdir())) for path in paths] == [3, 0, 3]


def test_a_partition_that_is_not_there_is_passed_over(hive_client: Any, filled: tuple[str, str, list[Path]]) -> None:
    """As in Hive. Without partitions, the table's own files stay."""
    database, name, paths = filled
    hive_client.truncate_table(database, name, ["ds=z/n=1"])
    assert [len(list(path.iterdir())) for path in paths] == [3, 3, 3]
    plain = new_table(hive_client)
    directory = Path(hive_client.get_table(*plain).sd.location.removeprefix("file:"))
    (directory / "file").write_text("x")
    hive_client.truncate_table(*plain, ["ds=a"])
    assert (directory / "file").exists()


def test_files_may_be_left_to_the_client(hive_client: Any, filled: tuple[str, str, list[Path]]) -> None:
    database, name, paths = filled
    context = EnvironmentContext({"truncateSkipDataDeletion": "true"})
    hive_client.truncate_table_req(TruncateTableRequest(database, name, None, environmentContext=context))
    assert [len(list(path.iterdir())) for path in paths] == [3, 3, 3]
    assert {each.parameters["numRows"] for each in hive_client.get_partitions(database, name, -1)} == {"0"}


def test_skew_directories_are_removed_too(hive_client: Any, tmp_path: Path) -> None:
    sd = descriptor(skewedInfo=skewed(["a"], [["1"], ["2"]]), storedAsSubDirectories=True)
    database, name = new_table(hive_client, sd=sd)
    given = hive_client.get_table(database, name)
    elsewhere = fill(str(tmp_path / "elsewhere"))
    given.sd.skewedInfo.skewedColValueLocationMaps = {
        ("1",): f"{given.sd.location}/a=1",
        ("2",): f"file:{elsewhere}",
    }
    hive_client.alter_table(database, name, given)
    inside = fill(f"{given.sd.location}/a=1")
    hive_client.truncate_table(database, name, None)
    assert not inside.exists()
    assert list(elsewhere.iterdir()) == []
    skew = hive_client.get_table(database, name).sd.skewedInfo
    assert (skew.skewedColValues, skew.skewedColValueLocationMaps) == ([["1"], ["2"]], {})


def test_a_directory_that_was_not_there_is_made(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    path = folder(hive_client.get_table(database, name).sd.location)
    path.rmdir()
    hive_client.truncate_table(database, name, None)
    assert path.is_dir()


def test_tables_that_the_metastore_does_not_manage_are_left_alone(hive_client: Any, tmp_path: Path) -> None:
    database = new_database(hive_client)
    path = fill(str(tmp_path / "external"))
    sd = descriptor(f"file:{path}")
    hive_client.create_table(table(database, "external", parameters={"EXTERNAL": "TRUE"}, sd=sd))
    hive_client.create_table(table(database, "view", tableType="VIRTUAL_VIEW", viewOriginalText="select 1"))
    for name in ("external", "view"):
        with pytest.raises(MetaException, match=f"Cannot truncate non-managed table {database}.{name}"):
            hive_client.truncate_table(database, name, None)
    assert len(list(path.iterdir())) == 3
    purged = hive_client.get_table(database, "external")
    purged.parameters["external.table.purge"] = "true"
    hive_client.alter_table(database, "external", purged)
    hive_client.truncate_table(database, "external", None)
    assert list(path.iterdir()) == []


def test_the_warehouse_itself_is_not_emptied(hive_client: Any, metastore_server: Any) -> None:
    database = new_database(hive_client)
    hive_client.create_table(table(database, "everything", sd=descriptor(metastore_server.warehouse)))
    with pytest.raises(MetaException, match=r"it contains the warehouse"):
        hive_client.truncate_table(database, "everything", None)
    assert folder(metastore_server.warehouse).is_dir()
    hive_client.drop_table(database, "everything", False)


@pytest.mark.parametrize("name", [None, "", "nope", "a\0b", "x" * 10_000])
def test_a_missing_table_is_named(hive_client: Any, name: str | None) -> None:
    with pytest.raises(MetaException):
        hive_client.truncate_table("default", name, None)
