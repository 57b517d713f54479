"""Cleaning on an S3 server of the test: it does not rely on renames, and removes only files of the writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.fixtures.server import Server, connected
from tests.wire.builders import descriptor, new_table, partition
from tests.wire.writing import begin, clean, day, let_die, publish, renew, scanned, told
from thrift_idl.gen.metastore.ttypes import PublishMode, Rename

ROOT = "s3a://bucket/warehouse/t"


class Bucket:
    """Returns the objects by their keys below the table's root."""

    def __init__(self) -> None:
        self._client: Any = boto3.client("s3")
        self._client.create_bucket(Bucket="bucket")

    def put(self, *keys: str) -> None:
        for key in keys:
            self._client.put_object(Bucket="bucket", Key=f"warehouse/t/{key}", Body=b"rows")

    def begin_upload(self, key: str) -> None:
        """Begins an upload that nobody completes."""
        upload = self._client.create_multipart_upload(Bucket="bucket", Key=f"warehouse/t/{key}")["UploadId"]
        part = {"Bucket": "bucket", "Key": f"warehouse/t/{key}", "UploadId": upload, "PartNumber": 1}
        self._client.upload_part(**part, Body=b"rows")

    @property
    def uploads(self) -> set[str]:
        """The keys of uploads that are not complete, below the table's root."""
        listed = self._client.list_multipart_uploads(Bucket="bucket").get("Uploads", ())
        return {each["Key"].removeprefix("warehouse/t/") for each in listed}

    @property
    def keys(self) -> set[str]:
        listed = self._client.list_objects_v2(Bucket="bucket", Prefix="warehouse/t/").get("Contents", ())
        keys = {each["Key"].removeprefix("warehouse/t/") for each in listed}
        return {key for key in keys if key and not key.endswith("/")}

    def close(self) -> None:
        self._client.close()


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    """Configures the servers that are started meanwhile, too."""
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
        bucket = Bucket()
        yield bucket
        bucket.close()
    server.stop()


def test_replaced_and_abandoned_objects_are_removed(
    bucket: Bucket, database_url: str, start_metastore: Callable[..., Server]
) -> None:
    server = start_metastore(database_url)
    with connected(server) as client:
        name = new_table(client, [("ds", "string")], sd=descriptor(ROOT))
        client.add_partition(partition(*name, ["1"]))
        bucket.put("ds=1/part-0", "ds=1/part-1")

        write = begin(client, name)
        path = f"_versions/{write}/ds=1"
        assert renew(client, write, f"{ROOT}/_versions/{write}") == [True]
        bucket.put(f"{path}/{write}-part-0")
        publish(client, name, write, day(ROOT, "1", PublishMode.OVERWRITE, location=f"{ROOT}/{path}"))
        assert told(clean(client, name), "s3://bucket/warehouse/t") == [("ds=1", "replaced", 2)]
        assert bucket.keys == {f"{path}/{write}-part-0"}

        dead = begin(client, name)
        renew(client, dead, f"{ROOT}/_versions/{dead}", shared=[f"{ROOT}/{path}"])
        bucket.put(f"_versions/{dead}/ds=2/{dead}-part-0", f"{path}/{dead}-part-0")
        assert scanned(client, name).openWrites == [2]
        let_die(database_url, dead)
        clean(client, name)
        assert bucket.keys == {f"{path}/{write}-part-0"}
        assert scanned(client, name).openWrites == []


def test_renames_of_a_dead_writer_are_undone(
    bucket: Bucket, database_url: str, start_metastore: Callable[..., Server]
) -> None:
    server = start_metastore(database_url)
    with connected(server) as client:
        name = new_table(client, [("ds", "string")], sd=descriptor(ROOT))
        client.add_partition(partition(*name, ["5"]))
        before = bucket.keys
        dead = begin(client, name)
        away, new = f"_temp_{dead}_ds=5", f"ds=5/{dead}-part-0"
        renames = [(f"{ROOT}/ds=5", f"{ROOT}/{away}"), (f"{ROOT}/_versions/{dead}/{new}", f"{ROOT}/{new}")]
        renew(client, dead, f"{ROOT}/_versions/{dead}", renames=[Rename(*rename) for rename in renames])
        bucket.put(f"{away}/part-0", f"{away}/part-1", new)
        let_die(database_url, dead)
        assert [location.error for location in clean(client, name).locations if location.error] == []
        assert bucket.keys - before == {"ds=5/part-0", "ds=5/part-1"}


def test_uploads_of_a_dead_writer_are_aborted(
    bucket: Bucket, database_url: str, start_metastore: Callable[..., Server]
) -> None:
    """Also where the writer has registered no directory, and none of other writers."""
    server = start_metastore(database_url)
    with connected(server) as client:
        name = new_table(client, [("ds", "string")], sd=descriptor(ROOT))
        client.add_partition(partition(*name, ["6"]))
        alive, dead = begin(client, name), begin(client, name)
        renew(client, dead, f"{ROOT}/_versions/{dead}")
        for write in (alive, dead):
            bucket.begin_upload(f"_versions/{write}/ds=7/{write}-part-0")
            bucket.begin_upload(f"ds=6/{write}-part-0")
        let_die(database_url, dead)
        assert [location.error for location in clean(client, name).locations if location.error] == []
        assert bucket.uploads == {f"_versions/{alive}/ds=7/{alive}-part-0", f"ds=6/{alive}-part-0"}


def test_uploads_that_a_published_write_has_lost_are_aborted_on_request(
    bucket: Bucket, database_url: str, start_metastore: Callable[..., Server]
) -> None:
    """An executor was killed during an upload, and another one has written its rows."""
    server = start_metastore(database_url)
    with connected(server) as client:
        name = new_table(client, [("ds", "string")], sd=descriptor(ROOT))
        before = bucket.uploads
        write, running = begin(client, name), begin(client, name)
        renew(client, write, f"{ROOT}/_versions/{write}")
        lost, kept = f"_versions/{write}/ds=8/{write}-part-0", f"_versions/{running}/ds=8/{running}-part-0"
        bucket.begin_upload(lost)
        bucket.begin_upload(kept)
        publish(client, name, write, day(ROOT, "8", PublishMode.CREATE, location=f"{ROOT}/_versions/{write}/ds=8"))
        clean(client, name)
        assert bucket.uploads - before == {lost, kept}
        clean(client, name, unregistered=True)
        assert bucket.uploads - before == {kept}
