"""A stream outlives the limits of other connections of the HTTP port."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest
from starlette.types import Receive, Scope, Send

from metastore.web import server
from metastore.web.server import STREAM
from tests.fixtures.http_port import PATIENCE, http_port


class Application:
    """Answers `/stream` by a stream that sends a line whenever `line` is called, and nothing else."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[STREAM] = scope["path"] == "/stream"
        self._loop = asyncio.get_running_loop()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun\n", "more_body": True})
        sending = asyncio.ensure_future(self._send_lines(scope, send))
        while (await receive())["type"] != "http.disconnect":
            pass
        sending.cancel()

    async def _send_lines(self, scope: Scope, send: Send) -> None:
        while scope[STREAM]:
            line = await self._lines.get()
            await send({"type": "http.response.body", "body": line, "more_body": True})

    def line(self, text: bytes) -> None:
        assert self._loop
        self._loop.call_soon_threadsafe(self._lines.put_nowait, text)


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def port(application: Application, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A port with the application, whose connections live for a moment."""
    monkeypatch.setattr(server, "_MAX_SECONDS", 0.2)
    monkeypatch.setattr(server, "_MAX_CONNECTIONS", 2)
    with http_port(application) as number:
        yield number


def opened(port: int, path: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    received(connection, b"begun\n")
    return connection


def received(connection: socket.socket, text: bytes) -> None:
    data = b""
    while text not in data:
        part = connection.recv(4096)
        assert part, "the connection was closed"
        data += part


def is_closed_by_the_server(connection: socket.socket) -> bool:
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


def test_a_stream_lives_longer_than_other_connections(application: Application, port: int) -> None:
    with opened(port, "/stream") as stream, opened(port, "/other") as other:
        assert is_closed_by_the_server(other)
        application.line(b"later\n")
        received(stream, b"later\n")


def test_new_connections_close_no_stream(application: Application, port: int) -> None:
    with opened(port, "/stream") as stream:
        others = [opened(port, "/other") for _ in range(3)]
        assert is_closed_by_the_server(others[0])
        application.line(b"still\n")
        received(stream, b"still\n")
        for each in others:
            each.close()
