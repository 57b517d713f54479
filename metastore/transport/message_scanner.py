"""Finds the end of an unframed message while it arrives. Each byte is looked at about once, and none is copied."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import ClassVar, Final, TypeAlias, TypeVar

from thrift.protocol.TCompactProtocol import TTYPES
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TType

from metastore.transport.buffers import IncompleteError, MessageReader
from metastore.transport.wire_format import WireFormat, too_deep

_MAX_DEPTH: Final = 64  # structs and containers inside each other; the C decoder allows two fewer
_MIN_SKIP: Final = 64  # bytes; for fewer, calling the C decoder is not worth it

_T = TypeVar("_T")
_Steps: TypeAlias = Generator[None, None, _T]
"""Yields when bytes are missing. It is continued when more have arrived."""


class MessageScanner:
    """Finds the end of one message incrementally."""

    def __init__(self, wire_format: WireFormat, reader: MessageReader, start: int) -> None:
        """`start`: position of the message in `reader.store`."""
        self._reader = reader
        self._parser = _Parser(wire_format, reader, start)
        self._steps = self._parser.message()  # the parser must not refer to it: a cycle would outlive the connection

    def find(self) -> int | None:
        """Returns the end of the message in the store, or None if the message is incomplete.

        Raises TProtocolException if the bytes are not a Thrift message, TTransportException if it is too large.
        """
        store = self._reader.store
        position = store.tell()
        try:
            next(self._steps)
            return None
        except StopIteration:
            return self._parser.at
        finally:
            store.seek(position)


class _Parser:
    """Parses the structure of one message. `at`: where parsing continues in the store; at last, the end of the message.

    Thrift's C decoder skips structs that have arrived whole. If the bytes end inside a struct, its fields are parsed
    here, by generators that wait for more bytes.
    """

    def __init__(self, wire_format: WireFormat, reader: MessageReader, start: int) -> None:
        self.at = start
        self._reader = reader
        self._heads = _Compact(reader) if wire_format.compact else _Binary(reader)
        self._skipper = wire_format.protocol(reader, 2**31 - 1, 2**31 - 1)

    def message(self) -> _Steps[None]:
        """Reads the whole message."""
        yield from self._read(self._skipper.readMessageBegin)
        yield from self._values(TType.STRUCT, 1, 0)

    def _read(self, read: Callable[[], _T]) -> _Steps[_T]:
        """Returns the result of `read` when the bytes that it reads have arrived."""
        while True:
            self._reader.store.seek(self.at)
            with suppress(IncompleteError):
                result = read()
                self.at = self._reader.store.tell()
                return result
            yield

    def _values(self, kind: int, count: int, depth: int) -> _Steps[None]:
        """Skips values of one type."""
        if depth > _MAX_DEPTH:
            raise too_deep()
        size = self._heads.sizes.get(kind)
        if size is not None:
            self.at += count * size
            while self.at > self._reader.size:
                yield
        elif kind == TType.STRUCT:
            while count := count - self._skip(count):
                yield from self._fields(depth)
                count -= 1
        elif kind in (TType.LIST, TType.SET, TType.MAP):
            for _ in range(count):
                yield from self._container(kind, depth)
        else:
            while count := count - self._skip_texts(kind, count):
                yield

    def _fields(self, depth: int) -> _Steps[None]:
        """Skips a struct that has not arrived whole. After each arrival of bytes, tries once to skip the rest of it."""
        tried = self._reader.size
        while True:
            if tried < self._reader.size:
                tried = self._reader.size
                if self._skip(1):
                    return
            kind = yield from self._read(self._heads.field)
            if kind == TType.STOP:
                return
            yield from self._values(kind, 1, depth + 1)

    def _container(self, kind: int, depth: int) -> _Steps[None]:
        if kind == TType.MAP:
            key, value, count = yield from self._read(self._heads.map)
            for _ in range(count):
                yield from self._values(key, 1, depth + 1)
                yield from self._values(value, 1, depth + 1)
        else:
            inner, count = yield from self._read(self._heads.list)
            yield from self._values(inner, count, depth + 1)

    def _skip(self, count: int) -> int:
        """Skips up to `count` structs, or the rest of one. Returns how many of them have arrived whole."""
        skipped, store = 0, self._reader.store
        store.seek(self.at)
        with suppress(IncompleteError):
            while skipped < count and self._reader.size - self.at >= _MIN_SKIP:
                self._skipper.skip(TType.STRUCT)
                self.at = store.tell()
                skipped += 1
        return skipped

    def _skip_texts(self, kind: int, count: int) -> int:
        """Skips up to `count` values that have their length in front. Returns how many of them have arrived."""
        skipped, store = 0, self._reader.store
        store.seek(self.at)
        with suppress(IncompleteError):
            while skipped < count:
                end = self._heads.length(kind) + store.tell()
                if end > self._reader.size:
                    break
                self.at = store.seek(end)
                skipped += 1
        return skipped


class _Binary:
    """Reads heads of values in the binary protocol."""

    sizes: ClassVar[dict[int, int]] = {
        TType.BOOL: 1,
        TType.BYTE: 1,
        TType.I16: 2,
        TType.I32: 4,
        TType.I64: 8,
        TType.DOUBLE: 8,
        TType.UUID: 16,
    }

    def __init__(self, reader: MessageReader) -> None:
        self._read = reader.readAll

    def field(self) -> int:
        kind = self._read(1)[0]
        if kind != TType.STOP:
            self._read(2)
        return kind

    def list(self) -> tuple[int, int]:
        head = self._read(5)
        return head[0], _count(head[1:])

    def map(self) -> tuple[int, int, int]:
        head = self._read(6)
        return head[0], head[1], _count(head[2:])

    def length(self, kind: int) -> int:
        if kind != TType.STRING:
            raise TProtocolException(TProtocolException.INVALID_DATA, f"malformed message: Unexpected TType {kind}")
        return _count(self._read(4))


class _Compact(_Binary):
    """Reads heads of values in the compact protocol. Types are converted to those of the binary protocol."""

    sizes: ClassVar[dict[int, int]] = {TType.BOOL: 1, TType.BYTE: 1, TType.DOUBLE: 8, TType.UUID: 16, TType.VOID: 0}

    def field(self) -> int:
        head = self._read(1)[0]
        if not head:
            return int(TType.STOP)
        if not head >> 4:  # the field id follows if the delta is 0
            _varint(self._read)
        kind = _type(head)
        return int(TType.VOID) if kind == TType.BOOL else kind  # the head of a boolean field holds the value

    def list(self) -> tuple[int, int]:
        head = self._read(1)[0]
        return _type(head), head >> 4 if head >> 4 != 15 else _varint(self._read)

    def map(self) -> tuple[int, int, int]:
        count = _varint(self._read)
        types = self._read(1)[0] if count else 0x33
        return _type(types >> 4), _type(types), count

    def length(self, kind: int) -> int:
        value = _varint(self._read)  # the length of a string, or a number
        return value if kind == TType.STRING else 0


def _type(head: int) -> int:
    """Returns the type in the last four bits of a head of the compact protocol."""
    kind: int = TTYPES.get(head & 15, TType.STOP)
    if kind == TType.STOP:
        raise TProtocolException(TProtocolException.INVALID_DATA, f"malformed message: Unexpected TType {head & 15}")
    return kind


def _count(data: bytes) -> int:
    count = int.from_bytes(data, "big", signed=True)
    if count < 0:
        raise TProtocolException(TProtocolException.NEGATIVE_SIZE, "malformed message: negative length")
    return count


def _varint(read: Callable[[int], bytes]) -> int:
    result = 0
    for shift in range(0, 70, 7):
        byte = read(1)[0]
        result |= (byte & 127) << shift
        if byte < 128:
            return result
    raise TProtocolException(TProtocolException.INVALID_DATA, "malformed message: varint")
