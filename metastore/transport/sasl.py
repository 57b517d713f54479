"""SASL as Thrift has it (TSaslTransport): the exchange of messages before, and the frames after it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final

from thrift.transport.TTransport import TTransportException

from metastore.identity import AuthenticationFailedError, Mechanism
from metastore.transport.buffers import MessageReader
from metastore.transport.streams import Chunk, Stream, first_piece

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5
_HEAD: Final = struct.Struct("!BI")
_LENGTH: Final = struct.Struct("!I")
_MOST: Final = 2**16  # bytes of a message before somebody is known
_LONGEST_NAME: Final = 20  # of a mechanism (RFC 4422)


def message(status: int, payload: bytes = b"") -> bytes:
    """Returns a message of the exchange."""
    return _HEAD.pack(status, len(payload)) + payload


def refusal(text: str) -> bytes:
    """Returns the message that ends an exchange: clients show the text."""
    return message(BAD, text.encode())


def begins(first: bytes) -> bool:
    """Tells whether these six bytes are the begin of an exchange: a mechanism's name follows the length."""
    return first[:4] == b"\x01\x00\x00\x00" and 0 < first[4] <= _LONGEST_NAME and 65 <= first[5] <= 90


class SaslExchange:
    """One client's exchange. Messages are collected as they arrive; to answer one may take its time."""

    def __init__(self, mechanism: Callable[[str], Mechanism]) -> None:
        """`mechanism` begins one, by its name."""
        self._begin = mechanism
        self.mechanism: Mechanism | None = None
        self.done = False

    def arrived(self, reader: MessageReader) -> bool:
        """Returns whether the next message is complete. Raises AuthenticationFailedError if it is too large."""
        head = reader.peek(_HEAD.size)
        if len(head) < _HEAD.size:
            return False
        length: int = _HEAD.unpack(head)[1]
        if length > _MOST:
            raise AuthenticationFailedError(f"A message of {length} bytes before anybody is known; allowed are {_MOST}")
        return reader.unread >= _HEAD.size + length

    def answer(self, reader: MessageReader) -> bytes:
        """Takes the next message; returns what to answer. Raises AuthenticationFailedError, TTransportException."""
        status, length = _HEAD.unpack(reader.read(_HEAD.size))
        payload = reader.readAll(length) if length else b""
        reader.forget()
        if status in (BAD, ERROR):
            text = payload[:500].decode(errors="replace")
            raise TTransportException(message=f"the client gave up: {text}")
        if self.mechanism is None:
            if status != START:
                raise AuthenticationFailedError(f"Expected the begin of an exchange, not status {status}")
            self.mechanism = self._begin(payload.decode(errors="replace"))
            return b""
        if status not in (OK, COMPLETE):
            raise AuthenticationFailedError(f"Invalid status {status}")
        data = self.mechanism.step(payload)
        self.done = self.mechanism.identity is not None
        if status == COMPLETE and not self.done:
            raise AuthenticationFailedError("The client is done, and the mechanism is not")
        return message(COMPLETE if self.done else OK, data)


class SaslStream:
    """The layer after an exchange: each piece has its length in front, and is wrapped where that was agreed."""

    def __init__(self, below: Stream, mechanism: Mechanism, limit: int) -> None:
        """`limit`: of a wrapped piece, bytes."""
        self._below = below
        self._mechanism = mechanism
        self._wrapped = mechanism.protects
        self._arrived = bytearray()
        self.first = b""  # what had arrived before
        self._limit = limit
        self._leaving: list[Chunk] = []  # of the piece that is sent
        self._taken = 0  # bytes that it was before it was wrapped
        self._left = 0  # of a piece that is not wrapped, bytes that have not arrived
        self._passes = False

    @property
    def held(self) -> int:
        """Bytes of a piece that is not whole."""
        return len(self._arrived)

    def pass_by(self) -> None:
        """What arrives is passed on as it is from now on: it will be dropped."""
        self._passes = True
        self._arrived.clear()

    def recv(self, size: int, /) -> bytes:
        """Raises TTransportException for what was changed on its way, or is too large."""
        first, self.first = self.first, b""
        data = first or self._below.recv(size)
        if not data or self._passes:
            return data
        self._arrived += data
        found = b"".join(self._unwrapped() if self._wrapped else self._bare())
        if not found:
            raise BlockingIOError
        return found

    def sendmsg(self, chunks: Sequence[Chunk], /) -> int:
        if not self._leaving:
            data = first_piece(chunks)
            self._taken = len(data)
            if self._wrapped:
                data = self._mechanism.wrap(bytes(data))
            self._leaving = [_LENGTH.pack(len(data)), data]
        while self._leaving:
            sent = self._below.sendmsg(self._leaving)
            while self._leaving and sent >= len(self._leaving[0]):
                sent -= len(self._leaving.pop(0))
            if sent:
                self._leaving[0] = memoryview(self._leaving[0])[sent:]
        return self._taken

    def _unwrapped(self) -> list[bytes]:
        pieces, arrived = [], self._arrived
        while len(arrived) >= _LENGTH.size:
            length = _LENGTH.unpack_from(arrived)[0]
            if length > self._limit:
                text = f"{length} bytes wrapped as one; allowed are {self._limit} (METASTORE_MAX_MESSAGE_BYTES)"
                raise TTransportException(TTransportException.SIZE_LIMIT, text)
            end = _LENGTH.size + length
            if len(arrived) < end:
                break
            try:
                pieces.append(self._mechanism.unwrap(bytes(memoryview(arrived)[_LENGTH.size : end])))
            except AuthenticationFailedError as error:
                raise TTransportException(message=str(error)) from error
            del arrived[:end]
        return pieces

    def _bare(self) -> list[bytes]:
        """Lists pieces that are not wrapped, also what is there of one."""
        pieces, arrived = [], self._arrived
        while arrived:
            if not self._left:
                if len(arrived) < _LENGTH.size:
                    break
                self._left = _LENGTH.unpack_from(arrived)[0]
                del arrived[: _LENGTH.size]
            there = min(self._left, len(arrived))
            pieces.append(bytes(memoryview(arrived)[:there]))
            del arrived[:there]
            self._left -= there
        return pieces
