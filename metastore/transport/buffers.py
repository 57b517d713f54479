"""The two buffers of a connection: received messages, and replies to be sent. Both are Thrift transports."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from io import BytesIO
from typing import Final

from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

from metastore.transport.memory import DecodingMemory, Memory
from metastore.transport.streams import Chunk, Source, Stream

CHUNK: Final = 2**16  # bytes received at once
_LARGE_CHUNK: Final = 2**20  # bytes received at once of a message that is known to be large
SMALL_MESSAGE: Final = 2**13  # bytes of a message whose memory is not measured
_PIECE: Final = 2**16  # bytes of a large message that are decoded between two measurements of memory
_SEND_AT: Final = 2**18  # bytes of an unframed reply that are sent before it is complete
_IOV_MAX: Final = os.sysconf("SC_IOV_MAX")
FRAME_HEADER: Final = struct.Struct("!i")

Head = Callable[[int], bytes]
"""Returns the bytes in front of a reply of a given size: the length of a frame, or the head of an HTTP response."""


class IncompleteError(TTransportException):  # type: ignore[misc] # Thrift has no type hints
    """The decoder has reached the end of an incomplete message. It is decoded again when more has arrived."""


class MessageReader(TTransportBase, CReadableTransport):  # type: ignore[misc] # Thrift has no type hints
    """The receive buffer, from which messages are decoded. Never blocks.

    `store` holds `size` received bytes; the message occupies [`start`, end). Thrift's C decoder reads from a window,
    `cstringio_buf`, and calls `cstringio_refill` at its end. For a small message, the window is the store itself. A
    large message is shown in windows of 64 KiB, and the memory that decoding takes is measured between them: decoded
    objects can take many times the bytes of their message.

    Methods raise TTransportException (SIZE_LIMIT) for a message larger than `limit` bytes or than its frame.
    """

    def __init__(self, source: Source, *, limit: int, memory: Memory) -> None:
        self._source = source
        self.limit = self.max_limit = limit
        self._decoding = DecodingMemory(memory)
        self.store = BytesIO()
        self.size = 0  # of the store
        self.start = 0  # of the message in the store
        self._end: int | None = None  # of the message in the store, once known
        self._head = 0  # bytes of the frame header or HTTP head in front of the message
        self._window = self.store
        self._window_end = 0  # where the window ends in the store
        self._window_size = 0
        self._mark = 0

    @property
    def limit_lowered(self) -> bool:
        """Whether a lower limit applies: the client has not authenticated yet."""
        return self.limit < self.max_limit

    @property
    def setting(self) -> str:
        """The origin of the limit, for error messages."""
        return "before authentication" if self.limit_lowered else "METASTORE_MAX_MESSAGE_BYTES"

    @property
    def position(self) -> int:
        """The read position in the store."""
        if self._window is self.store:
            return self.store.tell()
        return self._window_end - (self._window_size - self._window.tell())

    @property
    def unread(self) -> int:
        """Received bytes behind the read position."""
        return self.size - self.position

    @property
    def length(self) -> int | None:
        """Bytes of the message with its frame header; None while unknown."""
        return None if self._end is None else self._end - self.start

    @property
    def consumed(self) -> int:
        """Bytes of the message that have been read: its size, once it is decoded (quotas and metrics use it)."""
        return self.position - self.start

    def receive(self) -> int | None:
        """Receives the bytes that have arrived. Returns the number of bytes; None if there are none, 0 if the peer has
        closed.
        """
        try:
            data = self._source.recv(CHUNK if self.size < CHUNK else _LARGE_CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return 0
        if self.size and self.unread:
            position = self.store.tell()
            self.store.seek(0, os.SEEK_END)
            self.store.write(data)
            self.store.seek(position)
            self.size += len(data)
        else:
            self.reset(data)
        return len(data)

    def switch_source(self, source: Source) -> bytes:
        """Receives from another source from now on. Removes the unread bytes and returns them."""
        self._source = source
        unread = self.store.read()
        self.reset(b"")
        return unread

    def reset(self, data: bytes) -> None:
        """Replaces the content of the buffer; a message begins with `data`."""
        self._decoding.release()
        self.store = self._window = BytesIO(data)
        self.size, self.start, self._end, self._head = len(data), 0, None, 0

    def check_size(self) -> None:
        """Raises TTransportException if an incomplete message is larger than the limit already."""
        if self._end is None and self.size - self.start > self.limit:
            raise self._too_large()

    def frame_arrived(self) -> bool:
        """Returns whether the framed message is complete. If so, decoding starts behind the frame header."""
        view = self.store.getbuffer()
        available = self.size - self.start
        length = FRAME_HEADER.unpack_from(view, self.start)[0] if available >= FRAME_HEADER.size else None
        view.release()
        return length is not None and self.body_arrived(FRAME_HEADER.size, length)

    def body_arrived(self, head: int, length: int) -> bool:
        """Returns whether a message of `length` bytes behind a head of `head` bytes is complete.

        If so, decoding starts behind the head. Raises TTransportException if the length is not allowed.
        """
        if not 0 < length <= self.limit - head:
            text = f"a frame of {length} bytes; allowed are 1 to {self.limit} ({self.setting})"
            raise TTransportException(TTransportException.SIZE_LIMIT, text)
        if self.size - self.start < head + length:
            return False
        self._head = head
        self._end = self.start + head + length
        self._read_from(self.start + head)
        return True

    def set_end(self, end: int) -> None:
        """Sets the end of an unframed message in the store. Decoding starts at its beginning."""
        self._end = end
        self._read_from(self.start)

    def restart(self) -> None:
        """Returns to the beginning of the message, to decode it again."""
        self._decoding.release()
        self._read_from(self.start + self._head)

    def restart_unmetered(self) -> None:
        """Returns to the beginning of the message, to skip it: no objects are made, and no memory is measured."""
        self._decoding.release()
        self._window = self.store
        self.store.seek(self.start + self._head)

    def end(self) -> None:
        """Ends the message and removes its bytes. Raises TTransportException if its frame has another length."""
        if self._head and self._end is not None and (excess := self._end - self.position):
            raise TTransportException(message=f"the lengths of a frame and its message differ by {abs(excess)} bytes")
        self.discard_read()

    def discard_read(self) -> None:
        """Removes the bytes in front of the read position; a message begins there."""
        position = self.position
        if position >= self.size:
            self.reset(b"")
        elif self._window is not self.store or position > _LARGE_CHUNK:
            self.store.seek(position)
            self.reset(self.store.read())
        else:  # copying is not worth it: the bytes are removed when the buffer is empty
            self._decoding.release()
            self.start, self._end, self._head = position, None, 0

    def mark(self) -> None:
        """Stores the read position for `rewind`."""
        self._mark = self.position

    def rewind(self) -> None:
        """Returns to the read position of the last `mark`."""
        self._read_from(self._mark)

    def peek(self, count: int) -> bytes:
        """Returns the next `count` bytes, fewer if there are no more, without reading them."""
        position = self.store.tell()
        self.store.seek(self.position)  # of the store, because a window may end before
        data = self.store.read(count)
        self.store.seek(position)
        return data

    def read(self, sz: int) -> bytes:
        """Reads 1 to `sz` bytes."""
        return self._window.read(sz) or self.cstringio_refill(b"", 1).read(sz)

    def readAll(self, sz: int) -> bytes:  # noqa: N802 - Thrift's name
        """Reads `sz` bytes."""
        data = self._window.read(sz)
        return data if len(data) == sz else self.cstringio_refill(data, sz).read(sz)

    @property
    def cstringio_buf(self) -> BytesIO:
        """The window, in which the C decoder moves on."""
        return self._window

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> BytesIO:
        """Returns a window of at least `reqlen` bytes that begins with `partialread`, the rest of the last window.

        Raises IncompleteError if the message has not arrived so far, OverBudgetError if decoding needs more memory.
        """
        missing = reqlen - len(partialread)
        if self._end is None:
            if self.size - self.start + missing > self.limit:
                raise self._too_large()
            raise IncompleteError(TTransportException.END_OF_FILE, "closed by the peer inside a message")
        if self.position + missing > self._end or self._window is self.store:
            raise self._too_large()
        left = self._end - self._window_end
        ahead = max(missing, min(_PIECE, left))
        self._decoding.finish_piece(self._window_end - self.start, ahead, left, missing if missing > _PIECE else 0)
        self.store.seek(self._window_end)
        self._show(partialread + self.store.read(ahead))
        return self._window

    def _read_from(self, position: int) -> None:
        self.store.seek(position)
        if self._end is None or self._end - position <= SMALL_MESSAGE:
            self._window = self.store
        else:
            self._show(self.store.read(SMALL_MESSAGE))

    def _show(self, data: bytes) -> None:
        self._window_end, self._window, self._window_size = self.store.tell(), BytesIO(data), len(data)
        self._decoding.start_piece()

    def _too_large(self) -> TTransportException:
        limit = "its frame" if self._head else f"the {self.limit} bytes allowed ({self.setting})"
        return TTransportException(TTransportException.SIZE_LIMIT, f"a message larger than {limit}")


class ReplyWriter(TTransportBase):  # type: ignore[misc] # Thrift has no type hints
    """The send buffer. Never blocks, and copies nothing: it keeps references to the written bytes.

    A reply without a head is sent while it grows. A head holds the length, so that such a reply is sent at `flush`.
    Bytes that the socket does not take stay `pending` until `send` is called.
    """

    def __init__(self, stream: Stream, head: Head | None = None, *, answers_all: bool = False) -> None:
        """`answers_all`: an empty reply has a head, too."""
        self._stream = stream
        self._head = head
        self._answers_all = answers_all
        self._chunks: list[Chunk] = []
        self._unattempted = 0  # bytes written since the last attempt to send
        self.pending = 0  # unsent bytes
        self.sent = 0  # bytes of the reply that the socket has taken

    @property
    def written(self) -> int:
        """Bytes of the reply so far."""
        return self.sent + self.pending

    def write(self, buf: bytes) -> None:
        """Appends `buf`, which must not be modified later. Raises TTransportException if the connection is lost."""
        self._chunks.append(buf)
        self.pending += len(buf)
        self._unattempted += len(buf)
        if self._unattempted >= _SEND_AT and self._head is None:
            self._unattempted = 0
            self.send()

    def flush(self) -> None:
        """Ends the reply. Sends as much as the socket takes. Raises TTransportException if the connection is lost."""
        self._unattempted = 0
        if self._head is not None and (self.pending or self._answers_all):
            head = self._head(self.pending)
            self._chunks.insert(0, head)
            self.pending += len(head)
        self.send()

    def send(self) -> None:
        """Sends as much as the socket takes. Raises TTransportException if the connection is lost."""
        done = 0  # chunks that are sent
        try:
            while done < len(self._chunks):
                sent = self._stream.sendmsg(self._chunks[done : done + _IOV_MAX])
                self.pending -= sent
                self.sent += sent
                if not self.pending:
                    done = len(self._chunks)
                    return
                while done < len(self._chunks) and sent >= len(self._chunks[done]):
                    sent -= len(self._chunks[done])
                    done += 1
                if sent:
                    self._chunks[done] = memoryview(self._chunks[done])[sent:]
        except BlockingIOError:
            pass
        except OSError as error:
            raise TTransportException(TTransportException.NOT_OPEN, f"lost: {error.strerror}") from error
        finally:
            del self._chunks[:done]
