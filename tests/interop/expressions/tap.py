"""A proxy between a client and a metastore that forwards every message, and records the expressions on partitions."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TTransportBase

from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

METHODS: dict[str, Callable[[Any], list[bytes]]] = {
    "get_partitions_by_expr": lambda arguments: [arguments.req.expr],
    "get_partitions_spec_by_expr": lambda arguments: [arguments.req.expr],
    "get_partition_names_req": lambda arguments: [arguments.req.expr],
    "drop_partitions_req": lambda arguments: [expr.expr for expr in arguments.req.parts.exprs or []],
}


class Tap:
    """Listens on a free port of the loopback interface. `seen` receives the method and the bytes of each expression."""

    def __init__(self, host: str, port: int) -> None:
        self.seen: list[tuple[str, bytes]] = []
        self._target = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        """The address for clients."""
        return f"thrift://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Stops accepting connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            threading.Thread(target=_pump, args=(server, client), daemon=True).start()
            threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            kept = _Kept(client)
            while True:
                try:
                    self._message(kept)
                except EOFError:
                    return
                server.sendall(kept.taken())

    def _message(self, kept: _Kept) -> None:
        protocol = TBinaryProtocol(kept)
        name, _, _ = protocol.readMessageBegin()
        if name in METHODS:
            arguments = getattr(ThriftHiveMetastore, f"{name}_args")()
            arguments.read(protocol)
            self.seen += [(name, data) for data in METHODS[name](arguments)]
        else:
            protocol.skip(TType.STRUCT)


class _Kept(TTransportBase):  # type: ignore[misc] # Thrift has no types
    """Reads from a socket and keeps what was read."""

    def __init__(self, source: socket.socket) -> None:
        self._file = source.makefile("rb")
        self._read: list[bytes] = []

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise EOFError
        self._read.append(data)
        return data

    readAll = read  # noqa: N815 # Thrift's name

    def taken(self) -> bytes:
        data = b"".join(self._read)
        self._read.clear()
        return data


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        return


@contextmanager
def tapped(host: str, port: int) -> Iterator[Tap]:
    """Starts the proxy in front of a metastore."""
    tap = Tap(host, port)
    try:
        yield tap
    finally:
        tap.close()
