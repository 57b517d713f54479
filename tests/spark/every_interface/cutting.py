"""A proxy to a local port that breaks its connections repeatedly, at any byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class _Line:
    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[socket.socket] = []
        self._ends = threading.Event()
        self.cuts = 0

    def accept(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = server.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_carry, args=(one, other), daemon=True).start()

    def cut(self, every: float) -> None:
        while not self._ends.wait(every):
            ends, self._open = self._open, []
            self.cuts += bool(ends)
            for end in ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def end(self) -> None:
        self._ends.set()


def _carry(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while sent := one.recv(1 << 16):
            other.sendall(sent)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def cutting(port: int, every: float = 0.4) -> Iterator[int]:
    """Yields a port that leads to this one. Connections break after this number of seconds at most."""
    line = _Line(port)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=line.accept, args=(server,), daemon=True).start()
        threading.Thread(target=line.cut, args=(every,), daemon=True).start()
        try:
            yield int(server.getsockname()[1])
        finally:
            line.end()
            if not line.cuts:
                raise AssertionError("nothing was cut")
