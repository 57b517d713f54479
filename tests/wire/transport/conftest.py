"""An echo server in its own process, and clients in every wire format."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport

from thrift_idl.gen.fb303.FacebookService import Client

ECHO = Path(__file__).with_name("echo.py")
ROOT = ECHO.parents[3]
PATIENCE = 10.0  # time limit in seconds for anything that should happen at once

WIRE_FORMATS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "binary": (TBufferedTransport, TBinaryProtocol),
    "old binary": (TBufferedTransport, lambda transport: TBinaryProtocol(transport, strictWrite=False)),
    "framed binary": (lambda sock: TFramedTransport(sock, 2**29), TBinaryProtocol),
    "compact": (TBufferedTransport, TCompactProtocol),
    "framed compact": (lambda sock: TFramedTransport(sock, 2**29), TCompactProtocol),
}


def eventually(condition: Callable[[], bool]) -> bool:
    """Repeats a check until it is true or the time limit has passed."""
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return result


class EchoServer:
    """A running server, its log so far, and the connections to it."""

    def __init__(self, **options: Any) -> None:
        command = [sys.executable, str(ECHO), json.dumps({"port": 0, **options})]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT)},
            text=True,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._opened: list[socket.socket | TSocket] = []
        self.port = int(self.process.stdout.readline() or 0)

    def _read(self) -> None:
        for line in self.process.stderr:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify_all()

    @property
    def log(self) -> str:
        with self._changed:
            return "\n".join(self._lines)

    def wait_for_log(self, text: str, times: int = 1) -> None:
        with self._changed:
            actual = self._changed.wait_for(lambda: "\n".join(self._lines).count(text) >= times, PATIENCE)
            assert actual, f"{text!r} is not {times} times in the log:\n" + "\n".join(self._lines)

    def connect(self) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        self._opened.append(sock)
        return sock

    def client(self, wire_format: str = "binary", source: str = "127.0.0.1") -> Client:
        """Returns a connected client, from a source address. Its attribute `socket` is the underlying socket."""
        transport, protocol = WIRE_FORMATS[wire_format]
        sock = TSocket("127.0.0.1", self.port)
        sock.setTimeout(PATIENCE * 1000)
        sock.setHandle(socket.create_connection(("127.0.0.1", self.port), PATIENCE, (source, 0)))
        self._opened.append(sock)
        client = Client(protocol(transport(sock)))
        client.socket = sock.handle
        return client

    def refuses(self) -> bool:
        """Returns whether the port is closed."""
        try:
            self.connect()
        except ConnectionError:
            return True
        return False

    def wait(self) -> int:
        """Waits until the server, and all processes that write its log, have ended. Returns the exit status."""
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert not self._reader.is_alive(), "a worker outlives its supervisor"
        return status

    def close(self) -> None:
        for each in self._opened:
            each.close()
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class BlockedCall:
    """A call that has begun, and ends when the test tells it to."""

    def __init__(self, server: EchoServer, folder: Path) -> None:
        for name in ("in", "go"):
            os.mkfifo(folder / name)
        self._folder = folder
        self.socket = server.connect()
        self.socket.sendall(blocking(folder))
        (folder / "in").read_text()  # returns when the server has opened the pipe, too

    def release(self) -> bytes:
        """Ends the call. Returns its reply, or b"" without one."""
        (self._folder / "go").write_text("")
        return self.socket.recv(4096)


def blocking(folder: Path) -> bytes:
    from .messages import call

    return call(f"block {folder}")


@pytest.fixture
def serve_echo() -> Iterator[Callable[..., EchoServer]]:
    """Starts servers with these options."""
    servers: list[EchoServer] = []

    def start(**options: Any) -> EchoServer:
        servers.append(EchoServer(**options))
        return servers[-1]

    yield start
    for echo_server in servers:
        echo_server.close()


@pytest.fixture(scope="module")
def server() -> Iterator[EchoServer]:
    """One server with two workers, for tests that do not disturb it."""
    echo = EchoServer(workers=2, max_message_bytes=2**20, max_container_length=1000)
    yield echo
    echo.close()
