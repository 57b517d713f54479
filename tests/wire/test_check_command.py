"""`metastore check` looks at the names of files, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from metastore.cli.commands import run
from tests.fixtures.server import Server
from tests.wire.builders import descriptor, new_table, partition
from tests.wire.writing import begin, write_file

Capture = pytest.CaptureFixture[str]
BUCKETED = {"bucketCols": ["a"], "numBuckets": 4}


@pytest.fixture
def bucketed(metastore_client: Any, tmp_path: Path) -> tuple[str, str]:
    root = f"file:{tmp_path}/t"
    name = new_table(metastore_client, [("ds", "string")], sd=descriptor(root, **BUCKETED))
    for value, files in (("1", ["000000_0", "000003_0_q", "_SUCCESS", ".crc"]), ("2", ["a", "b", "c", "d"])):
        metastore_client.add_partition(partition(*name, [value], sd=descriptor(f"{root}/ds={value}", **BUCKETED)))
        for file in files:
            write_file(f"{root}/ds={value}/{file}")
    return name


def check(capsys: Capture, server: Server, name: Sequence[str]) -> tuple[int, str, str]:
    status = run(["check", ".".join(name), "--uri", server.uri])
    output = capsys.readouterr()
    return status, output.out, output.err


def test_all_is_well(capsys: Capture, metastore_server: Server, bucketed: tuple[str, str]) -> None:
    summary = f"{'.'.join(bucketed)}: the buckets of 2 partitions are in order, by names of files\n"
    assert check(capsys, metastore_server, bucketed) == (0, "", summary)


def test_what_is_wrong_is_told_by_partition(
    capsys: Capture, metastore_server: Server, metastore_client: Any, bucketed: tuple[str, str], tmp_path: Path
) -> None:
    root, name = f"file:{tmp_path}/t", ".".join(bucketed)
    write_file(f"{root}/ds=1/000004_0")
    write_file(f"{root}/ds=2/e")
    for value, sd in (
        ("3", descriptor(f"{root}/ds=3", bucketCols=["x"], numBuckets=4)),
        ("4", descriptor(f"{root}/ds=4")),
        ("5", descriptor(f"{root}/ds=5", bucketCols=["a"], numBuckets=8)),
        ("6", descriptor(f"{root}/ds=6", **BUCKETED)),
    ):
        metastore_client.add_partition(partition(*bucketed, [value], sd=sd))
    write_file(f"{root}/ds=5/000007_0")
    write_file(f"{root}/ds=6/more/000000_0")
    status, lines, summary = check(capsys, metastore_server, bucketed)
    assert (status, summary) == (1, "5 problems\n")
    assert [line.split("\t")[0] for line in lines.splitlines()] == ["ds=1", "ds=2", "ds=3", "ds=4", "ds=6"]
    assert f"Hive table '{name}' is corrupt. The highest bucket number in the directory (4) exceeds" in lines
    assert "File 'a' does not match the standard naming pattern, and the number of files in the directory (5)" in lines
    assert (
        "(columns=[a], buckets=4) is not compatible with partition (ds=3) bucketing (columns=[x], buckets=4)" in lines
    )
    assert f"Hive table ({name}) is bucketed but partition (ds=4) is not bucketed" in lines
    assert "Found sub-directory 'more' in bucket directory for partition: ds=6" in lines


def test_files_of_a_write_that_is_not_published_do_not_count(
    capsys: Capture, metastore_server: Server, metastore_client: Any, bucketed: tuple[str, str], tmp_path: Path
) -> None:
    query_id = begin(metastore_client, bucketed)
    write_file(f"file:{tmp_path}/t/ds=2/000001_0_{query_id}")
    assert check(capsys, metastore_server, bucketed)[0] == 0


def test_a_table_without_partitions(
    capsys: Capture, metastore_server: Server, metastore_client: Any, tmp_path: Path
) -> None:
    name = new_table(metastore_client, [], sd=descriptor(f"file:{tmp_path}/u", **BUCKETED))
    write_file(f"file:{tmp_path}/u/part-0")
    status, lines, _ = check(capsys, metastore_server, name)
    assert status == 1
    assert lines.startswith("<UNPARTITIONED>\tHive table")


def test_a_table_without_buckets_is_refused(capsys: Capture, metastore_server: Server, metastore_client: Any) -> None:
    name = new_table(metastore_client, [])
    status, _, error = check(capsys, metastore_server, name)
    assert (status, error) == (
        1,
        f"metastore: {'.'.join(name)} has no buckets to check: it is not CLUSTERED BY\n",
    )
