"""Encoding of results. Parts of a result may be encoded already: the database stores encoded structs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
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


def write_result(protocol: TProtocolBase, result: Any) -> None:
    """Writes the result of a method. Encoded parts are decoded first if the protocol is not binary."""
    success: Any = getattr(result, "success", None)
    encoded = _encoded_fields(success)
    if not encoded:
        result.write(protocol)
    elif isinstance(protocol, TBinaryProtocol):
        kind = success.wire_type if _is_encoded(success) else TType.STRUCT
        write = protocol.trans.write
        write(field_header(kind, 0))
        for chunk in success.chunks() if _is_encoded(success) else _struct_chunks(success, encoded):
            write(chunk)
        write(STOP)
    elif isinstance(success, EncodedList):
        _write_list(protocol, success)
    else:
        result.success = _decoded(success, encoded)
        result.write(protocol)


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


def _is_encoded(value: Any) -> bool:
    return isinstance(value, _ENCODED)


def _encoded_fields(value: Any) -> list[tuple[int, str]]:
    """Lists the numbers and names of the encoded fields of a response. An encoded value itself counts as one field
    without a name.
    """
    if _is_encoded(value):
        return [(0, "")]
    spec = getattr(value, "thrift_spec", None) or ()
    return [(field[0], field[2]) for field in spec if field and _is_encoded(getattr(value, field[2]))]


def _struct_chunks(struct: Any, encoded: list[tuple[int, str]]) -> Iterator[bytes]:
    rest = copy.copy(struct)
    for number, name in encoded:
        value = getattr(struct, name)
        setattr(rest, name, None)
        yield from chain((field_header(value.wire_type, number),), value.chunks())
    yield encode_fields(rest) + STOP


def _decoded(value: Any, encoded: list[tuple[int, str]]) -> Any:
    if _is_encoded(value):
        return value.decode()
    decoded = copy.copy(value)
    for _, name in encoded:
        setattr(decoded, name, getattr(value, name).decode())
    return decoded
