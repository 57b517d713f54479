"""Raw load: requests are encoded once and replies are not decoded, so that the measured time is the server's.

A request of which the size of the reply is not known is followed by a `getName` on the same connection. Its reply is
known, and marks the end of the first reply.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Protocol

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer

from thrift_idl.gen.metastore import Metastore

_MARK = 0x5EA1
_PIECE = 1 << 20
_RECORD = 1 << 14  # a TLS record: no read returns more, whatever the buffer


class Address(Protocol):
    """The address of a server."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


def encode(name: str, *arguments: Any, sequence: int = 1) -> bytes:
    """Returns the bytes of a call, as all clients send them."""
    buffer = TMemoryBuffer()
    client = Metastore.Client(TBinaryProtocolAccelerated(buffer))
    client._seqid = sequence
    getattr(client, f"send_{name}")(*arguments)
    return bytes(buffer.getvalue())


class Connection:
    """A connection that makes one call after another."""

    def __init__(self, server: Address, tls: ssl.SSLContext | None = None) -> None:
        self._socket = socket.create_connection((server.host, server.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._most = _RECORD if tls else _PIECE
        if tls:
            self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
        self._mark = encode("getName", sequence=_MARK)
        self._socket.sendall(self._mark)
        # Version, name and sequence id have 19 bytes, the field's header 3, the length of its text 4.
        head = self._exactly(26)
        self._tail = head + self._exactly(int.from_bytes(head[-4:], "big") + 1)

    def call(self, request: bytes) -> int:
        """Makes a call. Returns the size of its reply in bytes. Raises RuntimeError if the reply is an exception."""
        self._socket.sendall(request + self._mark)
        start = last = self._piece()
        size = len(start)
        while not last.endswith(self._tail):
            piece = self._piece()
            last = last[-len(self._tail) :] + piece
            size += len(piece)
        _require_success(start)
        return size - len(self._tail)

    def repeat(self, request: bytes, size: int) -> None:
        """Makes a call whose reply has this size. Raises RuntimeError if the reply is another one."""
        self._socket.sendall(request)
        start = last = self._piece()
        missing = size - len(start)
        while missing > 0:
            last = self._piece()
            missing -= len(last)
        _require_success(start)
        if missing or last[-1] != TType.STOP:
            raise RuntimeError(f"a reply of {size - missing} bytes instead of {size}")

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += self._piece(count - len(data))
        return data

    def _piece(self, most: int = _PIECE) -> bytes:
        data = self._socket.recv(min(most, self._most))
        if not data:
            raise EOFError("the server closed the connection")
        return data


def _require_success(reply: bytes) -> None:
    name = int.from_bytes(reply[4:8], "big")
    kind, *field = reply[12 + name : 15 + name]
    if reply[3] != TMessageType.REPLY or (kind != TType.STOP and field != [0, 0]):
        raise RuntimeError(f"the call failed: {reply[:300]!r}")


@dataclass(frozen=True)
class Timing:
    """Figures of many calls: calls a second, and milliseconds of one call."""

    per_second: float
    p50: float
    p99: float
    calls: int


def timing(latencies: Sequence[float], elapsed: float) -> Timing:
    """Returns the figures. `latencies`: seconds of each call. `elapsed`: seconds of all calls together."""
    ordered = sorted(latencies)
    p50, p99 = (1000 * ordered[int(len(ordered) * part)] for part in (0.5, 0.99))
    return Timing(len(ordered) / elapsed, p50, p99, len(ordered))


def spread(server: Address, requests: Iterator[bytes], connections: int) -> Timing:
    """Makes each request once, over several connections. With one connection, the time for making requests is not
    counted.
    """
    latencies: list[float] = []
    failures: list[Exception] = []
    turn, start = threading.Lock(), time.perf_counter()

    def work() -> None:
        try:
            with closing(Connection(server)) as connection:
                while True:
                    with turn:
                        request = next(requests, None)
                    if request is None:
                        return
                    latencies.append(_timed(connection, request))
        except Exception as error:  # noqa: BLE001 - raised below
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return timing(latencies, sum(latencies) if connections == 1 else time.perf_counter() - start)


class Load:
    """One request, repeated over several connections, and measured in several rounds.

    One of `before`, in turn, is called before each request, and not timed. The size of the reply depends on it only.
    """

    def __init__(
        self,
        server: Address,
        request: bytes,
        connections: int,
        before: Sequence[bytes] = (),
        *,
        tls: ssl.SSLContext | None = None,
        first: bytes | None = None,
    ) -> None:
        """`first`: the first call of each connection."""
        self._connections = [Connection(server, tls) for _ in range(connections)]
        for connection in self._connections if first else ():
            connection.call(first or b"")
        self._request = request
        self._changes = bool(before)
        self._turns = cycle(self._with_sizes(before or [b""]))
        self._latencies: list[float] = []
        self._elapsed = 0.0
        self.reply_bytes = self._connections[0].call(request)

    def round(self, seconds: float, *, counts: bool = True) -> None:
        """Makes calls for this time, at least one on each connection. Without `counts`, the round only warms up."""
        latencies: list[float] = []
        start = time.perf_counter()

        def work(connection: Connection) -> None:
            while True:
                change, size = next(self._turns)
                if change:
                    connection.call(change)
                begun = time.perf_counter()
                connection.repeat(self._request, size)
                latencies.append(time.perf_counter() - begun)
                if time.perf_counter() > start + seconds:
                    return

        threads = [threading.Thread(target=work, args=(each,)) for each in self._connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if counts:
            self._latencies += latencies
            waited = sum(latencies) / len(self._connections)
            self._elapsed += waited if self._changes else time.perf_counter() - start

    def _with_sizes(self, before: Sequence[bytes]) -> list[tuple[bytes, int]]:
        connection, sizes = self._connections[0], []
        for change in before:
            if change:
                connection.call(change)
            sizes.append(connection.call(self._request))
        return list(zip(before, sizes, strict=True))

    @property
    def calls(self) -> int:
        """Number of calls that were counted."""
        return len(self._latencies)

    def result(self) -> Timing:
        """Returns the figures of all rounds, and closes the connections."""
        for connection in self._connections:
            connection.close()
        return timing(self._latencies, self._elapsed)


def _timed(connection: Connection, request: bytes) -> float:
    start = time.perf_counter()
    connection.call(request)
    return time.perf_counter() - start
