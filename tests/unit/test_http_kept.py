"""Connections of the HTTP port that serve several requests."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from starlette.types import Receive, Scope, Send

from metastore.web import server
from metastore.web.server import KEPT
from tests.fixtures.http_port import PATIENCE, http_port


class Application:
    """Keeps the connections of `/kept`. Answers `/later` when `released` is set."""

    def __init__(self) -> None:
        self.waiting, self.released = threading.Event(), threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "http.request"
        scope[KEPT] = scope["path"] == "/kept"
        if scope["path"] == "/later":
            self.waiting.set()
            await asyncio.to_thread(self.released.wait, PATIENCE)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def port(application: Application) -> Iterator[int]:
    with http_port(application) as number:
        yield number


Connection = http.client.HTTPConnection


@pytest.fixture
def opened(port: int) -> Iterator[Callable[[], Connection]]:
    """Opens connections, and closes them at the end."""
    with ExitStack() as stack:

        def open_one() -> Connection:
            connection = Connection("127.0.0.1", port, timeout=PATIENCE)
            stack.callback(connection.close)
            connection.connect()
            return connection

        yield open_one


def asked(connection: Connection, path: str) -> dict[str, str]:
    """Sends a request by this connection only. Returns the headers of the response."""
    connection.auto_open = 0
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    return {name.lower(): value for name, value in response.getheaders()}


def is_closed(connection: Connection) -> bool:
    """Waits for the end of a connection. The time limit of the socket ends a failure."""
    return connection.sock is None or connection.sock.recv(1) == b""


def test_only_some_connections_are_kept(opened: Callable[[], Connection]) -> None:
    connection = opened()
    for _ in range(3):
        headers = asked(connection, "/kept")
        assert (headers.get("keep-alive"), headers.get("connection")) == ("timeout=5", None)
    assert asked(connection, "/other")["connection"] == "close"
    assert is_closed(connection)


def test_an_idle_connection_ends(opened: Callable[[], Connection], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_MAX_SECONDS", 0.1)
    connection = opened()
    asked(connection, "/kept")
    assert is_closed(connection)


def test_a_request_that_is_never_complete_ends_its_connection(
    opened: Callable[[], Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = opened()
    asked(connection, "/kept")
    monkeypatch.setattr(server, "_MAX_SECONDS", 0.1)
    connection.sock.sendall(b"GET /kept HTTP/1.1\r\nHost:")
    assert is_closed(connection)


def test_a_connection_has_a_longest_lifetime(opened: Callable[[], Connection], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_MAX_LIFETIME", 0.0)
    assert asked(opened(), "/kept")["connection"] == "close"


def test_idle_connections_make_room_first(
    application: Application, opened: Callable[[], Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_MAX_CONNECTIONS", 2)
    busy = opened()
    busy.request("GET", "/later")
    assert application.waiting.wait(PATIENCE)
    idle = opened()
    asked(idle, "/kept")
    asked(opened(), "/other")
    assert is_closed(idle)
    application.released.set()
    assert busy.getresponse().status == 200
