"""Requests with an Idempotency-Key are carried out once, whichever server gets the repetition."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.fixtures.server import running
from tests.wire.builders import unique
from tests.wire.console.conftest import Console
from tests.wire.console.visiting import Reply, Visitor
from tests.wire.iceberg.conftest import V1
from tests.wire.iceberg.test_writing import SCHEMA_JSON, created, metadata_files, setting
from tests.wire.monitoring.pages import HTTP

Send = Callable[..., Reply]


def send(console: Console, method: str, path: str, body: Any, key: str) -> Reply:
    text = None if body is None else json.dumps(body)
    return console.visitor().send(method, f"{V1}/{path}", text, {"Idempotency-Key": key})


def new_key() -> str:
    return str(uuid4())


@pytest.fixture
def namespace(console: Console) -> str:
    name, key = unique("repeated"), new_key()
    replies = [send(console, "POST", "namespaces", {"namespace": [name]}, key) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 200]
    assert replies[1].data["namespace"] == [name]
    return name


def test_a_repeated_request_gets_the_same_answer(console: Console, namespace: str) -> None:
    path, table = f"namespaces/{namespace}/tables", {"name": "t", "schema": SCHEMA_JSON}
    key = new_key()
    made, again = (send(console, "POST", path, table, key) for _ in range(2))
    assert (made.status, again.data, again.headers["etag"]) == (200, made.data, made.headers["etag"])
    key = new_key()
    change = setting(a="b")
    first = send(console, "POST", f"{path}/t", change, key)
    console.visitor().send("POST", f"{V1}/{path}/t", json.dumps(setting(a="c")), {})
    second = send(console, "POST", f"{path}/t", change, key)
    assert second.data == first.data  # of that time: the client looks at the present state itself
    assert len(metadata_files(made.data)) == 3
    other = send(console, "POST", f"{path}/t", setting(x="y"), key)
    assert (other.status, other.data["error"]["type"]) == (422, "UnprocessableEntityException")


def test_answers_without_a_body(console: Console, namespace: str) -> None:
    created(console, namespace)
    source, target = ({"namespace": [namespace], "name": name} for name in "tu")
    path = f"namespaces/{namespace}/tables/u"
    transaction = {"table-changes": [{"identifier": target} | setting(n="1")]}
    requests: list[tuple[str, str, Any]] = [
        ("POST", "tables/rename", {"source": source, "destination": target}),
        ("POST", "transactions/commit", transaction),
        ("DELETE", path, None),
        ("DELETE", f"namespaces/{namespace}", None),
    ]
    for request in requests:
        key = new_key()
        assert [send(console, *request, key).status for _ in range(2)] == [204, 204]
    assert send(console, "DELETE", path, None, new_key()).status == 404


def test_properties_of_a_namespace(console: Console, namespace: str) -> None:
    key, change = new_key(), {"updates": {"a": "b"}, "removals": ["none"]}
    replies = [send(console, "POST", f"namespaces/{namespace}/properties", change, key) for _ in range(2)]
    assert replies[0].data == replies[1].data == {"updated": ["a"], "removed": [], "missing": ["none"]}


def test_a_failed_request_does_not_succeed_later(console: Console, namespace: str) -> None:
    """Its client has deleted its files: the specification finalises failures that are certain."""
    key, path = new_key(), f"namespaces/{namespace}/tables/t"
    first = send(console, "POST", path, setting(a="b"), key)
    assert first.status == 404
    created(console, namespace)
    again = send(console, "POST", path, setting(a="b"), key)
    assert (again.status, again.data) == (404, first.data)
    assert send(console, "POST", path, setting(a="c"), key).status == 422
    assert send(console, "POST", path, setting(a="b"), new_key()).status == 200
    key, missing = new_key(), {"requirements": [{"type": "assert-current-schema-id", "current-schema-id": 1}]}
    conflict = setting(a="d") | missing
    assert send(console, "POST", path, conflict, key).status == 409
    changed = {"updates": [{"action": "add-schema", "schema": SCHEMA_JSON | {"identifier-field-ids": [1]}}]}
    changed["updates"][0]["schema"] = {"type": "struct", "fields": [{**SCHEMA_JSON["fields"][0], "name": "new"}]}
    changed["updates"].append({"action": "set-current-schema", "schema-id": -1})
    assert send(console, "POST", path, changed, new_key()).data["metadata"]["current-schema-id"] == 1
    assert send(console, "POST", path, conflict, key).status == 409
    assert send(console, "POST", path, conflict, new_key()).status == 200
    bad = send(console, "POST", path, setting(a="b"), "no-uuid")
    assert (bad.status, bad.data["error"]["type"]) == (400, "BadRequestException")


def test_requests_at_the_same_time(console: Console, namespace: str) -> None:
    table = created(console, namespace)
    key, path = new_key(), f"namespaces/{namespace}/tables/t"
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda _: send(console, "POST", path, setting(a="b"), key), range(8)))
    assert [reply.status for reply in replies] == [200] * 8
    assert len({reply.data["metadata-location"] for reply in replies}) == 1
    assert len(metadata_files(table)) == 2


def test_another_server_answers_the_repetition(console: Console, namespace: str, tmp_path: Path) -> None:
    table = created(console, namespace)
    key, path = new_key(), f"namespaces/{namespace}/tables/t"
    first = send(console, "POST", path, setting(a="b"), key)
    home = console.server.warehouse.removeprefix("file:")
    options = ["--http-port", "0", "--allowed-locations", f"file:{home}"]
    with running(console.server.database_url, tmp_path, *options) as server:
        match = HTTP.search(server.ready)
        assert match
        headers = {"Idempotency-Key": key}
        again = Visitor(match[1].rstrip("/")).send("POST", f"{V1}/{path}", json.dumps(setting(a="b")), headers)
    assert again.data == first.data
    assert len(metadata_files(table)) == 2
