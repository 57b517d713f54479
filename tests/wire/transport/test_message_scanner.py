"""The end of a message is found for all contents, and in pieces of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer

from metastore.transport.buffers import MessageReader
from metastore.transport.memory import Memory
from metastore.transport.message_scanner import MessageScanner
from metastore.transport.wire_format import WireFormat
from tests.fixtures.examples import examples

FORMATS = (WireFormat(framed=False), WireFormat(framed=False, strict=False), WireFormat(framed=False, compact=True))

_scalars: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.just(TType.BOOL), st.booleans()),
    st.tuples(st.just(TType.BYTE), st.integers(-128, 127)),
    st.tuples(st.just(TType.I16), st.integers(-(2**15), 2**15 - 1)),
    st.tuples(st.just(TType.I32), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just(TType.I64), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(TType.DOUBLE), st.floats(allow_nan=False)),
    st.tuples(st.just(TType.STRING), st.text(max_size=200)),
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    same = inner.flatmap(lambda value: st.integers(0, 20).map(lambda times: (value[0], [value[1]] * times)))
    return st.one_of(
        st.tuples(st.just(TType.STRUCT), st.lists(st.tuples(st.integers(1, 300), inner), max_size=8)),
        st.tuples(st.sampled_from([TType.LIST, TType.SET]), same),
        st.tuples(st.just(TType.MAP), st.tuples(inner, inner, st.integers(0, 9))),
    )


_values = st.recursive(_scalars, _containers, max_leaves=20)


def write(protocol: Any, kind: int, value: Any) -> None:
    if kind == TType.STRUCT:
        protocol.writeStructBegin("")
        for number, (inner, content) in value:
            protocol.writeFieldBegin("", inner, number)
            write(protocol, inner, content)
            protocol.writeFieldEnd()
        protocol.writeFieldStop()
        protocol.writeStructEnd()
    elif kind in (TType.LIST, TType.SET):
        protocol.writeListBegin(value[0], len(value[1]))
        for each in value[1]:
            write(protocol, value[0], each)
        protocol.writeListEnd()
    elif kind == TType.MAP:
        key, content, count = value
        protocol.writeMapBegin(key[0], content[0], count)
        for _ in range(count):
            write(protocol, *key)
            write(protocol, *content)
        protocol.writeMapEnd()
    else:
        names = {TType.BOOL: "Bool", TType.BYTE: "Byte", TType.I16: "I16", TType.I32: "I32", TType.I64: "I64"}
        name = {**names, TType.DOUBLE: "Double", TType.STRING: "String"}[kind]
        getattr(protocol, f"write{name}")(value)


def received(data: bytes) -> MessageReader:
    reader = MessageReader(cast(Any, None), limit=2**30, memory=Memory(2**40))
    reader.reset(data)
    return reader


def message(wire_format: WireFormat, fields: Any) -> bytes:
    buffer = TMemoryBuffer()
    protocol = wire_format.protocol(buffer, 2**30, 2**30)
    protocol.writeMessageBegin("some_method", TMessageType.CALL, 300)
    write(protocol, TType.STRUCT, fields)
    protocol.writeMessageEnd()
    return bytes(buffer.getvalue())


@given(st.sampled_from(FORMATS), st.lists(st.tuples(st.integers(1, 300), _values), max_size=8), st.data())
@settings(deadline=None, max_examples=examples(200))
def test_the_end_is_found_when_it_has_arrived_and_not_before(
    wire_format: WireFormat, fields: Any, data: st.DataObject
) -> None:
    whole = message(wire_format, fields)
    before = data.draw(st.binary(max_size=5))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=10)))
    reader = received(b"")
    end = MessageScanner(wire_format, reader, len(before))
    for cut in cuts:
        reader.reset(before + whole[:cut])
        reader.store.seek(len(before))
        assert end.find() is None
        assert reader.position == len(before)
    behind = data.draw(st.binary(max_size=80))
    reader.reset(before + whole + behind)
    assert end.find() == len(before + whole)


@pytest.mark.parametrize("wire_format", FORMATS)
def test_each_byte_alone(wire_format: WireFormat) -> None:
    fields = [(1, (TType.MAP, ((TType.STRING, "key"), (TType.STRUCT, [(20, (TType.I64, -5))]), 9)))] * 3
    whole = message(wire_format, fields)
    reader = received(b"")
    end, actual = MessageScanner(wire_format, reader, 0), []
    for size in range(1, len(whole) + 1):
        reader.reset(whole[:size])
        actual.append(end.find())
    assert actual == [None] * (len(whole) - 1) + [len(whole)]


def test_a_depth_without_end_is_rejected() -> None:
    data = message(FORMATS[0], [])[:-1] + b"\x0c\x00\x01" * 1000
    with pytest.raises(TProtocolException, match="recursion depth"):
        MessageScanner(FORMATS[0], received(data), 0).find()


def structs(depth: int) -> tuple[bytes, bytes]:
    return b"\x0c\x00\x01" * depth, bytes(depth + 1)


def lists(depth: int) -> tuple[bytes, bytes]:
    return b"\x0f\x00\x01" + b"\x0f\x00\x00\x00\x01" * (depth - 1), b"\x08" + bytes(5)


@pytest.mark.parametrize("levels", [structs, lists])
def test_no_more_levels_are_kept_than_the_decoder_allows(
    levels: Callable[[int], tuple[bytes, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each level takes half a kilobyte until the rest of the message has arrived."""
    head, deepest = message(FORMATS[0], [])[:-1], 62
    begin, end = levels(deepest)
    reader = received(begin + end)
    FORMATS[0].protocol(reader, 2**30, 2**30).skip(TType.STRUCT)
    assert not reader.unread, "the decoder allows it"
    monkeypatch.setattr("metastore.transport.message_scanner._MIN_SKIP", 2**30)  # the decoder is not asked
    whole, reader = head + begin + end, received(b"")
    scanner = MessageScanner(FORMATS[0], reader, 0)
    for size in range(1, len(whole)):
        reader.reset(whole[:size])
        assert scanner.find() is None
    reader.reset(whole)
    assert scanner.find() == len(whole)
    with pytest.raises(TProtocolException, match="recursion depth"):
        MessageScanner(FORMATS[0], received(head + levels(deepest + 4)[0]), 0).find()


@pytest.mark.parametrize(("wire_format", "field"), [(FORMATS[0], b"\x01\x00\x01"), (FORMATS[2], b"\x1f")])
def test_an_invalid_type_is_rejected_even_if_the_rest_is_readable(wire_format: WireFormat, field: bytes) -> None:
    data = message(wire_format, [])[:-1] + field + bytes(200)
    with pytest.raises(TProtocolException, match=r"malformed message: .*[Tt]ype"):
        MessageScanner(wire_format, received(data), 0).find()
