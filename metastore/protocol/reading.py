"""Reading arguments, of which parts may repeat: the partitions of a call mostly have the same columns, many of them."""

from __future__ import annotations

import threading
from functools import cache
from io import BytesIO
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TProtocol import TProtocolBase

from metastore.encoding.binary import encode_fields
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, StorageDescriptor


def read_arguments(arguments: Any, protocol: TProtocolBase) -> None:
    """Reads a method's arguments struct. Storage descriptors with the same columns as the one before share their list.

    Raises what the protocol does.
    """
    spec = _sharing(arguments.__class__)
    if spec is arguments.thrift_spec or not isinstance(protocol, TBinaryProtocol):
        arguments.read(protocol)
        return
    _reading.columns = _Columns(protocol.trans)
    try:
        protocol._fast_decode(arguments, protocol, [arguments.__class__, spec])  # noqa: SLF001 - as the struct does
    finally:
        del _reading.columns


class _Columns:
    """The columns of the storage descriptor that was read last, and their bytes."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._last = StorageDescriptor()
        self._shared: list[FieldSchema] | None = None
        self._encoded = b""

    def begin(self) -> StorageDescriptor:
        """Returns the next storage descriptor, whose fields are read from here on. If it has those columns, they are
        read.
        """
        self._remember()
        sd, buffer = StorageDescriptor(), self._transport.cstringio_buf
        if self._encoded and _passed(buffer, self._encoded):
            sd.cols = self._shared
        self._last = sd
        return sd

    def _remember(self) -> None:
        columns = self._last.cols
        if columns is None or columns is self._shared:
            return
        encoded = encode_fields(StorageDescriptor(cols=columns))
        if encoded == self._encoded:  # their bytes had arrived in two pieces
            self._last.cols = self._shared
        else:
            self._shared, self._encoded = columns, encoded


class _Reading(threading.local):
    """What a thread reads."""

    columns: _Columns


_reading = _Reading()


class _Descriptor(StorageDescriptor):
    """Made by Thrift's decoder where a storage descriptor begins."""

    def __new__(cls) -> StorageDescriptor:  # type: ignore[misc] # the decoder goes on with what it gets
        return _reading.columns.begin()


def _passed(buffer: BytesIO, expected: bytes) -> bool:
    """Tells whether the buffer goes on with these bytes, which are read then."""
    at = buffer.tell()
    if buffer.read(len(expected)) == expected:
        return True
    buffer.seek(at)
    return False


@cache
def _sharing(struct: Any) -> Any:
    """Returns the specification of the struct, with storage descriptors that share their columns; itself if it has
    none.
    """
    return _replaced(struct.thrift_spec, ())


def _replaced(arguments: Any, around: tuple[int, ...]) -> Any:
    """Returns the same for the arguments of a type, as a specification has them. `around`: those that they are in, by
    `id`.
    """
    if not isinstance(arguments, tuple | list) or id(arguments) in around:  # a struct may hold itself
        return arguments
    if arguments[:1] == [StorageDescriptor]:
        return [_Descriptor, arguments[1]]
    new = [_replaced(argument, (*around, id(arguments))) for argument in arguments]
    same = all(argument is old for argument, old in zip(new, arguments, strict=True))
    return arguments if same else type(arguments)(new)
