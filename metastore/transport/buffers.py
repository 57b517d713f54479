"""The two ends of a socket as Thrift's protocols see them: a bounded reader of messages, a writer of replies."""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from io import BytesIO
from typing import Final

from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

_CHUNK: Final = 2**16  # what one look at a socket takes
_LARGE_CHUNK: Final = 2**20  # the same, when that much of a string is known to be missing
_SEND_AT: Final = 2**18  # an unframed reply leaves whenever this much of it is there
_IOV_MAX: Final = os.sysconf("SC_IOV_MAX")
_FRAME_HEADER: Final = struct.Struct("!i")


class MessageReader(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """Reads messages from a non-blocking socket; what has arrived beyond one message is kept for the next.

    Thrift's C decoder reads `cstringio_buf` directly and calls `cstringio_refill` when it runs dry. Both bounds are
    kept there: the C decoder allocates nothing for a length that it has only been told of.

    Raises TTransportException: END_OF_FILE when the peer closes inside a message, TIMED_OUT when the message took
    longer than `timeout` seconds, SIZE_LIMIT when it is larger than `limit` bytes or than its frame.
    """

    def __init__(self, sock: socket.socket, *, limit: int, timeout: float) -> None:
        self._socket = sock
        self._max_bytes = limit
        self._timeout = timeout
        self._buffer = BytesIO()
        self._size = 0  # of the buffer
        self._mark = 0  # where the buffer is read again from
        self._behind: list[tuple[BytesIO, int, int]] = []  # full buffers since the mark, and what of them was read
        self._fed = 0  # bytes of this message that are or were in the buffer, and what has arrived behind it
        self._limit = limit
        self._framed = False
        self._deadline = 0.0

    @property
    def unread(self) -> int:
        """Bytes that have arrived and have not been read."""
        return self._size - self._buffer.tell()

    def arrived(self) -> bool:
        """Takes what the socket has, without waiting. False: the peer has closed, or is lost."""
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._buffer, self._size = BytesIO(data), len(data)
        return bool(data)

    def begin(self) -> None:
        """Starts a message: its time and its bytes are counted from here."""
        self._deadline = time.monotonic() + self._timeout
        self._fed = self.unread
        self._limit = self._max_bytes
        self._framed = False
        self.mark()

    def mark(self) -> None:
        """Remembers this place for `rewind`, until the message ends."""
        self._mark, self._behind = self._buffer.tell(), []

    def rewind(self) -> None:
        """Goes back to the mark: what has been read since is unread again."""
        pieces = [buffer.getvalue()[start:end] for buffer, start, end in self._behind]
        data = b"".join([*pieces, self._buffer.getvalue()[self._mark :]])
        self._buffer, self._size = BytesIO(data), len(data)
        self.mark()

    def begin_frame(self) -> None:
        """Reads the length in front of a framed message, which then is the message's limit."""
        (length,) = _FRAME_HEADER.unpack(self.readAll(_FRAME_HEADER.size))
        if not 0 < length <= self._max_bytes - _FRAME_HEADER.size:
            raise TTransportException(
                TTransportException.SIZE_LIMIT, f"a frame of {length} bytes; allowed are 1 to {self._max_bytes}"
            )
        self._limit = _FRAME_HEADER.size + length
        self._framed = True

    def end(self) -> None:
        """Ends a message and forgets its bytes. Raises TTransportException when its frame did not end with it."""
        excess = self._limit - (self._fed - self.unread)
        if self._framed and excess:
            raise TTransportException(message=f"a frame and its message differ by {abs(excess)} bytes")
        self._behind = []
        if not self.unread:
            self._buffer, self._size = BytesIO(), 0

    def peek(self, count: int) -> bytes:
        """The next `count` bytes, which stay unread."""
        data = self.readAll(count)
        self._buffer.seek(-count, os.SEEK_CUR)
        return data

    def read(self, sz: int) -> bytes:
        """Reads 1 to `sz` bytes."""
        return self._buffer.read(sz) or self.cstringio_refill(b"", 1).read(sz)

    def readAll(self, sz: int) -> bytes:  # noqa: N802 - Thrift's name
        """Reads `sz` bytes."""
        data = self._buffer.read(sz)
        return data if len(data) == sz else self.cstringio_refill(data, sz).read(sz)

    @property
    def cstringio_buf(self) -> BytesIO:
        """The buffer that the C decoder reads, and moves on in."""
        return self._buffer

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> BytesIO:
        """A new buffer of `reqlen` bytes or more that begins with `partialread`, the end of the old one."""
        size = len(partialread)
        if self._fed - size + reqlen > self._limit:
            what = "its frame" if self._framed else f"the {self._limit} bytes allowed"
            raise TTransportException(TTransportException.SIZE_LIMIT, f"a message larger than {what}")
        buffer = BytesIO()
        buffer.write(partialread)
        while size < reqlen:
            data = self._receive(min(max(reqlen - size, _CHUNK), _LARGE_CHUNK))
            self._fed += len(data)
            size += buffer.write(data)
        buffer.seek(0)
        self._behind.append((self._buffer, self._mark, self._size - len(partialread)))
        self._buffer, self._size, self._mark = buffer, size, 0
        return buffer

    def _receive(self, count: int) -> bytes:
        while True:
            try:
                data = self._socket.recv(count)
            except BlockingIOError:
                if not _wait(self._socket, select.POLLIN, self._deadline - time.monotonic()):
                    text = f"a message not complete after {self._timeout:g} s"
                    raise TTransportException(TTransportException.TIMED_OUT, text) from None
                continue
            except OSError as error:
                raise _lost(error) from error
            if not data:
                raise TTransportException(TTransportException.END_OF_FILE, "closed by the peer inside a message")
            return data


class ReplyWriter(TTransportBase):  # type: ignore[misc]
    """Sends replies over a non-blocking socket. Keeps references to what is written, copies nothing.

    An unframed reply leaves in pieces as it grows, so that a large one never exists as a whole; a framed one leaves at
    `flush`, its length in front. Raises TTransportException when the peer is gone or takes nothing for `timeout` s.
    """

    def __init__(self, sock: socket.socket, *, framed: bool, timeout: float) -> None:
        self._socket = sock
        self._framed = framed
        self._timeout = timeout
        self._chunks: list[bytes | memoryview] = []
        self._size = 0

    def write(self, buf: bytes) -> None:
        """Appends `buf`, which must not change any more."""
        self._chunks.append(buf)
        self._size += len(buf)
        if self._size >= _SEND_AT and not self._framed:
            self._send()

    def flush(self) -> None:
        """Sends what is left of the reply; nothing if there is nothing."""
        if self._framed and self._chunks:
            self._chunks.insert(0, _FRAME_HEADER.pack(self._size))
        self._send()

    def _send(self) -> None:
        chunks, self._chunks, self._size = self._chunks, [], 0
        at = 0
        while at < len(chunks):
            sent = self._send_some(chunks[at : at + _IOV_MAX])
            while at < len(chunks) and sent >= len(chunks[at]):
                sent -= len(chunks[at])
                at += 1
            if sent:
                chunks[at] = memoryview(chunks[at])[sent:]

    def _send_some(self, chunks: list[bytes | memoryview]) -> int:
        while True:
            try:
                return self._socket.sendmsg(chunks)
            except BlockingIOError:
                if not _wait(self._socket, select.POLLOUT, self._timeout):
                    text = f"a reply of which nothing was taken for {self._timeout:g} s"
                    raise TTransportException(TTransportException.TIMED_OUT, text) from None
            except OSError as error:
                raise _lost(error) from error


def _wait(sock: socket.socket, event: int, seconds: float) -> bool:
    """Waits until a socket is ready. False: it was not within `seconds`."""
    poll = select.poll()
    poll.register(sock, event)
    return seconds > 0 and bool(poll.poll(seconds * 1000))


def _lost(error: OSError) -> TTransportException:
    return TTransportException(TTransportException.NOT_OPEN, f"lost: {error.strerror}")
