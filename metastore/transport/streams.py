"""What may lie between a socket and Thrift's bytes. Nothing here waits: what the socket does not take stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

_PIECE: Final = 2**18  # bytes of a reply that a layer works on at once

Chunk = bytes | memoryview


class Stream(Protocol):
    """A stream of bytes in both directions, over the one below it, which may be the socket itself."""

    def recv(self, size: int, /) -> bytes:
        """Bytes that have arrived; none: the end. Raises BlockingIOError where there is nothing, OSError."""

    def sendmsg(self, chunks: Sequence[Chunk], /) -> int:
        """Sends the begin of these; returns how many bytes it has taken.

        Raises BlockingIOError where the socket has not taken them, to be called again with the same, or more behind
        them; OSError.
        """


def first_piece(chunks: Sequence[Chunk]) -> Chunk:
    """Returns the begin of these as one: small chunks together, of a large one a part."""
    first = chunks[0]
    if len(first) > _PIECE:
        return memoryview(first)[:_PIECE]
    if len(chunks) == 1:
        return first
    size, count = 0, 0
    while count < len(chunks) and size + len(chunks[count]) <= _PIECE:
        size += len(chunks[count])
        count += 1
    return b"".join(chunks[:count])
