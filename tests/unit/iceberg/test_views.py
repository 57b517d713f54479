"""Updates of the metadata of Iceberg's views."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metastore.iceberg.errors import RestError
from metastore.iceberg.views import committed_view, created_view

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "a", "required": False, "type": "long"}]}
NOW = 1_700_000_000_000


def version(number: int, sql: str = "SELECT 1", dialect: str = "spark", **more: Any) -> dict[str, Any]:
    representation = {"type": "sql", "sql": sql, "dialect": dialect}
    given = {"version-id": number, "schema-id": 0, "timestamp-ms": NOW + number, "summary": {}}
    return given | {"default-namespace": ["db"], "representations": [representation]} | more


def new_view(**properties: str) -> bytes:
    request = {"name": "v", "schema": SCHEMA, "view-version": version(1), "properties": properties}
    return created_view(request, "s3://lake/v", "u", NOW)


def commit(content: bytes, *updates: dict[str, Any]) -> dict[str, Any]:
    result = committed_view(content, "m", [{"type": "assert-view-uuid", "uuid": "u"}], updates, NOW + 100)
    assert result is not None
    return dict(json.loads(result))


def replaced(number: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"action": "add-view-version", "view-version": version(number, f"SELECT {number}", **more)},
        {"action": "set-current-view-version", "view-version-id": -1},
    ]


def test_a_new_view() -> None:
    view = json.loads(new_view(a="b"))
    assert (view["view-uuid"], view["format-version"], view["current-version-id"]) == ("u", 1, 1)
    assert view["version-log"] == [{"timestamp-ms": NOW + 1, "version-id": 1}]
    assert (view["schemas"][0]["schema-id"], view["properties"]) == (0, {"a": "b"})


def test_a_replaced_view_keeps_its_history() -> None:
    after = commit(new_view(), *replaced(2))
    assert (after["current-version-id"], len(after["versions"]), len(after["version-log"])) == (2, 2, 2)
    back = commit(json.dumps(after).encode(), {"action": "set-current-view-version", "view-version-id": 1})
    assert back["version-log"][-1] == {"timestamp-ms": NOW + 100, "version-id": 1}


def test_old_versions_expire() -> None:
    content = new_view(**{"version.history.num-entries": "2"})
    for number in (2, 3, 4):
        content = json.dumps(commit(content, *replaced(number))).encode()
    view = json.loads(content)
    assert [each["version-id"] for each in view["versions"]] == [3, 4]
    assert [each["version-id"] for each in view["version-log"]] == [3, 4]


def test_unknown_fields_survive() -> None:
    content = json.dumps({**json.loads(new_view()), "x-new": [1, {"a": None}]}).encode()
    assert commit(content, {"action": "set-location", "location": "s3://lake/w"})["x-new"] == [1, {"a": None}]


@pytest.mark.parametrize(
    ("updates", "status", "message"),
    [
        (replaced(2, dialect="trino"), 400, "loss of view dialects"),
        ([{"action": "add-snapshot"}], 400, "Unknown update of a view"),
        ([{"action": "set-current-view-version", "view-version-id": 7}], 400, "unknown version: 7"),
        ([{"action": "set-current-view-version", "view-version-id": -1}], 400, "no current version id"),
        ([{"action": "assign-uuid", "uuid": "other"}], 400, "Cannot reassign uuid"),
        (replaced(2, **{"schema-id": 9}), 400, "unknown schema: 9"),
        (replaced(2, representations=[]), 400, "type sql only"),
        ([{"action": "add-view-version", "view-version": {}}], 400, "schema-id is not a number"),
        ([{"action": "set-properties", "updates": {"version.history.num-entries": "0"}}], 400, "must be positive"),
    ],
)  # fmt: skip
def test_impossible_updates(updates: list[dict[str, Any]], status: int, message: str) -> None:
    with pytest.raises(RestError, match=message) as raised:
        commit(new_view(), *updates)
    assert raised.value.status == status


def test_another_view_is_a_conflict() -> None:
    with pytest.raises(RestError, match="view UUID does not match") as raised:
        committed_view(new_view(), "m", [{"type": "assert-view-uuid", "uuid": "other"}], [], NOW)
    assert raised.value.status == 409
