"""Finds the end of an unframed message while it arrives. Each byte is looked at about once, and none is copied."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from typing import Any, ClassVar, Final

from thrift.protocol.TCompactProtocol import TTYPES
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TType
from thrift.transport.TTransport import CReadableTransport, TTransportBase

from metastore.transport.buffers import IncompleteError
from metastore.transport.wire_format import WireFormat, too_deep

_MAX_DEPTH: Final = 64  # levels, as in the C decoder
_MIN_SKIP: Final = 64  # bytes; for fewer, calling the C decoder is not worth it
_FIELDS: Final = -1  # instead of a Thrift type: the remaining fields of a struct

_Value = list[Any]
"""[type, number of values still to come]. For a map, the types of its keys and values follow. For _FIELDS, the size of
the store follows when skipping them was last tried."""


class MessageScanner:
    """Parses the structure of one message incrementally.

    Thrift's C decoder skips structs that have arrived whole. If the bytes end inside a struct, its fields are parsed
    here. A stack holds the values that are still to come, so that parsing continues there when more bytes arrive.
    Methods that read raise IncompleteError, without an effect, if the bytes have not arrived.
    """

    def __init__(self, wire_format: WireFormat, start: int) -> None:
        self._read: _Binary = _Compact() if wire_format.compact else _Binary()
        self._window = _Window()
        self._skipper = wire_format.protocol(self._window, 2**31 - 1, 2**31 - 1)
        self._at = start
        self._stack: list[_Value] | None = None  # None until the head was read

    def head(self, store: BytesIO) -> int | None:
        """Returns where the arguments begin, or None if the head is incomplete. Raises TProtocolException."""
        position = store.tell()
        try:
            self._read_head(store)
        except IncompleteError:
            return None
        finally:
            store.seek(position)
        return self._at

    def find(self, store: BytesIO, size: int) -> int | None:
        """Returns the end of the message in `store`, which has `size` bytes, or None if the message is incomplete.

        Raises TProtocolException if the bytes are not a Thrift message.
        """
        position = store.tell()
        try:
            stack = self._read_head(store) if self._stack is None else self._stack
            while stack:
                self._advance(store, size, stack)
        except IncompleteError:
            return None
        finally:
            store.seek(position)
        return self._at

    def _read_head(self, store: BytesIO) -> list[_Value]:
        self._window.show(store, self._at)
        self._skipper.readMessageBegin()
        self._at, self._stack = store.tell(), [[TType.STRUCT, 1]]
        return self._stack

    def _advance(self, store: BytesIO, size: int, stack: list[_Value]) -> None:
        """Continues with the innermost value."""
        value = stack[-1]
        if not value[1] or (value[0] == _FIELDS and self._skip_fields(store, size, value)):
            stack.pop()
        elif value[0] == _FIELDS:
            self._field(store, stack)
        elif value[0] == TType.STRUCT:
            value[1] -= self._skip(store, size, value[1])
            if value[1]:
                value[1] -= 1
                _push(stack, [_FIELDS, 1, size])
        elif value[0] == TType.MAP and len(value) > 2:
            value[1] -= 1
            _push(stack, [value[3], 1])
            _push(stack, [value[2], 1])
        else:
            self._values(store, size, stack)

    def _skip_fields(self, store: BytesIO, size: int, fields: _Value) -> bool:
        """Skips the remaining fields of the innermost struct if all have arrived. Tried once per arrival of bytes."""
        if fields[2] == size:
            return False
        fields[2] = size
        return bool(self._skip(store, size, 1))

    def _skip(self, store: BytesIO, size: int, count: int) -> int:
        """Skips up to `count` structs, or the rest of one. Returns how many of them have arrived whole."""
        skipped = 0
        self._window.show(store, self._at)
        with suppress(IncompleteError):
            while skipped < count and size - self._at >= _MIN_SKIP:
                self._skipper.skip(TType.STRUCT)
                self._at = store.tell()
                skipped += 1
        return skipped

    def _field(self, store: BytesIO, stack: list[_Value]) -> None:
        store.seek(self._at)
        kind = self._read.field(store)
        self._at = store.tell()
        if kind == TType.STOP:
            stack.pop()
        else:
            _push(stack, [kind, 1])

    def _values(self, store: BytesIO, size: int, stack: list[_Value]) -> None:
        """Skips values of one type; of a container, its head only."""
        value = stack[-1]
        kind, count = value
        fixed = self._read.sizes.get(kind)
        if fixed is not None:
            available = min(count, (size - self._at) // fixed) if fixed else count
            self._at += available * fixed
            value[1] -= available
            if value[1]:
                raise IncompleteError
            return
        store.seek(self._at)
        if kind in (TType.LIST, TType.SET, TType.MAP):
            inner = self._read.map(store) if kind == TType.MAP else self._read.list(store)
            value[1] -= 1
            self._at = store.tell()
            _push(stack, inner)
            return
        while value[1]:
            end = self._read.length(store, kind) + store.tell()
            if end > size:
                raise IncompleteError
            self._at = store.seek(end)
            value[1] -= 1


def _push(stack: list[_Value], value: _Value) -> None:
    if len(stack) > 2 * _MAX_DEPTH:
        raise too_deep()
    stack.append(value)


class _Window(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """Shows the store to the C decoder, and raises IncompleteError at its end."""

    cstringio_buf = BytesIO()

    def show(self, store: BytesIO, at: int) -> None:
        store.seek(at)
        self.cstringio_buf = store

    def readAll(self, sz: int) -> bytes:  # noqa: N802 - Thrift's name
        return _taken(self.cstringio_buf, sz)

    def cstringio_refill(self, _partialread: bytes, _reqlen: int) -> BytesIO:
        raise IncompleteError


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

    def field(self, store: BytesIO) -> int:
        kind = _taken(store, 1)[0]
        if kind != TType.STOP:
            _taken(store, 2)
        return kind

    def list(self, store: BytesIO) -> _Value:
        head = _taken(store, 5)
        return [head[0], _count(head[1:])]

    def map(self, store: BytesIO) -> _Value:
        head = _taken(store, 6)
        return [TType.MAP, _count(head[2:]), head[0], head[1]]

    def length(self, store: BytesIO, kind: int) -> int:
        if kind != TType.STRING:
            raise TProtocolException(TProtocolException.INVALID_DATA, f"malformed message: Unexpected TType {kind}")
        return _count(_taken(store, 4))


class _Compact(_Binary):
    """Reads heads of values in the compact protocol. Types are converted to those of the binary protocol."""

    sizes: ClassVar[dict[int, int]] = {TType.BOOL: 1, TType.BYTE: 1, TType.DOUBLE: 8, TType.UUID: 16, TType.VOID: 0}

    def field(self, store: BytesIO) -> int:
        head = _taken(store, 1)[0]
        if not head:
            return int(TType.STOP)
        if not head >> 4:  # the field id follows if the delta is 0
            _varint(store)
        kind = _type(head)
        return int(TType.VOID) if kind == TType.BOOL else kind  # the head of a boolean field holds the value

    def list(self, store: BytesIO) -> _Value:
        head = _taken(store, 1)[0]
        return [_type(head), head >> 4 if head >> 4 != 15 else _varint(store)]

    def map(self, store: BytesIO) -> _Value:
        count = _varint(store)
        if not count:
            return [TType.BYTE, 0]
        types = _taken(store, 1)[0]
        return [TType.MAP, count, _type(types >> 4), _type(types)]

    def length(self, store: BytesIO, kind: int) -> int:
        value = _varint(store)  # the length of a string, or a number
        return value if kind == TType.STRING else 0


def _taken(store: BytesIO, size: int) -> bytes:
    data = store.read(size)
    if len(data) < size:
        raise IncompleteError
    return data


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


def _varint(store: BytesIO) -> int:
    result = 0
    for shift in range(0, 70, 7):
        byte = _taken(store, 1)[0]
        result |= (byte & 127) << shift
        if byte < 128:
            return result
    raise TProtocolException(TProtocolException.INVALID_DATA, "malformed message: varint")
