"""The two ends of a socket as Thrift's protocols see them: messages that have arrived, replies that are to leave."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Final, Protocol

from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

from metastore.transport.memory import DecodingMemory, Memory

CHUNK: Final = 2**16  # what one look at a socket takes
_LARGE_CHUNK: Final = 2**20  # the same, of a message that is known to be large
SMALL_MESSAGE: Final = 2**13  # bytes, for which memory is not asked
_PIECE: Final = 2**16  # of a larger message that is decoded before memory is looked at again
_SEND_AT: Final = 2**18  # an unframed reply begins to leave whenever this much of it is there
_IOV_MAX: Final = os.sysconf("SC_IOV_MAX")
FRAME_HEADER: Final = struct.Struct("!i")

Head = Callable[[int], bytes]
"""What stands before a reply of so many bytes, where replies have something before them."""


class Source(Protocol):
    """Where bytes arrive: a non-blocking socket, or a layer over one."""

    def recv(self, size: int, /) -> bytes:
        """Receives as a socket does."""


class Sink(Protocol):
    """Where bytes leave."""

    def sendmsg(self, chunks: Sequence[bytes | memoryview], /) -> int:
        """Sends as a socket does. After a BlockingIOError, the same are sent, or more behind them."""


class IncompleteError(TTransportException):  # type: ignore[misc]
    """A message was decoded of which not all has arrived: nothing is wrong, it is decoded again when more is there."""


class MessageReader(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """Keeps what has arrived on a non-blocking socket, and lets a message be decoded out of it. Never waits.

    Thrift's C decoder reads `cstringio_buf` directly and calls `cstringio_refill` when it runs dry. A large message is
    shown to it in pieces, and before each, `memory` is asked: its objects take many times its bytes.

    Raises TTransportException: SIZE_LIMIT for what is larger than `limit` bytes or than its frame; IncompleteError.
    """

    def __init__(self, source: Source, *, limit: int, memory: Memory) -> None:
        self._source = source
        self.limit = self._full_limit = limit
        self._growth = DecodingMemory(memory)
        self._store = BytesIO()
        self._size = 0  # of the store
        self._start = 0  # of the message, in the store
        self._end: int | None = None  # of the message, once it is known
        self._shown = self._store  # what the decoder reads: the store itself, or a piece of it
        self._shown_end = 0  # where in the store the piece ends
        self._shown_size = 0
        self._head = 0  # bytes in front of the message that belong to its envelope; 0: it has none
        self._mark = 0

    def restrict(self, most: int) -> None:
        """Allows no more than so many bytes, as long as nobody is known."""
        self.limit = min(self.limit, most)

    def trust(self) -> None:
        """Allows what is allowed."""
        self.limit = self._full_limit

    @property
    def restricted(self) -> bool:
        """Whether less than that is allowed now."""
        return self.limit < self._full_limit

    @property
    def setting(self) -> str:
        """Where the limit is from, as a client is told it."""
        return "before somebody is known" if self.restricted else "METASTORE_MAX_MESSAGE_BYTES"

    @property
    def position(self) -> int:
        """Where in the store the next byte is read from."""
        if self._shown is self._store:
            return self._store.tell()
        return self._shown_end - (self._shown_size - self._shown.tell())

    @property
    def unread(self) -> int:
        """Bytes that have arrived and have not been read."""
        return self._size - self.position

    @property
    def store(self) -> BytesIO:
        """All that has arrived since the last message ended."""
        return self._store

    @property
    def size(self) -> int:
        """Bytes in the store."""
        return self._size

    @property
    def start(self) -> int:
        """Where the message begins in the store."""
        return self._start

    def receive(self) -> int | None:
        """Takes what the socket has, without waiting: the number of bytes; None: nothing; 0: the peer is gone."""
        try:
            data = self._source.recv(CHUNK if self._size < CHUNK else _LARGE_CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return 0
        if self._size and self.unread:
            at = self._store.tell()
            self._store.seek(0, os.SEEK_END)
            self._store.write(data)
            self._store.seek(at)
            self._size += len(data)
        else:
            self.replace(data)
        return len(data)

    def through(self, source: Source) -> bytes:
        """Lets all arrive through that from now on. Returns what has arrived and has not been read."""
        self._source = source
        left = self._store.read()
        self.replace(b"")
        return left

    def replace(self, data: bytes) -> None:
        """Forgets what has arrived; these bytes have, and a message begins with them."""
        self._growth.forget()
        self._store = self._shown = BytesIO(data)
        self._size, self._start, self._end, self._head = len(data), 0, None, 0

    def begin(self) -> None:
        """Starts a message here."""
        self._growth.forget()
        self._start, self._end, self._head = self.position, None, 0

    def check_size(self) -> None:
        """Raises TTransportException when the message is too large."""
        if self._end is None and self._size - self._start > self.limit:
            raise self._too_large()

    def frame(self) -> bool:
        """Tells whether the framed message is there as a whole; then it is the next that is read, without its
        length."""
        view = self._store.getbuffer()
        there = self._size - self._start
        length = FRAME_HEADER.unpack_from(view, self._start)[0] if there >= FRAME_HEADER.size else None
        view.release()
        if length is None:
            return False
        return self.envelope(FRAME_HEADER.size, length)

    def envelope(self, head: int, length: int) -> bool:
        """Tells whether the message of `length` bytes behind `head` others is there; then it is the next that is read.

        Raises TTransportException for a length that is not allowed.
        """
        if not 0 < length <= self.limit - head:
            text = f"a frame of {length} bytes; allowed are 1 to {self.limit} ({self.setting})"
            raise TTransportException(TTransportException.SIZE_LIMIT, text)
        if self._size - self._start < head + length:
            return False
        self._head = head
        self.complete(self._start + head + length)
        self._read_from(self._start + head)
        return True

    def complete(self, end: int) -> None:
        """Ends the message there, in the store: it is decoded from its begin."""
        self._end = end
        self._read_from(self._start)

    @property
    def known_length(self) -> int | None:
        """Bytes of the message; None: not known yet."""
        return None if self._end is None else self._end - self._start

    @property
    def consumed(self) -> int:
        """Bytes of the message that have been read."""
        return self.position - self._start

    def again(self) -> None:
        """Goes back to the begin of the message, which is to be read over."""
        self._growth.forget()
        self._shown = self._store
        self._store.seek(self._start + self._head)

    def anew(self) -> None:
        """Goes back to the begin of the message, which is to be decoded."""
        self._growth.forget()
        self._read_from(self._start + self._head)

    def end(self) -> None:
        """Ends a message and forgets its bytes. Raises TTransportException when its frame did not end with it."""
        if self._head and self._end is not None and (excess := self._end - self.position):
            raise TTransportException(message=f"a frame and its message differ by {abs(excess)} bytes")
        self.forget()

    def forget(self) -> None:
        """Lets go of the bytes that have been read."""
        at = self.position
        if at >= self._size:
            self.replace(b"")
        elif self._shown is not self._store or at > _LARGE_CHUNK:
            self._store.seek(at)
            self.replace(self._store.read())
        else:
            self.begin()

    def mark(self) -> None:
        """Remembers this place for `rewind`."""
        self._mark = self.position

    def rewind(self) -> None:
        """Goes back to the mark: what has been read since is unread again."""
        self._read_from(self._mark)

    def peek(self, count: int) -> bytes:
        """Returns the next `count` bytes of what has arrived, fewer if there are no more; they stay unread."""
        at = self._store.tell()
        self._store.seek(self.position)  # of a large message, a piece is shown: the store is read beyond it
        data = self._store.read(count)
        self._store.seek(at)
        return data

    def read(self, sz: int) -> bytes:
        """Reads 1 to `sz` bytes."""
        return self._shown.read(sz) or self.cstringio_refill(b"", 1).read(sz)

    def readAll(self, sz: int) -> bytes:  # noqa: N802 - Thrift's name
        """Reads `sz` bytes."""
        data = self._shown.read(sz)
        return data if len(data) == sz else self.cstringio_refill(data, sz).read(sz)

    @property
    def cstringio_buf(self) -> BytesIO:
        """The buffer that the C decoder reads, and moves on in."""
        return self._shown

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> BytesIO:
        """Returns a new buffer of `reqlen` bytes or more that begins with `partialread`, the end of the old one."""
        missing = reqlen - len(partialread)
        if self._end is None:
            if self._size - self._start + missing > self.limit:
                raise self._too_large()
            raise IncompleteError(TTransportException.END_OF_FILE, "closed by the peer inside a message")
        if self.position + missing > self._end or self._shown is self._store:
            raise self._too_large()
        left = self._end - self._shown_end
        ahead = max(missing, min(_PIECE, left))
        self._growth.end(self._shown_end - self._start, ahead, left, missing if missing > _PIECE else 0)
        self._store.seek(self._shown_end)
        self._show(partialread + self._store.read(ahead))
        return self._shown

    def _read_from(self, at: int) -> None:
        self._store.seek(at)
        if self._end is None or self._end - at <= SMALL_MESSAGE:
            self._shown = self._store
        else:
            self._show(self._store.read(SMALL_MESSAGE))

    def _show(self, data: bytes) -> None:
        self._shown_end, self._shown, self._shown_size = self._store.tell(), BytesIO(data), len(data)
        self._growth.begin()

    def _too_large(self) -> TTransportException:
        what = "its frame" if self._head else f"the {self.limit} bytes allowed ({self.setting})"
        return TTransportException(TTransportException.SIZE_LIMIT, f"a message larger than {what}")


class ReplyWriter(TTransportBase):  # type: ignore[misc]
    """Keeps a reply until the non-blocking socket has taken it. Keeps references to what is written, copies nothing.

    A reply begins to leave as it grows; one with a head, which is its length, at `flush`. Nothing ever waits:
    what the socket does not take stays `pending`, for `send`.
    """

    def __init__(self, sink: Sink, head: Head | None = None) -> None:
        """`head`: what replies have in front."""
        self._sink = sink
        self._head = head
        self._chunks: list[bytes | memoryview] = []
        self._new = 0  # bytes written since the last attempt to send
        self._headed = False  # whether the reply has got its head
        self.pending = 0  # bytes that are to be sent
        self.sent = 0  # bytes of the reply that the socket has taken

    @property
    def written(self) -> int:
        """Bytes of the reply, so far."""
        return self.sent + self.pending

    def begin(self) -> None:
        """Starts a reply here."""
        self.sent = 0
        self._headed = False

    def write(self, buf: bytes) -> None:
        """Appends `buf`, which must not change any more. Raises TTransportException when the peer is gone."""
        self._chunks.append(buf)
        self.pending += len(buf)
        self._new += len(buf)
        if self._new >= _SEND_AT and self._head is None:
            self._new = 0
            self.send()

    def write_head(self) -> None:
        """Writes the head of a reply that has nothing behind it."""
        if self._head is not None:
            self._headed = True
            self.write(self._head(0))

    def flush(self) -> None:
        """Sends of the whole reply what the socket takes. Raises TTransportException when the peer is gone."""
        self._new = 0
        if self._head is not None and self.pending and not self._headed:
            self._headed = True
            head = self._head(self.pending)
            self._chunks.insert(0, head)
            self.pending += len(head)
        self.send()

    def send(self) -> None:
        """Sends what the socket takes. Raises TTransportException when the peer is gone."""
        at = 0
        try:
            while at < len(self._chunks):
                sent = self._sink.sendmsg(self._chunks[at : at + _IOV_MAX])
                self.pending -= sent
                self.sent += sent
                if not self.pending:
                    at = len(self._chunks)
                    return
                while at < len(self._chunks) and sent >= len(self._chunks[at]):
                    sent -= len(self._chunks[at])
                    at += 1
                if sent:
                    self._chunks[at] = memoryview(self._chunks[at])[sent:]
        except BlockingIOError:
            pass
        except OSError as error:
            raise TTransportException(TTransportException.NOT_OPEN, f"lost: {error.strerror}") from error
        finally:
            del self._chunks[:at]
