"""Partitions with equal columns share one list of them, and otherwise equal the result of Thrift's own decoder."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from metastore.protocol.messages import read_arguments
from thrift_idl.gen.hive_metastore.ThriftHiveMetastore import add_partitions_args
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition, StorageDescriptor

texts = st.text(max_size=5)
columns = st.lists(st.builds(FieldSchema, texts, texts, st.none() | texts), max_size=3) | st.none()
shapes = st.lists(columns, min_size=1, max_size=3)


class Pieces(TMemoryBuffer):  # type: ignore[misc] # it has no types
    """A message that arrives in pieces."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data[:size])
        self._rest, self._size = data[size:], size

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> BytesIO:
        count = max(self._size, reqlen - len(partialread))
        self._buffer, self._rest = BytesIO(partialread + self._rest[:count]), self._rest[count:]
        return self._buffer


def encoded(partitions: list[Partition], protocol: Any = TBinaryProtocolAccelerated) -> bytes:
    buffer = TMemoryBuffer()
    add_partitions_args(partitions).write(protocol(buffer, fallback=False))
    data: bytes = buffer.getvalue()
    return data


def read(transport: TMemoryBuffer, protocol: Any = TBinaryProtocolAccelerated) -> list[Partition]:
    arguments = add_partitions_args()
    read_arguments(arguments, protocol(transport, fallback=False))
    partitions: list[Partition] = arguments.new_parts
    return partitions


@given(shapes, st.lists(st.tuples(st.integers(0, 2), st.none() | texts), max_size=8), st.integers(1, 200))
def test_values_are_read_as_they_were_sent(
    shapes: list[list[FieldSchema] | None], sent: list[tuple[int, str | None]], size: int
) -> None:
    partitions = [
        Partition([str(number)], sd=StorageDescriptor(shapes[shape % len(shapes)], location), parameters={"a": "b"})
        for number, (shape, location) in enumerate(sent)
    ]
    for protocol in (TBinaryProtocolAccelerated, TCompactProtocolAccelerated):
        message = encoded(partitions, protocol)
        assert read(TMemoryBuffer(message), protocol) == partitions
        assert read(Pieces(message, size), protocol) == partitions


def test_the_same_columns_are_one_list() -> None:
    one, other = ([FieldSchema(name, "int", None)] for name in ("a", "b"))
    sent = [Partition([str(n)], sd=StorageDescriptor(cols)) for n, cols in enumerate((one, one, one, other, other))]
    first, second, third, fourth, fifth = (partition.sd.cols for partition in read(TMemoryBuffer(encoded(sent))))
    assert first is second is third is not fourth
    assert fourth is fifth


def test_columns_that_arrive_in_two_pieces_do_not_end_the_sharing() -> None:
    columns = [FieldSchema("a" * 50, "int", None)]
    message = encoded([Partition([str(n)], sd=StorageDescriptor(columns)) for n in range(20)])
    lists = [id(partition.sd.cols) for partition in read(Pieces(message, len(message) // 7))]
    assert len(set(lists[:-1])) == 1


def test_a_message_that_ends_too_early_is_not_read() -> None:
    message = encoded([Partition([str(n)], sd=StorageDescriptor([FieldSchema("a", "int", None)])) for n in range(3)])
    for end in range(len(message) - 1):
        with pytest.raises(EOFError):
            read(TMemoryBuffer(message[:end]))
