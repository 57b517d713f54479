"""What may lie between a socket and Thrift's bytes. Nothing here waits: what the socket does not take stays."""

from __future__ import annotations

import socket
from typing import Final, Protocol

from thrift.transport.TTransport import TTransportException

from metastore.transport.buffers import Head, ReplyWriter

_PIECE: Final = 2**18  # bytes of a reply that a layer works on at once


class Layer(Protocol):
    """A stream of bytes in both directions, over the one below it."""

    @property
    def held(self) -> int:
        """Bytes that have arrived and cannot be read yet."""

    def recv(self, size: int, /) -> bytes:
        """Bytes that have arrived; none: the end. Raises BlockingIOError where there is nothing, OSError."""

    def put(self, data: bytes | memoryview) -> None:
        """Has bytes sent, once `flush` is called."""

    def flush(self) -> None:
        """Sends. Raises BlockingIOError where the socket has not taken all (to be called again), OSError."""


class Wire:
    """The lowest layer: the socket itself."""

    held = 0

    def __init__(self, sock: socket.socket) -> None:
        self.recv = sock.recv
        self._send = sock.send
        self._waiting: list[bytes | memoryview] = []

    def put(self, data: bytes | memoryview) -> None:
        if data:
            self._waiting.append(data)

    def flush(self) -> None:
        waiting = self._waiting
        while waiting:
            first = waiting[0]
            sent = self._send(first)
            if sent == len(first):
                del waiting[0]
            else:
                waiting[0] = memoryview(first)[sent:]


class LayeredWriter(ReplyWriter):
    """Sends replies through a layer, a piece at a time: the next is worked on when the socket has taken the last."""

    def __init__(self, layer: Layer, head: Head | None) -> None:
        super().__init__(None, framed=False)
        self._head = head
        self._layer = layer
        self._under_way = 0  # bytes that the layer has been given and the socket has not taken

    def send(self) -> None:
        """Sends what the socket takes. Raises TTransportException when the peer is gone."""
        try:
            while self.pending:
                if not self._under_way:
                    piece = self._take()
                    self._layer.put(piece)
                    self._under_way = len(piece)
                self._layer.flush()
                self.pending -= self._under_way
                self.sent += self._under_way
                self._under_way = 0
        except BlockingIOError:
            pass
        except OSError as error:
            raise TTransportException(TTransportException.NOT_OPEN, f"lost: {error.strerror}") from error

    def write_head(self) -> None:
        """Writes the head of a reply that has nothing behind it."""
        if self._head is not None:
            self._headed = True
            self.write(self._head(0))

    def _take(self) -> bytes | memoryview:
        """Returns the next piece: small chunks together, of a large one a part."""
        chunks, size, count = self._chunks, 0, 0
        if self.pending <= _PIECE:
            self._chunks = []
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        while count < len(chunks) and size + len(chunks[count]) <= _PIECE:
            size += len(chunks[count])
            count += 1
        if not count:
            first = memoryview(chunks[0])
            chunks[0] = first[_PIECE:]
            return first[:_PIECE]
        piece = chunks[0] if count == 1 else b"".join(chunks[:count])
        del chunks[:count]
        return piece
