"""A minimal metastore on a real socket that can be made to misbehave."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from thrift_idl.gen.metastore import Metastore


class HangUp(BaseException):
    """Raised by a handler to close the connection without a reply."""


class ScriptedServer:
    """Serves `handler` (an object whose methods are the calls), and records connections and calls."""

    def __init__(self, handler: Any) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._processor = Metastore.Processor(_Recording(self, handler))
        self._connections: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.calls: list[str] = []
        self.users: list[str] = []
        self._start(self._accept)

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def connections(self) -> int:
        return len(self._connections)

    def hang_up(self) -> None:
        """Closes every connection. New ones are accepted."""
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(timeout=10)

    def _start(self, target: Any, *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        handle = TSocket()
        handle.setHandle(connection)
        protocol = TBinaryProtocol(TBufferedTransport(handle))
        with suppress(TTransportException, OSError, EOFError, HangUp):
            while True:
                self._processor.process(protocol, protocol)
        connection.close()


class _Recording:
    def __init__(self, server: ScriptedServer, handler: Any) -> None:
        self._server = server
        self._handler = handler

    def set_ugi(self, user: str, groups: list[str]) -> list[str]:
        self._server.users.append(user)
        return groups

    def __getattr__(self, name: str) -> Any:
        self._server.calls.append(name)
        return getattr(self._handler, name)


@contextmanager
def serving(handler: Any) -> Iterator[ScriptedServer]:
    server = ScriptedServer(handler)
    try:
        yield server
    finally:
        server.stop()
