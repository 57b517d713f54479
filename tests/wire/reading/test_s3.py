"""Reading a table on an S3 server of the test."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import boto3
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from metastore.client import connect, dataset, files
from metastore.client.errors import StaleSnapshotError
from metastore.client.structs import PublishMode
from tests.fixtures.server import Server
from tests.wire.reading.engines import ENGINES
from tests.wire.reading.tables import make_table

ROOT = "s3a://bucket/warehouse/readers"


@pytest.fixture(scope="module")
def store() -> Iterator[fs.FileSystem]:
    """Configures this process, and the servers that are started meanwhile."""
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="bucket")
        client.close()
        yield fs.S3FileSystem(endpoint_override=f"{host}:{port}", scheme="http", region="us-east-1")
    server.stop()


def test_objects_are_read_with_the_credentials_of_the_environment(
    store: fs.FileSystem, database_url: str, start_metastore: Callable[..., Server]
) -> None:
    server = start_metastore(database_url)
    with connect(server.uri) as client:
        table = make_table(client, {"id": "bigint"}, {"ds": "string"}, sd={"location": ROOT})
        for day, number in (("a=b", 1), ("2", 2)):
            query_id = table.begin()
            path = f"_versions/{query_id}/ds={day.replace('=', '%3D')}"
            rows = pa.table({"id": pa.array([number], pa.int64())})
            pq.write_table(rows, f"bucket/warehouse/readers/{path}/{query_id}-0.parquet", filesystem=store)
            table.publish(query_id, [day], PublishMode.CREATE, f"{ROOT}/{path}")
        found = dataset(client, table.full_name)
        assert sorted(found.to_table().to_pylist(), key=str) == [{"id": 1, "ds": "a=b"}, {"id": 2, "ds": "2"}]
        assert dataset(client, table.full_name, "ds = 'a=b'").to_table()["id"].to_pylist() == [1]
        with_fsspec = dataset(client, table.full_name, filesystem=fsspec.filesystem("s3"))
        assert with_fsspec.count_rows() == 2
        (listed,) = files(client, table.full_name, "ds = '2'")
        assert listed.path.startswith("s3://bucket/warehouse/readers/_versions/")
        store.delete_file(listed.path.removeprefix("s3://"))
        with pytest.raises(StaleSnapshotError):
            found.to_table()


def test_readers_of_objects_never_see_a_mixture(
    store: fs.FileSystem, database_url: str, start_metastore: Callable[..., Server]
) -> None:
    """Each overwrite writes one number into both partitions; each engine reads the rows of one overwrite."""
    server = start_metastore(database_url)
    with connect(server.uri) as writer, connect(server.uri) as reader:
        table = make_table(writer, {"id": "bigint"}, {"ds": "string"}, sd={"location": ROOT.replace("/readers", "/v")})

        def overwrite(number: int) -> None:
            query_id = table.begin()
            rows = pa.table({"id": pa.array([number] * 3, pa.int64())})
            paths = {(day,): f"v/_versions/{query_id}/ds={day}" for day in "12"}
            for path in paths.values():
                pq.write_table(rows, f"bucket/warehouse/{path}/{query_id}-0.parquet", filesystem=store)
            table.publish_all(query_id, {day: ROOT.replace("/readers", f"/{path}") for day, path in paths.items()})

        overwrite(0)
        first = dataset(reader, table.full_name)
        with ThreadPoolExecutor(1) as threads:
            writing = threads.submit(lambda: [overwrite(number) for number in range(1, 8)])
            engines = cycle(ENGINES)
            while not writing.done():
                numbers = ENGINES[next(engines)](dataset(reader, table.full_name))
                assert len(numbers) == 6
                assert len({*numbers}) == 1
            writing.result()
        for engine in ENGINES.values():
            assert engine(dataset(reader, table.full_name)) == [7] * 6
            assert engine(first) == [0] * 6


def test_credentials_by_storage_options(
    store: fs.FileSystem, database_url: str, start_metastore: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pandas takes them. The environment has none, and the dataset takes its own along to other processes."""
    server = start_metastore(database_url)
    options = {"key": "key", "secret": "secret", "client_kwargs": {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}}
    with connect(server.uri) as client:
        table = make_table(client, {"id": "bigint"}, sd={"location": ROOT.replace("/readers", "/u")})
        query_id = table.begin()
        rows = pa.table({"id": pa.array([1], pa.int64())})
        pq.write_table(rows, f"bucket/warehouse/u/_versions/{query_id}/{query_id}-0.parquet", filesystem=store)
        table.publish(query_id, [], PublishMode.OVERWRITE, f"{table.location}/_versions/{query_id}")
        for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        found = pickle.loads(pickle.dumps(dataset(client, table.full_name, storage_options=options)))
        assert found.to_table()["id"].to_pylist() == [1]
        assert [each.rows for each in files(client, table.full_name, rows=True, storage_options=options)] == [1]
