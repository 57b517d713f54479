"""The journal on an S3 server of the test: directories are only prefixes, and nothing is renamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest
from moto.server import ThreadedMotoServer

from metastore.warehouse.filesystem import Warehouse
from metastore.warehouse.s3 import BoundedS3
from tests.fixtures.server import Server, connected
from tests.wire.builders import partition, table
from tests.wire.writing import begin, publish
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, PublishMode, PublishPartition, UndropRequest

KEYS = [("ds", "string")]


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
    BoundedS3.clear_instance_cache()  # it has the address of another test's server
    yield client
    client.close()
    server.stop()


def put(bucket: Any, *keys: str) -> None:
    for key in keys:
        bucket.put_object(Bucket="bucket", Key=f"w/db.db/{key}", Body=b"rows")


def keys(bucket: Any) -> set[str]:
    listed = bucket.list_objects_v2(Bucket="bucket").get("Contents", ())
    return {each["Key"].removeprefix("w/db.db/") for each in listed if not each["Key"].endswith(("/", ".json"))}


def test_files_follow_the_catalog(bucket: Any, database_url: str, start_metastore: Callable[..., Server]) -> None:
    server = start_metastore(
        database_url, "--warehouse", "s3a://bucket/w", "--allowed-locations", "", "--drop-retention", "0"
    )
    with connected(server) as client:
        client.create_database(Database("db"))
        for name in ("days", "more"):
            client.create_table(table("db", name, KEYS))
        client.create_table(table("db", "plain"))
        client.add_partitions([partition("db", "days", [text]) for text in "123"])
        put(bucket, "plain/a", "plain/_staging/w/b", "days/ds=1/a", "days/ds=1/b", "days/ds=2/c", "days/ds=3/d")

        client.truncate_table("db", "plain", None)
        client.drop_partition("db", "days", ["1"], True)
        assert keys(bucket) == {"plain/_staging/w/b", "days/ds=2/c", "days/ds=3/d"}
        client.exchange_partitions({"ds": "3"}, "db", "days", "db", "more")
        renamed = client.get_table("db", "days")
        renamed.tableName = "weeks"
        client.alter_table("db", "days", renamed)
        assert keys(bucket) == {"plain/_staging/w/b", "weeks/ds=2/c", "more/ds=3/d"}
        client.drop_table("db", "weeks", True)
        client.create_table(table("db", "weeks", KEYS))
        assert keys(bucket) == {"plain/_staging/w/b", "more/ds=3/d"}
        staging = "s3a://bucket/w/db.db/plain/_staging/w"  # of no open write
        assert [problem.location for problem in client.check_files(CheckFilesRequest()).problems] == [staging]
        put(bucket, "more/ds=9/x")
        found = {problem.location: problem.files for problem in client.check_files(CheckFilesRequest()).problems}
        assert found == {staging: 1, "s3a://bucket/w/db.db/more/ds=9": 1}
        client.drop_database("db", True, True)
        assert keys(bucket) == set()
        assert client.check_files(CheckFilesRequest()).problems == []


def test_files_move_into_a_directory_that_exists(bucket: Any) -> None:
    put(bucket, "one/a", "one/inside/b", "two/inside/c")
    bucket.put_object(Bucket="bucket", Key="w/db.db/two/", Body=b"")  # the marker of Hadoop's file system
    warehouse = Warehouse("s3a://bucket/w")
    warehouse.move_into("s3a://bucket/w/db.db/one", "s3a://bucket/w/db.db/two")
    assert keys(bucket) == {"two/a", "two/inside/b", "two/inside/c"}


def test_dropped_files_can_be_taken_back(
    bucket: Any, database_url: str, start_metastore: Callable[..., Server]
) -> None:
    server = start_metastore(database_url, "--warehouse", "s3a://bucket/w", "--allowed-locations", "")
    with connected(server) as client:
        client.create_database(Database("db"))
        client.create_table(table("db", "days", KEYS))
        client.create_table(table("db", "plain"))
        client.add_partitions([partition("db", "days", [text]) for text in "12"])
        there = {"plain/a", "plain/deep/b", "days/ds=1/a", "days/ds=2/c*?["}
        put(bucket, *there)
        for drop, wanted in (
            (lambda: client.truncate_table("db", "plain", None), UndropRequest("db", "plain")),
            (lambda: client.drop_partition("db", "days", ["1"], True), UndropRequest("db", "days", None, "ds=1")),
            (lambda: client.drop_table("db", "plain", True), UndropRequest("db", "plain")),
            (lambda: client.drop_database("db", True, True), UndropRequest("db")),
        ):
            drop()
            gone = {key for key in keys(bucket) if key.startswith("w/.metastore_trash/")}
            assert gone
            assert len(keys(bucket)) == len(there)
            assert client.check_files(CheckFilesRequest()).problems == []
            client.undrop(wanted)
            assert keys(bucket) == there
            assert client.check_files(CheckFilesRequest()).problems == []
        client.drop_table("db", "plain", True)
        client.undrop(UndropRequest("db", "plain", newName="other"))
        assert {"other/a", "other/deep/b"} < keys(bucket)


@pytest.mark.parametrize("is_copied", [False, True])
def test_files_that_came_after_a_rewrite_move_once(
    bucket: Any, database_url: str, start_metastore: Callable[..., Server], *, is_copied: bool
) -> None:
    """A server copies a file and then deletes it. Meanwhile another call meets both, or the server dies."""
    server = start_metastore(database_url, "--warehouse", "s3a://bucket/w", "--allowed-locations", "")
    name, file = ("db", "plain"), "20261129_000001_00001_x"
    with connected(server) as client:
        client.create_database(Database("db"))
        client.create_table(table(*name))
        query_id = begin(client, name)
        target = f"plain/_versions/{query_id}"
        put(bucket, f"{target}/{query_id}.parquet")
        root = client.get_table(*name).sd.location
        entry = PublishPartition([], PublishMode.OVERWRITE, f"{root}/_versions/{query_id}", [], foreignFiles=[])
        entry.parameters = {"spark_query_id": query_id}
        publish(client, name, query_id, entry)
    put(bucket, f"plain/{file}", f"plain/{file} %41=ü", *([f"{target}/{file}"] if is_copied else []))

    def alter(_: int) -> None:
        with connected(server) as client:
            changed = client.get_table(*name)
            changed.parameters["numFiles"] = "9"
            client.alter_table(*name, changed)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(alter, range(4)))
    assert keys(bucket) == {f"{target}/{each}" for each in (f"{query_id}.parquet", file, f"{file} %41=ü")}
