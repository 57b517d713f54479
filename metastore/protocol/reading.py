"""Decoding of arguments. The partitions of a call usually have the same columns: they share one list, which saves most
of the memory and time of a large call.
"""

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
    """Reads the arguments of a call. A storage descriptor with the columns of the previous one shares its list.

    Raises the errors of the protocol.
    """
    spec = _sharing(arguments.__class__)
    if spec is arguments.thrift_spec or not isinstance(protocol, TBinaryProtocol):
        arguments.read(protocol)
        return
    _reading.columns = _Columns(protocol.trans)
    try:
        protocol._fast_decode(arguments, protocol, [arguments.__class__, spec])  # noqa: SLF001 - generated structs call it in the same way
    finally:
        del _reading.columns


class _Columns:
    """The columns of the previous storage descriptor, decoded and encoded."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._last = StorageDescriptor()
        self._shared: list[FieldSchema] | None = None
        self._encoded = b""

    def begin(self) -> StorageDescriptor:
        """Returns a new storage descriptor, whose fields the decoder reads next. If its columns are the previous ones,
        skips their bytes and sets the shared list.
        """
        self._remember()
        sd, buffer = StorageDescriptor(), self._transport.cstringio_buf
        if self._encoded and _skipped(buffer, self._encoded):
            sd.cols = self._shared
        self._last = sd
        return sd

    def _remember(self) -> None:
        columns = self._last.cols
        if columns is None or columns is self._shared:
            return
        encoded = encode_fields(StorageDescriptor(cols=columns))
        if encoded == self._encoded:  # the buffer held only part of their bytes, so `_skipped` did not recognize them
            self._last.cols = self._shared
        else:
            self._shared, self._encoded = columns, encoded


class _Reading(threading.local):
    """The columns of the call that a thread decodes."""

    columns: _Columns


_reading = _Reading()


class _Descriptor(StorageDescriptor):
    """The class that Thrift's decoder instantiates at the beginning of a storage descriptor."""

    def __new__(cls) -> StorageDescriptor:  # type: ignore[misc] # the decoder fills any object that it gets
        return _reading.columns.begin()


def _skipped(buffer: BytesIO, expected: bytes) -> bool:
    """Skips these bytes if they are next in the buffer, and returns whether they were."""
    position = buffer.tell()
    if buffer.read(len(expected)) == expected:
        return True
    buffer.seek(position)
    return False


@cache
def _sharing(struct: Any) -> Any:
    """Returns the specification of a struct with storage descriptors that share their columns. If it has no storage
    descriptors, returns the struct's own specification.
    """
    return _replaced(struct.thrift_spec, ())


def _replaced(arguments: Any, enclosing: tuple[int, ...]) -> Any:
    """Returns a part of a specification with StorageDescriptor replaced. `enclosing`: the IDs of the parts around it,
    because a struct may contain itself.
    """
    if not isinstance(arguments, tuple | list) or id(arguments) in enclosing:
        return arguments
    if arguments[:1] == [StorageDescriptor]:
        return [_Descriptor, arguments[1]]
    new = [_replaced(argument, (*enclosing, id(arguments))) for argument in arguments]
    same = all(argument is old for argument, old in zip(new, arguments, strict=True))
    return arguments if same else type(arguments)(new)
