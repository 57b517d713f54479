"""Metadata files of commits by REST on an S3 server of the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.fixtures.server import Server
from tests.wire.console.visiting import Visitor
from tests.wire.iceberg.conftest import V1
from tests.wire.iceberg.test_writing import SCHEMA_JSON, setting
from tests.wire.monitoring.pages import HTTP
from tests.wire.test_file_operations_s3 import bucket as bucket


def test_metadata_files_on_s3(bucket: Any, database_url: str, start_metastore: Callable[..., Server]) -> None:
    options = ["--warehouse", "s3a://bucket/w", "--allowed-locations", "", "--http-port", "0"]
    server = start_metastore(database_url, *options)
    match = HTTP.search(server.ready)
    assert match
    visitor = Visitor(match[1].rstrip("/"))

    def send(path: str, body: Any) -> Any:
        reply = visitor.send("POST", f"{V1}/namespaces{path}", json.dumps(body), {})
        assert reply.status == 200, reply.text
        return reply.data

    def files() -> list[str]:
        listed = bucket.list_objects_v2(Bucket="bucket").get("Contents", ())
        return sorted(f"s3a://bucket/{each['Key']}" for each in listed if each["Key"].endswith(".metadata.json"))

    send("", {"namespace": ["db"]})
    bounded = {"write.metadata.previous-versions-max": "1", "write.metadata.delete-after-commit.enabled": "true"}
    table = send("/db/tables", {"name": "t", "schema": SCHEMA_JSON, "properties": bounded})
    first = table["metadata-location"]
    assert files() == [first]
    second = send("/db/tables/t", setting(a="b"))["metadata-location"]
    third = send("/db/tables/t", setting(**{"write.metadata.compression-codec": "gzip"}))["metadata-location"]
    assert files() == sorted([second, third])
    assert third.endswith(".gz.metadata.json")
    loaded = visitor.get(f"{V1}/namespaces/db/tables/t").data
    assert (loaded["metadata-location"], loaded["metadata"]["properties"]["a"]) == (third, "b")
    assert visitor.send("DELETE", f"{V1}/namespaces/db/tables/t?purgeRequested=true", None, {}).status == 204
    assert [each for each in files() if each in (second, third)] == []
