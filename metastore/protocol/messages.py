"""The bodies of messages: decodes the arguments of calls, and encodes results.

The partitions of a call usually have the same columns: they share one list, which saves most of the memory and time of
a large call. Parts of a result may be encoded already: the database stores encoded structs.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from io import BytesIO
from itertools import chain
from typing import Any, Final

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TProtocol import TProtocolBase
from thrift.Thrift import TType

from metastore.encoding.binary import (
    STOP,
    EncodedList,
    EncodedMap,
    EncodedStruct,
    EncodedTexts,
    encode_fields,
    field_header,
)
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, StorageDescriptor

_ENCODED: Final = (EncodedStruct, EncodedList, EncodedMap, EncodedTexts)
_SUCCESS: Final = {kind.wire_type: field_header(kind.wire_type, 0) for kind in _ENCODED}
"""The header of the field `success` of a result, by its type."""


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


def write_result(protocol: TProtocolBase, result: Any) -> None:
    """Writes the result of a method. Encoded parts are decoded first if the protocol is not binary."""
    success: Any = getattr(result, "success", None)
    if isinstance(success, _ENCODED):
        if isinstance(protocol, TBinaryProtocol):
            _write(protocol, success.chunks(_SUCCESS[success.wire_type], STOP))
        elif isinstance(success, EncodedList):
            _write_list(protocol, success)
        else:
            result.success = success.decode()
            result.write(protocol)
    elif encoded := _encoded_fields(success):
        if isinstance(protocol, TBinaryProtocol):
            _write(protocol, chain((_SUCCESS[TType.STRUCT],), _struct_chunks(success, encoded), (STOP,)))
        else:
            result.success = _decoded(success, encoded)
            result.write(protocol)
    else:
        result.write(protocol)


def _write(protocol: TBinaryProtocol, chunks: Iterable[bytes]) -> None:
    for chunk in chunks:
        protocol.trans.write(chunk)


def _write_list(protocol: TProtocolBase, structs: EncodedList[Any]) -> None:
    """Decodes and writes one struct at a time. Decoding all of them at once would block every other thread."""
    protocol.writeStructBegin("result")
    protocol.writeFieldBegin("success", TType.LIST, 0)
    protocol.writeListBegin(TType.STRUCT, len(structs))
    for struct in structs.decoded():
        struct.write(protocol)
    protocol.writeListEnd()
    protocol.writeFieldEnd()
    protocol.writeFieldStop()
    protocol.writeStructEnd()


def _encoded_fields(response: Any) -> list[tuple[int, str]]:
    """Lists the numbers and names of the encoded fields of a response."""
    spec = getattr(response, "thrift_spec", None) or ()
    return [(field[0], field[2]) for field in spec if field and isinstance(getattr(response, field[2]), _ENCODED)]


def _struct_chunks(struct: Any, encoded: list[tuple[int, str]]) -> Iterator[bytes]:
    rest = copy.copy(struct)
    for number, name in encoded:
        value = getattr(struct, name)
        setattr(rest, name, None)
        yield from value.chunks(field_header(value.wire_type, number))
    yield encode_fields(rest) + STOP


def _decoded(response: Any, encoded: list[tuple[int, str]]) -> Any:
    decoded = copy.copy(response)
    for _, name in encoded:
        setattr(decoded, name, getattr(response, name).decode())
    return decoded
