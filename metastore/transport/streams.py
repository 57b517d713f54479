"""Byte streams between the socket and Thrift. No stream blocks."""

from __future__ import annotations

import array
import fcntl
import termios
from collections.abc import Sequence
from typing import Final, Protocol

_MAX_PIECE: Final = 2**18  # bytes of a reply that TLS or SASL processes at once

Chunk = bytes | memoryview


class Source(Protocol):
    """Where bytes are received."""

    def recv(self, size: int, /) -> bytes:
        """Returns received bytes; empty at the end of the stream. Raises BlockingIOError if there are none, OSError."""


class Stream(Source, Protocol):
    """A non-blocking byte stream: a socket, or TLS or SASL on top of another stream."""

    def sendmsg(self, chunks: Sequence[Chunk], /) -> int:
        """Sends a prefix of the chunks and returns its length in bytes.

        Raises BlockingIOError if the socket is full; then it must be called again with the same bytes, perhaps with
        more behind them. Raises OSError if the connection is lost.
        """


def first_piece(chunks: Sequence[Chunk]) -> Chunk:
    """Returns a prefix of the chunks as one piece: joins small chunks and cuts a large one."""
    first = chunks[0]
    if len(first) > _MAX_PIECE:
        return memoryview(first)[:_MAX_PIECE]
    if len(chunks) == 1:
        return first
    size, count = 0, 0
    while count < len(chunks) and size + len(chunks[count]) <= _MAX_PIECE:
        size += len(chunks[count])
        count += 1
    return b"".join(chunks[:count])


def unacknowledged(descriptor: int) -> int:
    """Returns the bytes in the send buffer of a socket, which the peer's kernel has not accepted (tcp(7), SIOCOUTQ).

    The kernel reports a socket as writable only when a third of the buffer is free. That is a megabyte, which a client
    may need several seconds to read. The bytes in the buffer show its progress earlier.
    """
    size = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.TIOCOUTQ, size)
    return size[0]
