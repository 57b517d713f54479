"""`metastore care discover`, on local directories and on an S3 server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest
from moto.server import ThreadedMotoServer

from metastore.cli.commands import run
from metastore.client import discovery
from metastore.warehouse import listing
from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import Database, MetaException, Partition
from thrift_idl.gen.metastore.ttypes import CarePlanRequest, CreateDependentTableRequest, UndropRequest

Capture = pytest.CaptureFixture[str]
DAY = [("dt", "string")]
ON = {"discover.partitions": "true", "EXTERNAL": "TRUE"}


@pytest.fixture
def database(hive_client: Any) -> str:
    name = unique("db")
    hive_client.create_database(Database(name))
    return name


def external(client: Any, database: str, name: str, place: Path | str, keys: Any = DAY, **parameters: str) -> None:
    sd = descriptor()
    sd.location = str(place)
    given = {**ON, **{key.replace("_", "."): value for key, value in parameters.items()}}
    client.create_table(table(database, name, keys, sd=sd, tableType="EXTERNAL_TABLE", parameters=given))


def discover(server: Server, capsys: Capture, *arguments: str) -> tuple[int, list[list[str]], str]:
    """Runs the command. Returns its status, partitions and outcomes, and what it says on standard error."""
    status = run(["care", "discover", *arguments, "--uri", server.uri])
    out, err = capsys.readouterr()
    return status, [[row[1], row[3]] for row in (line.split("\t") for line in out.splitlines())], err


def test_new_directories_become_partitions(
    hive_client: Any,
    metastore_server: Server,
    database: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(discovery, "_BATCH", 2)
    external(hive_client, database, "t", tmp_path)
    names = ["dt=1", "dt=2 10%3A00", "dt=3", "dt=4", "_temporary", "other"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / "dt=3" / "file").write_text("12345")
    hive_client.add_partitions([partition(database, "t", ["4"])])
    found = [["", "ignored: 1 directory is no partition: other: its name does not begin with dt="]]
    new = ["dt=1", "dt=2 10%3A00", "dt=3"]
    status, rows, err = discover(metastore_server, capsys, f"{database}.t", "--dry-run")
    assert (status, rows) == (0, found + [[name, "would be added"] for name in new])
    assert err == "3 partitions would be added, 0 dropped\n"
    assert hive_client.get_partition_names(database, "t", -1) == ["dt=4"]
    assert discover(metastore_server, capsys, database)[:2] == (0, found + [[name, "added"] for name in new])
    one, two = (hive_client.get_partition(database, "t", [value]) for value in ("2 10:00", "3"))
    assert one.sd.location.endswith("/dt=2 10%3A00")
    assert one.sd.inputFormat == hive_client.get_table(database, "t").sd.inputFormat
    assert two.values == ["3"]
    assert discover(metastore_server, capsys, database)[:2] == (0, found)


def test_the_directory_of_a_partition_with_another_name_is_not_new(
    hive_client: Any, metastore_server: Server, database: str, tmp_path: Path, capsys: Capture
) -> None:
    """External partitions keep their directories when they are renamed."""
    external(hive_client, database, "t", tmp_path)
    hive_client.add_partitions([partition(database, "t", ["1"])])
    renamed = hive_client.get_partition(database, "t", ["1"])
    renamed.values = ["2"]
    hive_client.rename_partition(database, "t", ["1"], renamed)
    assert hive_client.get_partition(database, "t", ["2"]).sd.location.endswith("/dt=1")
    (tmp_path / "dt=3").mkdir()
    assert discover(metastore_server, capsys, f"{database}.t")[:2] == (0, [["dt=3", "added"]])
    assert discover(metastore_server, capsys, f"{database}.t")[:2] == (0, [])


def test_a_partition_that_is_refused_does_not_stop_the_others(
    hive_client: Any,
    metastore_server: Server,
    database: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another client has added the partition that uses the directory after its name was listed."""
    monkeypatch.setattr(discovery, "_located", lambda *_: iter(()))
    (tmp_path / "t").mkdir()
    external(hive_client, database, "t", tmp_path / "t")
    for day in (1, 2, 3):
        (tmp_path / "t" / f"dt={day}").mkdir()
    external(hive_client, database, "u", tmp_path / "t/dt=2", [])
    place = partition(database, "t", ["7"])
    place.sd.location = str(tmp_path / "t/dt=2")
    hive_client.add_partitions([place])
    status, rows, _ = discover(metastore_server, capsys, f"{database}.t")
    outcomes = dict(rows)
    assert (status, outcomes["dt=1"], outcomes["dt=3"]) == (1, "added", "added")
    assert outcomes["dt=2"].startswith("failed: ")


def test_tables_without_discovery_are_refused(
    hive_client: Any, metastore_server: Server, database: str, tmp_path: Path, capsys: Capture
) -> None:
    hive_client.create_table(table(database, "managed", DAY, parameters={"discover.partitions": "true"}))
    external(hive_client, database, "flat", tmp_path, [])
    external(hive_client, database, "off", tmp_path, discover_partitions="false")
    external(hive_client, database, "away", tmp_path / "missing")
    (tmp_path / "missing").rmdir()  # which the server has created
    reasons = {
        "managed": "is not external: its partitions are those that were written to it",
        "flat": "has no partition columns",
        "off": f"Partitions of {database}.off are not discovered: set discover.partitions to true",
        "away": f"its directory file:{tmp_path}/missing does not exist",
        "none": "none table not found",
    }
    for name, reason in reasons.items():
        status, rows, err = discover(metastore_server, capsys, f"{database}.{name}")
        assert (status, rows) == (1, [])
        assert reason in err
    with connected(metastore_server) as client:
        plan = client.get_care_plan(CarePlanRequest(database, kind="discovery"))
        assert [[one.tableName for one in each] for each in (plan.tables, plan.actions)] == [["away"]] * 2
        with pytest.raises(MetaException, match="The kind is 'retention'; it must be discovery, or none"):
            client.get_care_plan(CarePlanRequest(database, kind="retention"))


def test_partitions_whose_directories_are_gone(
    metastore_client: Any, metastore_server: Server, database: str, tmp_path: Path, capsys: Capture
) -> None:
    client = metastore_client
    external(client, database, "t", tmp_path)
    for day in (1, 2, 3):
        (tmp_path / f"dt={day}").mkdir()
    name = f"{database}.t"
    discover(metastore_server, capsys, name)
    client.create_dependent_table(CreateDependentTableRequest(database, "d", columns(*DAY), database, "t"))
    client.add_partitions([Partition(["2"], database, "d", parameters={})])
    for day in (1, 2):
        shutil.rmtree(tmp_path / f"dt={day}")
    assert discover(metastore_server, capsys, name)[1] == [], "off by default"

    def policy(value: str) -> None:
        changed = client.get_table(database, "t")
        changed.parameters["care.discovery.drop"] = value
        client.alter_table(database, "t", changed)

    policy("report")
    kept = "kept: its directory is gone, and care.discovery.drop is report"
    assert discover(metastore_server, capsys, name)[1] == [["dt=1", kept], ["dt=2", discovery.HELD]]
    policy("on")
    dry = "would be dropped: its directory is gone"
    assert discover(metastore_server, capsys, name, "--dry-run")[1] == [["dt=1", dry], ["dt=2", discovery.HELD]]
    done = "dropped: its directory is gone"
    assert discover(metastore_server, capsys, name)[:2] == (0, [["dt=1", done], ["dt=2", discovery.HELD]])
    assert client.get_partition_names(database, "t", -1) == ["dt=2", "dt=3"]
    client.undrop(UndropRequest(database, "t", partition="dt=1"))
    assert client.get_partition_names(database, "t", -1) == ["dt=1", "dt=2", "dt=3"]
    shutil.rmtree(tmp_path / "dt=3")
    assert discover(metastore_server, capsys, name)[1] == [["", discovery.NOT_MOUNTED]]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    with urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")):  # its objects belong to one process
        client: Any = boto3.client("s3")
    client.create_bucket(Bucket="bucket")
    yield client
    client.close()
    server.stop()


def test_directories_on_s3(
    database_url: str,
    start_metastore: Callable[..., Server],
    bucket: Any,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store gives two names at a time. With `newer`, its list begins at the last partition. The server has no
    access to it.
    """
    requests: list[dict[str, Any]] = []
    prefixes = listing._prefixes

    def noted(files: Any, path: str, first: str) -> Any:
        class Noting:
            def call_s3(self, method: str, **request: Any) -> Any:
                requests.append(dict(request))
                return files.call_s3(method, MaxKeys=2, **request)

        return prefixes(Noting(), path, first)

    monkeypatch.setattr(listing, "_prefixes", noted)
    server = start_metastore(database_url, "--allowed-locations", "")
    with connected(server) as client:
        external(client, "default", "t", "s3a://bucket/x/t")
        for name in ("dt=1/file", "dt=1/more", "dt=2/file", "dt=3/file", "_SUCCESS"):
            bucket.put_object(Bucket="bucket", Key=f"x/t/{name}", Body=b"")
        added = [[f"dt={number}", "added"] for number in (1, 2, 3)]
        assert discover(server, capsys, "default.t")[:2] == (0, added)
        assert ["ContinuationToken" in each for each in requests] == [False, True]
        changed = client.get_table("default", "t")
        changed.parameters["care.discovery.scope"] = "newer"
        client.alter_table("default", "t", changed)
        for name in ("dt=0/file", "dt=4/file"):
            bucket.put_object(Bucket="bucket", Key=f"x/t/{name}", Body=b"")
        requests.clear()
        assert discover(server, capsys, "default.t")[1] == [["dt=4", "added"]]
        assert [each["StartAfter"] for each in requests] == ["x/t/dt=3"]
        external(client, "default", "u", "s3a://bucket/none")
        status, _, err = discover(server, capsys, "default.u")
        assert (status, "its directory s3a://bucket/none does not exist" in err) == (1, True)
