"""SASL as in Thrift's TSaslTransport: an exchange of messages, then Thrift in length-prefixed frames."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final

from thrift.transport.TTransport import TTransportException

from metastore.identity import AuthenticationFailedError, Identity, Mechanism
from metastore.transport.buffers import MessageReader
from metastore.transport.streams import Chunk, Stream, first_piece

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5
_HEAD: Final = struct.Struct("!BI")  # status, length of the payload
_LENGTH: Final = struct.Struct("!I")
_MAX_MESSAGE: Final = 2**16  # bytes of one message of the exchange
_MAX_MECHANISM: Final = 20  # characters of a mechanism's name (RFC 4422)


def message(status: int, payload: bytes = b"") -> bytes:
    """Returns one message of the exchange."""
    return _HEAD.pack(status, len(payload)) + payload


def refusal(text: str, status: int = BAD) -> bytes:
    """Returns the message that ends an exchange with an error. Clients show the text.

    `status`: BAD if the client must not try again with the same credentials, else ERROR.
    """
    return message(status, text.encode())


def begins(first: bytes) -> bool:
    """Returns whether a connection that starts with these six bytes speaks SASL: START, then a mechanism's name."""
    return first[:4] == b"\x01\x00\x00\x00" and 0 < first[4] <= _MAX_MECHANISM and 65 <= first[5] <= 90


class SaslExchange:
    """The server side of one SASL exchange.

    Attributes:
        mechanism: None until the first message.
        login: the check of a password that runs in another thread: call `complete` when it is done.
        identity: the authenticated user; None until the exchange is complete.
    """

    def __init__(self, start_mechanism: Callable[[str], Mechanism]) -> None:
        """`start_mechanism` takes the mechanism's name and raises AuthenticationFailedError if it is not offered."""
        self._start_mechanism = start_mechanism
        self.mechanism: Mechanism | None = None
        self.login: Future[Identity] | None = None
        self.identity: Identity | None = None

    def message_arrived(self, reader: MessageReader) -> bool:
        """Returns whether the next message is complete. Raises AuthenticationFailedError if it is too large."""
        head = reader.peek(_HEAD.size)
        if len(head) < _HEAD.size:
            return False
        length: int = _HEAD.unpack(head)[1]
        if length > _MAX_MESSAGE:
            raise AuthenticationFailedError(
                f"A SASL message has {length} bytes; before authentication, the maximum is {_MAX_MESSAGE}"
            )
        return reader.unread >= _HEAD.size + length

    def respond(self, reader: MessageReader) -> bytes:
        """Consumes the next message and returns the response, if there is one yet. May block in the mechanism.

        Raises AuthenticationFailedError; raises TTransportException if the client has ended the exchange.
        """
        status, length = _HEAD.unpack(reader.read(_HEAD.size))
        payload = reader.readAll(length) if length else b""
        reader.discard_read()
        if status in (BAD, ERROR):
            text = payload[:500].decode(errors="replace")
            raise TTransportException(message=f"the client ended the SASL exchange: {text}")
        if self.mechanism is None:
            if status != START:
                raise AuthenticationFailedError(f"Expected the start of a SASL exchange, got status {status}")
            self.mechanism = self._start_mechanism(payload.decode(errors="replace"))
            return b""
        if status not in (OK, COMPLETE):
            raise AuthenticationFailedError(f"Invalid SASL status {status}")
        challenge = self.mechanism.step(payload)
        if isinstance(challenge, Future):
            self.login = challenge
            return b""
        self.identity = self.mechanism.identity
        if status == COMPLETE and not self.identity:
            raise AuthenticationFailedError("The client has completed the SASL exchange before the server")
        return message(COMPLETE if self.identity else OK, challenge)

    def complete(self, login: Future[Identity]) -> bytes:
        """Returns the response after the check of a password. Raises AuthenticationFailedError."""
        self.login = None
        self.identity = login.result()
        return message(COMPLETE)


class SaslStream:
    """The frames after the exchange: each has its length in front, and is protected if the mechanism negotiated it."""

    def __init__(self, below: Stream, mechanism: Mechanism, limit: int) -> None:
        """`limit`: maximum size of a protected frame, in bytes."""
        self._below = below
        self._mechanism = mechanism
        self._protected = mechanism.protects
        self._limit = limit
        self.received = b""  # bytes that arrived together with the end of the exchange
        self._incomplete = bytearray()  # received part of a frame
        self._frame_left = 0  # bytes of an unprotected frame that are still to come: those are passed on as they arrive
        self._unsent: list[Chunk] = []  # of the frame that is being sent
        self._unsent_source = 0  # bytes of the reply in this frame

    @property
    def buffered(self) -> int:
        """Bytes of an incomplete frame."""
        return len(self._incomplete)

    def recv(self, size: int, /) -> bytes:
        """Receives (`Stream.recv`). Raises TTransportException if a frame was modified or is too large."""
        first, self.received = self.received, b""
        data = first or self._below.recv(size)
        if not data:
            return data
        self._incomplete += data
        payload = b"".join(self._unwrap() if self._protected else self._unframe())
        if not payload:
            raise BlockingIOError
        return payload

    def sendmsg(self, chunks: Sequence[Chunk], /) -> int:
        """Sends one frame (`Stream.sendmsg`). A frame that was sent in part is finished by the next call."""
        if not self._unsent:
            data = first_piece(chunks)
            self._unsent_source = len(data)
            if self._protected:
                data = self._mechanism.wrap(bytes(data))
            self._unsent = [_LENGTH.pack(len(data)), data]
        while self._unsent:
            sent = self._below.sendmsg(self._unsent)
            while self._unsent and sent >= len(self._unsent[0]):
                sent -= len(self._unsent.pop(0))
            if sent:
                self._unsent[0] = memoryview(self._unsent[0])[sent:]
        return self._unsent_source

    def _unwrap(self) -> list[bytes]:
        """Decodes the complete protected frames."""
        payloads, buffer = [], self._incomplete
        while len(buffer) >= _LENGTH.size:
            length = _LENGTH.unpack_from(buffer)[0]
            if length > self._limit:
                text = f"a SASL frame of {length} bytes; allowed are {self._limit} (METASTORE_MAX_MESSAGE_BYTES)"
                raise TTransportException(TTransportException.SIZE_LIMIT, text)
            end = _LENGTH.size + length
            if len(buffer) < end:
                break
            try:
                payloads.append(self._mechanism.unwrap(bytes(memoryview(buffer)[_LENGTH.size : end])))
            except AuthenticationFailedError as error:
                raise TTransportException(message=str(error)) from error
            del buffer[:end]
        return payloads

    def _unframe(self) -> list[bytes]:
        """Removes the lengths of unprotected frames; of the last frame, returns what has arrived."""
        payloads, buffer = [], self._incomplete
        while buffer:
            if not self._frame_left:
                if len(buffer) < _LENGTH.size:
                    break
                self._frame_left = _LENGTH.unpack_from(buffer)[0]
                del buffer[: _LENGTH.size]
            available = min(self._frame_left, len(buffer))
            payloads.append(bytes(memoryview(buffer)[:available]))
            del buffer[:available]
            self._frame_left -= available
        return payloads
