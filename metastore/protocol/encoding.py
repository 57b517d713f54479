"""Encoding of results. Parts of a result may be encoded already: the database stores encoded structs."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
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

_ENCODED: Final = (EncodedStruct, EncodedList, EncodedMap, EncodedTexts)
_SUCCESS: Final = {kind.wire_type: field_header(kind.wire_type, 0) for kind in _ENCODED}
"""The header of the field `success` of a result, by its type."""


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
