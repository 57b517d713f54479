"""Moving partitions from one table to another."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, new_database, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import InvalidObjectException, MetaException

KEYS = [("ds", "string"), ("n", "int")]


def folder(location: str) -> Path:
    return Path(location.removeprefix("file:"))


@pytest.fixture
def database(hive_client: Any) -> str:
    """A database with two tables of the same shape. The source has two days of two numbers, each with a file."""
    name = new_database(hive_client)
    for text in ("source", "target"):
        hive_client.create_table(table(name, text, KEYS))
    new = [partition(name, "source", [day, str(n)], parameters={"k": day}) for day in "ab" for n in (1, 2)]
    hive_client.add_partitions(new)
    for text in hive_client.get_partitions(name, "source", -1):
        (folder(text.sd.location) / "part-0").write_text("-".join(text.values))
    return name


def rows(client: Any, database: str, name: str) -> dict[str, str]:
    """Returns the content of each partition's files."""
    return {
        "/".join(each.values): (folder(each.sd.location) / "part-0").read_text()
        for each in client.get_partitions(database, name, -1)
    }


def test_partitions_of_a_day_move_with_their_files(hive_client: Any, database: str) -> None:
    before = hive_client.get_partitions_by_names(database, "source", ["ds=a/n=1", "ds=a/n=2"])
    moved = hive_client.exchange_partitions({"DS": "a"}, f"@hive#{database}", "SOURCE", database, "target")
    assert moved == hive_client.get_partitions(database, "target", -1)
    assert rows(hive_client, database, "target") == {"a/1": "a-1", "a/2": "a-2"}
    assert rows(hive_client, database, "source") == {"b/1": "b-1", "b/2": "b-2"}
    for old, new in zip(before, moved, strict=True):
        assert new.sd.location == old.sd.location.replace("/source/", "/target/")
        assert new.tableName == "target"
        assert (new.createTime, new.parameters) == (old.createTime, old.parameters)
        assert not folder(old.sd.location).parent.exists()  # ds=a is empty now
    assert folder(hive_client.get_table(database, "source").sd.location).is_dir()


def test_one_partition_moves_back_and_forth(hive_client: Any, database: str) -> None:
    for source, target in (("source", "target"), ("target", "source")) * 2:
        answer = hive_client.exchange_partition({"ds": "a", "n": "1"}, database, source, database, target)
        assert (answer.values, answer.tableName, answer.sd) == (None, None, None)  # as in Hive
        assert rows(hive_client, database, target)["a/1"] == "a-1"


def test_partitions_at_other_locations_are_not_moved(hive_client: Any, database: str) -> None:
    path = f"{hive_client.get_table(database, 'source').sd.location}/elsewhere"
    hive_client.add_partition(partition(database, "source", ["c", "3"], sd=descriptor(path)))
    with pytest.raises(MetaException, match="not at its default location"):
        hive_client.exchange_partitions({"ds": "c"}, database, "source", database, "target")
    assert hive_client.get_partition(database, "source", ["c", "3"]).sd.location == path
    assert hive_client.get_partition_names(database, "target", -1) == []


def test_nothing_moves_when_a_directory_is_missing(hive_client: Any, database: str) -> None:
    shutil.rmtree(folder(hive_client.get_partition(database, "source", ["a", "2"]).sd.location))
    with pytest.raises(MetaException, match="directory of partition ds=a/n=2 is missing"):
        hive_client.exchange_partitions({"ds": "a"}, database, "source", database, "target")
    assert len(hive_client.get_partition_names(database, "source", -1)) == 4
    assert hive_client.get_partition_names(database, "target", -1) == []


def test_names_that_are_no_columns_are_passed_over(hive_client: Any, database: str) -> None:
    """As in Hive."""
    hive_client.exchange_partitions({"ds": "a", "hour": "1"}, database, "source", database, "target")
    assert rows(hive_client, database, "target") == {"a/1": "a-1", "a/2": "a-2"}


def test_skewed_locations_move_along(hive_client: Any, database: str) -> None:
    root = hive_client.get_table(database, "source").sd.location
    sd = descriptor(skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True)
    sd.skewedInfo.skewedColValueLocationMaps = {("1",): f"{root}/ds=s/n=1/a=1"}
    hive_client.add_partition(partition(database, "source", ["s", "1"], sd=sd))
    (moved,) = hive_client.exchange_partitions({"ds": "s"}, database, "source", database, "target")
    assert moved.sd.skewedInfo.skewedColValueLocationMaps == {("1",): f"{moved.sd.location}/a=1"}


def test_nothing_moves_if_a_partition_already_exists(hive_client: Any, database: str) -> None:
    hive_client.add_partition(partition(database, "target", ["a", "2"]))
    with pytest.raises(MetaException, match="already exists in the table target"):
        hive_client.exchange_partitions({"ds": "a"}, database, "source", database, "target")
    assert len(rows(hive_client, database, "source")) == 4
    assert hive_client.get_partition_names(database, "target", -1) == ["ds=a/n=2"]


def test_nothing_moves_when_a_directory_is_in_the_way(hive_client: Any, database: str) -> None:
    """The first partition's directory is moved back."""
    root = hive_client.get_table(database, "target").sd.location
    (folder(root) / "ds=a/n=2").mkdir(parents=True)
    with pytest.raises(MetaException, match="exists already"):
        hive_client.exchange_partitions({"ds": "a"}, database, "source", database, "target")
    assert len(rows(hive_client, database, "source")) == 4
    assert hive_client.get_partition_names(database, "target", -1) == []


def test_tables_must_be_alike(hive_client: Any, database: str) -> None:
    hive_client.create_table(table(database, "columns", KEYS, sd=descriptor(cols=columns(("a", "bigint")))))
    hive_client.create_table(table(database, "keys", [("ds", "string")]))
    for name in ("columns", "keys"):
        with pytest.raises(MetaException, match="The tables have different schemas"):
            hive_client.exchange_partitions({"ds": "a"}, database, "source", database, name)


@pytest.mark.parametrize(
    ("values", "source", "target", "text"),
    [
        ({"ds": "z"}, "source", "target", "No partition is found with the values"),
        ({"ds": "a"}, "nope", "target", r"The source table hive\.db_\w+\.nope not found"),
        ({"ds": "a"}, "source", "nope", r"The destination table hive\.db_\w+\.nope not found"),
        ({}, "source", "target", "Invalid partition key & values"),
        ({"ds": ""}, "source", "target", "Invalid partition key & values"),
        ({"x": "a"}, "source", "target", "Invalid partition key & values"),
        ({"n": "1"}, "source", "target", "values of their first columns"),
        (None, "source", "target", "must not be null"),
        ({"ds": "a"}, None, "target", "must not be null"),
        ({"ds": "a"}, "source", "source", "already exist in the table source"),
        ({"ds": "a\0"}, "source", "target", "NUL"),
    ],
)
def test_partitions_that_cannot_be_moved_are_rejected(
    hive_client: Any, database: str, values: Any, source: str, target: str, text: str
) -> None:
    with pytest.raises((MetaException, InvalidObjectException), match=text):
        hive_client.exchange_partitions(values, database, source, database, target)
    assert len(rows(hive_client, database, "source")) == 4


def test_one_of_many_moves_it(metastore_server: Server, hive_client: Any, database: str) -> None:
    for number in range(3):
        hive_client.create_table(table(database, f"target{number}", KEYS))
    barrier = threading.Barrier(3)

    def move(number: int) -> bool:
        with connected(metastore_server) as client:
            barrier.wait()
            try:
                return bool(client.exchange_partitions({"ds": "a"}, database, "source", database, f"target{number}"))
            except MetaException:
                return False

    with ThreadPoolExecutor(3) as threads:
        assert sorted(threads.map(move, range(3))) == [False, False, True]
    actual = [rows(hive_client, database, f"target{number}") for number in range(3)]
    assert sorted(actual, key=len) == [{}, {}, {"a/1": "a-1", "a/2": "a-2"}]
