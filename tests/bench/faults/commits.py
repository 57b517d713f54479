"""A proxy in front of PostgreSQL that drops one COMMIT, or its reply."""

from __future__ import annotations

import contextlib
import socket
import threading

from metastore.storage.queries.file_operations import ASYNCHRONOUS_COMMIT
from tests.fixtures.proxy import Proxy

_BY_ITSELF = ASYNCHRONOUS_COMMIT.encode()


class CommitDroppingProxy(Proxy):
    """Counts the commits of all connections."""

    def __init__(self, database_url: str) -> None:
        self._lock = threading.Lock()
        self._left, self._arrives, self._struck = 0, True, False
        super().__init__(database_url)

    def arm(self, number: int, *, arrives: bool) -> None:
        """Drops the nth commit from now on, or (if it is to arrive) its reply."""
        with self._lock:
            self._left, self._arrives, self._struck = number, arrives, False

    def disarm(self) -> bool:
        """Returns whether a commit or reply was dropped."""
        with self._lock:
            self._left = 0
            return self._struck

    def _strikes(self, data: bytes) -> bool:
        if not (data.endswith(b"COMMIT\0") or (_BY_ITSELF in data and b"BEGIN" not in data)):
            return False
        with self._lock:
            self._left -= 1
            self._struck = self._struck or self._left == 0
            return self._left == 0

    def _serve(self, client: socket.socket) -> None:
        with client, self._connect() as server:
            self._open += [client, server]
            silent = threading.Event()
            answered = threading.Event()
            threading.Thread(target=self._back, args=(server, client, silent, answered), daemon=True).start()
            with contextlib.suppress(OSError):
                while data := client.recv(2**16):
                    if self._strikes(data):
                        silent.set()
                        if self._arrives:
                            server.sendall(data)
                            answered.wait(30)
                        break
                    server.sendall(data)
            for each in (client, server):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _back(
        self, server: socket.socket, client: socket.socket, silent: threading.Event, answered: threading.Event
    ) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(2**16):
                if silent.is_set():
                    answered.set()
                    return
                client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
