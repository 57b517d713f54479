"""`metastore check` compares names of files with the catalog, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from metastore.cli.commands import run
from tests.fixtures.server import Server, connected
from tests.wire.builders import descriptor, new_table, partition, table
from tests.wire.writing import begin, write_file
from thrift_idl.gen.hive_metastore.ttypes import Database, SerDeInfo

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
    summary = f"{'.'.join(bucketed)}: no problems in the buckets of 2 partitions; checked: file names\n"
    assert check(capsys, metastore_server, bucketed) == (0, "", summary)


def test_findings_are_listed_by_partition(
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


def test_rows_of_a_table_without_buckets_are_rejected(
    capsys: Capture, metastore_server: Server, metastore_client: Any
) -> None:
    name = new_table(metastore_client, [])
    assert run(["check", ".".join(name), "--rows", "--uri", metastore_server.uri]) == 1
    assert (
        capsys.readouterr().err
        == f"metastore: Table {'.'.join(name)} has no buckets: it is not CLUSTERED BY any column.\n"
    )
    assert run(["check", "--rows", "--uri", metastore_server.uri]) == 1


def test_catalog_and_storage(capsys: Capture, start_metastore: Callable[..., Server], database_url: str) -> None:
    """All kinds of problems: first reported, then repaired where that is safe."""
    server = start_metastore(database_url, "--allowed-locations", "")
    with connected(server) as client:
        client.create_database(Database("db"))
        for name, keys in (("days", [("ds", "string")]), ("plain", [])):
            client.create_table(table("db", name, keys))
        client.add_partitions([partition("db", "days", [n]) for n in "123"])
        assert run(["check", "--uri", server.uri]) == 0
        assert capsys.readouterr().err.startswith("all: catalog and storage agree, ")
        home = Path(server.warehouse.removeprefix("file:"))
        (home / "db.db/days/ds=2").rmdir()
        (home / "db.db/days/ds=8/empty").mkdir(parents=True)
        for location in ("db.db/days/ds=9", "db.db/gone", ".metastore_trash/77"):
            (home / location).mkdir(parents=True)
            (home / location / "rows").write_text("rows")
        (home / "db.db/days/_staging").mkdir()
        (home / "db.db/days/_versions/a/_temporary/0").mkdir(parents=True)
        problems = [
            (".metastore_trash/77", "remains of a drop", "", "1", "4", "not repaired"),
            ("db.db/days/ds=2", "missing directory", "db.days", "0", "0", "not repaired"),
            ("db.db/days/ds=8", "directory without object", "db.days", "0", "0", "repairable"),
            ("db.db/days/ds=9", "directory without object", "db.days", "1", "4", "not repaired"),
            ("db.db/days/_versions/a", "directory without object", "db.days", "0", "0", "repairable"),
            ("db.db/gone", "directory without object", "db", "1", "4", "not repaired"),
        ]
        for options, state, summary in (
            ([], "repairable", "6 problems, --repair can repair 2\n"),
            (["--repair"], "repaired", "6 problems, 2 repaired\n"),
        ):
            assert run(["check", *options, "--uri", server.uri]) == 1
            told = capsys.readouterr()
            lines = [line.removeprefix(f"{server.warehouse}/").split("\t") for line in told.out.splitlines()]
            assert [tuple(row) for row in lines] == [
                (*problem[:5], state if problem[5] == "repairable" else problem[5]) for problem in problems
            ]
            assert told.err == summary
        assert run(["check", "db.days", "--uri", server.uri]) == 1
        assert capsys.readouterr().err == "2 problems, --repair can repair 0\n"
        assert not (home / "db.db/days/ds=2").exists()
        assert (home / ".metastore_trash/77/rows").exists()
        assert not (home / "db.db/days/ds=8").exists()
        assert not (home / "db.db/days/_versions/a").exists()
        assert (home / "db.db/gone/rows").exists()
        assert run(["check", "nope", "--uri", server.uri]) == 1


def test_locations_that_clients_may_read_elsewhere_are_findings(
    capsys: Capture, metastore_server: Server, metastore_client: Any
) -> None:
    properties = {"custom.root": "s3a://bucket/x", "path": "s3a://bucket/y", "avro.schema.url": "s3a://bucket/${z}"}
    name = new_table(metastore_client, [("ds", "string")], parameters=properties)
    for value in ("1", "2"):
        own = SerDeInfo(parameters={"own.root": "s3a://bucket/p", "custom.root": "s3a://bucket/x"})
        metastore_client.add_partition(partition(*name, [value], sd=descriptor(serdeInfo=own)))
    home = metastore_client.get_database(name[0])
    home.parameters = {"home.root": "s3a://bucket/d"}
    metastore_client.alter_database(name[0], home)
    status, lines, _ = check(capsys, metastore_server, name)
    assert status == 1
    assert lines.count("custom.root") == 1
    assert (
        f"s3a://bucket/p\tlocation in property own.root, which authorization does not check\t{'.'.join(name)}" in lines
    )
    assert "partition ds=1" in lines
    assert "partition ds=2" not in lines
    status, lines, _ = check(capsys, metastore_server, name[:1])
    assert status == 1
    assert f"s3a://bucket/d\tlocation in property home.root, which authorization does not check\t{name[0]}\t" in lines
    assert "location in property custom.root, which authorization does not check" in lines
    assert "bucket/y" not in lines
    assert "bucket/${z}\tlocation with a variable or a pattern, which clients replace" in lines
