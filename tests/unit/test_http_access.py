"""Access control of the HTTP port, without a server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from metastore.web.access import OPEN_PATHS, AccessControl


def status(path: str, headers: dict[str, str], address: str = "10.0.0.5", token: str | None = "secret") -> int:
    """Returns the status of a GET request: 200 if it reaches the application."""
    sent: list[dict[str, Any]] = []

    async def application(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "server": (address, 9084),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }
    control = AccessControl(application, token=token, allowed_hosts=["metastore.example"])

    async def receive() -> Any:
        raise AssertionError("the request has no body")

    asyncio.run(control(scope, receive, send))
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("host", "address", "expected"),
    [
        ("10.0.0.5:9084", "10.0.0.5", 200),
        ("10.0.0.5", "::ffff:10.0.0.5", 200),
        ("[::1]:9084", "::1", 200),
        ("[0:0:0:0:0:0:0:1]", "::1", 200),
        ("LOCALHOST:1", "10.0.0.5", 200),
        ("metastore.example:80", "10.0.0.5", 200),
        ("10.0.0.6:9084", "10.0.0.5", 403),
        ("rebound.example", "10.0.0.5", 403),
        ("metastore.example.evil", "10.0.0.5", 403),
        ("evil@rebound.example", "10.0.0.5", 403),
        ("[::1", "::1", 403),
        (f"{'u' * 300}@localhost", "10.0.0.5", 403),
        ("", "", 403),
    ],
)
def test_hosts(host: str, address: str, expected: int) -> None:
    assert status("/calls/now", {"Host": host, "Authorization": "Bearer secret"}, address) == expected


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ("Bearer secret", 200),
        ("bearer secret", 200),
        ("Bearer secre", 401),
        ("Bearer \u00fc", 401),
        ("Basic secret", 401),
        ("secret", 401),
        ("", 401),
    ],
)
def test_tokens(authorization: str, expected: int) -> None:
    assert status("/calls/now", {"Host": "localhost", "Authorization": authorization}) == expected


def test_without_a_token_every_request_is_rejected() -> None:
    for authorization in ("Bearer ", "Bearer None", ""):
        assert status("/calls/now", {"Host": "localhost", "Authorization": authorization}, token=None) == 401


def test_only_the_open_paths_need_neither() -> None:
    assert all(status(path, {}) == 200 for path in OPEN_PATHS)
    assert status("/metrics/", {}) == 403
    assert status("/calls", {"Host": "localhost"}) == 401
    assert status("/callsx", {"Host": "localhost"}) == 200  # of the console, which authenticates users itself
    assert status("//metrics", {}) == 403
