"""Finds the end of an unframed message while it arrives. Each byte is looked at about once, and none is copied."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from typing import Any, ClassVar, Final

from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TType
from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

from metastore.transport.buffers import IncompleteError
from metastore.transport.wire_format import WireFormat, too_deep

_MAX_DEPTH: Final = 64  # levels, as in the C decoder
_MIN_SKIP: Final = 64  # bytes; for fewer, calling the C decoder is not worth it

_STRICT: Final = b"\x80\x01"
_COMPACT: Final = b"\x82"

_FIELDS: Final = -1  # instead of a Thrift type: the remaining fields of a struct

_Value = list[Any]
"""[type, number of values still to come]. For a map, the types of its keys and values follow. For _FIELDS, the size of
the store follows when skipping them was last tried."""


class MessageScanner:
    """Parses the structure of one message incrementally.

    Thrift's C decoder skips structs that have arrived whole. If the bytes end inside a struct, its fields are parsed
    here. A stack holds the values that are still to come, so that parsing continues there when more bytes arrive.
    """

    def __init__(self, wire_format: WireFormat, start: int) -> None:
        self._read: _Binary = _Compact() if wire_format.compact else _Binary()
        self._window = _Window()
        self._skipper = wire_format.protocol(self._window, 2**31 - 1, 2**31 - 1)
        self._at = start
        self._header: int | None = None
        self._stack: list[_Value] = []

    def head(self, store: BytesIO, size: int) -> int | None:
        """Returns where the arguments begin, or None if the head is incomplete. Raises TProtocolException."""
        position = store.tell()
        try:
            return self._at if self._read_head(store, size) else None
        finally:
            store.seek(position)

    def find(self, store: BytesIO, size: int) -> int | None:
        """Returns the end of the message in `store`, which has `size` bytes, or None if the message is incomplete.

        Raises TProtocolException if the bytes are not a Thrift message.
        """
        position = store.tell()
        try:
            if self._header is None and not self._read_head(store, size):
                return None
            while self._stack:
                if not self._advance(store, size):
                    return None
            return self._at
        finally:
            store.seek(position)

    def _read_head(self, store: BytesIO, size: int) -> bool:
        self._window.show(store, self._at)
        try:
            self._skipper.readMessageBegin()
        except IncompleteError:
            return False
        self._at = self._header = store.tell()
        self._stack = [[TType.STRUCT, 1]]
        return self._at <= size

    def _advance(self, store: BytesIO, size: int) -> bool:
        """Continues with the innermost value. Returns False if its bytes have not arrived."""
        value = self._stack[-1]
        if not value[1]:
            self._stack.pop()
        elif value[0] == _FIELDS:
            return self._skip_fields(store, size, value) or self._field(store)
        elif value[0] == TType.STRUCT:
            value[1] -= self._skip(store, size, value[1])
            if value[1]:
                value[1] -= 1
                self._push([_FIELDS, 1, size])
        elif value[0] == TType.MAP and len(value) > 2:
            value[1] -= 1
            self._push([value[3], 1])
            self._push([value[2], 1])
        else:
            return self._values(store, size, value)
        return True

    def _skip_fields(self, store: BytesIO, size: int, fields: _Value) -> bool:
        """Skips the remaining fields of the innermost struct if all have arrived. Tried once per arrival of bytes."""
        if fields[2] == size:
            return False
        fields[2] = size
        if not self._skip(store, size, 1):
            return False
        self._stack.pop()
        return True

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

    def _field(self, store: BytesIO) -> bool:
        store.seek(self._at)
        kind = self._read.field(store)
        if kind is None:
            return False
        self._at = store.tell()
        if kind == TType.STOP:
            self._stack.pop()
        else:
            self._push([kind, 1])
        return True

    def _values(self, store: BytesIO, size: int, value: _Value) -> bool:
        """Skips values of one type; of a container, its head only."""
        kind, count = value
        fixed = self._read.sizes.get(kind)
        if fixed is not None:
            available = min(count, (size - self._at) // fixed) if fixed else count
            self._at += available * fixed
            value[1] -= available
            return not value[1]
        store.seek(self._at)
        if kind in (TType.LIST, TType.SET, TType.MAP):
            inner = self._read.map(store) if kind == TType.MAP else self._read.list(store)
            if inner is None:
                return False
            value[1] -= 1
            self._at = store.tell()
            self._push(inner)
            return True
        while value[1]:
            length = self._read.length(store, kind)
            if length is None or store.tell() + length > size:
                return False
            self._at = store.tell() + length
            store.seek(self._at)
            value[1] -= 1
        return True

    def _push(self, value: _Value) -> None:
        if len(self._stack) > 2 * _MAX_DEPTH:
            raise too_deep()
        self._stack.append(value)


class _Window(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """Shows the store to the C decoder, and raises IncompleteError at its end."""

    def __init__(self) -> None:
        self._store = BytesIO()

    def show(self, store: BytesIO, at: int) -> None:
        store.seek(at)
        self._store = store

    @property
    def cstringio_buf(self) -> BytesIO:
        return self._store

    def read(self, sz: int) -> bytes:
        return self._store.read(sz) or self.cstringio_refill(b"", sz).read(sz)

    def readAll(self, sz: int) -> bytes:  # noqa: N802 - Thrift's name
        data = self._store.read(sz)
        return data if len(data) == sz else self.cstringio_refill(data, sz).read(sz)

    def cstringio_refill(self, _partialread: bytes, _reqlen: int) -> BytesIO:
        raise IncompleteError(TTransportException.END_OF_FILE, "closed by the peer inside a message")


class _Binary:
    """Reads heads of values in the binary protocol. Methods return None if a head is incomplete."""

    sizes: ClassVar[dict[int, int]] = {
        TType.BOOL: 1,
        TType.BYTE: 1,
        TType.I16: 2,
        TType.I32: 4,
        TType.I64: 8,
        TType.DOUBLE: 8,
    }

    def field(self, store: BytesIO) -> int | None:
        head = store.read(3)
        if head[:1] == b"\x00":
            store.seek(len(head) * -1 + 1, 1)
            return int(TType.STOP)
        return head[0] if len(head) == 3 else None

    def list(self, store: BytesIO) -> _Value | None:
        head = store.read(5)
        return [head[0], _count(head[1:])] if len(head) == 5 else None

    def map(self, store: BytesIO) -> _Value | None:
        head = store.read(6)
        return [TType.MAP, _count(head[2:]), head[0], head[1]] if len(head) == 6 else None

    def length(self, store: BytesIO, kind: int) -> int | None:
        if kind != TType.STRING:
            raise TProtocolException(TProtocolException.INVALID_DATA, f"malformed message: Unexpected TType {kind}")
        head = store.read(4)
        return _count(head) if len(head) == 4 else None


class _Compact(_Binary):
    """Reads heads of values in the compact protocol. Types are converted to those of the binary protocol."""

    sizes: ClassVar[dict[int, int]] = {TType.BOOL: 1, TType.BYTE: 1, TType.DOUBLE: 8, TType.VOID: 0}
    _types: ClassVar[dict[int, int]] = {
        1: TType.VOID,  # the head of a boolean field holds the value
        2: TType.VOID,
        3: TType.BYTE,
        4: TType.I16,
        5: TType.I32,
        6: TType.I64,
        7: TType.DOUBLE,
        8: TType.STRING,
        9: TType.LIST,
        10: TType.SET,
        11: TType.MAP,
        12: TType.STRUCT,
    }

    def field(self, store: BytesIO) -> int | None:
        head = store.read(1)
        if not head:
            return None
        if head == b"\x00":
            return int(TType.STOP)
        if not head[0] >> 4 and _varint(store) is None:  # the field id follows if the delta is 0
            return None
        return self._type(head[0] & 15)

    def list(self, store: BytesIO) -> _Value | None:
        head = store.read(1)
        if not head:
            return None
        count = head[0] >> 4 if head[0] >> 4 != 15 else _varint(store)
        return None if count is None else [self._element(head[0] & 15), count]

    def map(self, store: BytesIO) -> _Value | None:
        count = _varint(store)
        if not count:
            return None if count is None else [TType.BYTE, 0]
        types = store.read(1)
        return [TType.MAP, count, self._element(types[0] >> 4), self._element(types[0] & 15)] if types else None

    def length(self, store: BytesIO, kind: int) -> int | None:
        if kind == TType.STRING:
            return _varint(store)
        return None if _varint(store) is None else 0

    def _element(self, kind: int) -> int:
        """Returns the type of a container's elements: a boolean is one byte there."""
        return int(TType.BOOL) if kind in (1, 2) else self._type(kind)

    def _type(self, kind: int) -> int:
        if kind not in self._types:
            raise TProtocolException(TProtocolException.INVALID_DATA, f"malformed message: Unexpected TType {kind}")
        return int(self._types[kind])


def _count(data: bytes) -> int:
    count = int.from_bytes(data, "big", signed=True)
    if count < 0:
        raise TProtocolException(TProtocolException.NEGATIVE_SIZE, "malformed message: negative length")
    return count


def _varint(store: BytesIO) -> int | None:
    result = 0
    for shift in range(0, 70, 7):
        byte = store.read(1)
        if not byte:
            return None
        result |= (byte[0] & 127) << shift
        if byte[0] < 128:
            return result
    raise TProtocolException(TProtocolException.INVALID_DATA, "malformed message: varint")
