"""Structs in Thrift's JSON protocol: identical to the output of Thrift's own writer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.transport.TTransport import TMemoryBuffer

from metastore.encoding.json import encode_json
from thrift_idl.gen.hive_metastore.ttypes import (
    BinaryColumnStatsData,
    DoubleColumnStatsData,
    FieldSchema,
    GetOpenTxnsResponse,
    Order,
    Partition,
    SerDeInfo,
    SkewedInfo,
    StorageDescriptor,
    Table,
)

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10)
numbers = st.integers(-(2**31), 2**31 - 1)
maps = st.dictionaries(texts, texts, max_size=3)
columns = st.lists(st.builds(FieldSchema, name=texts, type=texts, comment=st.none() | texts), max_size=3)
skew = st.builds(
    SkewedInfo,
    skewedColNames=st.lists(texts, max_size=2),
    skewedColValues=st.lists(st.lists(texts, max_size=2), max_size=2),
    skewedColValueLocationMaps=st.dictionaries(st.lists(texts, max_size=2).map(tuple), texts, max_size=3),
)
descriptors = st.builds(
    StorageDescriptor,
    cols=columns,
    location=st.none() | texts,
    compressed=st.none() | st.booleans(),
    numBuckets=numbers,
    serdeInfo=st.builds(SerDeInfo, name=st.none() | texts, parameters=maps),
    sortCols=st.lists(st.builds(Order, col=texts, order=numbers), max_size=2),
    parameters=maps,
    skewedInfo=skew,
)
partitions = st.builds(
    Partition, values=st.lists(texts, max_size=3), createTime=numbers, sd=descriptors, parameters=maps
)
tables = st.builds(Table, tableName=texts, sd=descriptors, partitionKeys=columns, parameters=maps, retention=numbers)


def by_thrift(struct: Any) -> str:
    buffer = TMemoryBuffer()
    struct.write(TJSONProtocol(buffer))
    return str(buffer.getvalue().decode())


def read(kind: Any, text: str) -> Any:
    struct = kind()
    struct.read(TJSONProtocol(TMemoryBuffer(text.encode())))
    return struct


@given(partitions | tables)
def test_the_json_equals_thrifts(struct: Any) -> None:
    assert encode_json(struct) == by_thrift(struct)


@given(partitions)
def test_thrift_reads_it_back(partition: Partition) -> None:
    assert read(Partition, encode_json(partition)) == partition


@given(st.text(st.characters(categories=["Cc"]) | st.sampled_from('"\\/é😀')))
def test_control_characters_are_escaped_as_json_requires(text: str) -> None:
    """Java's reader accepts them; Thrift's writer for Python does not escape them."""
    encoded = encode_json(FieldSchema(name=text))
    assert json.loads(encoded) == {"1": {"str": text}}
    assert read(FieldSchema, encoded).name == text


@given(st.floats(allow_nan=False), st.binary(max_size=10), st.sets(numbers, max_size=3))
def test_numbers_bytes_and_sets(number: float, data: bytes, ids: set[int]) -> None:
    statistics = DoubleColumnStatsData(lowValue=number, numNulls=2**62, bitVectors=data)
    assert read(DoubleColumnStatsData, encode_json(statistics)) == statistics
    answer = GetOpenTxnsResponse(txn_high_water_mark=1, open_txns=sorted(ids), abortedBits=data)
    assert read(GetOpenTxnsResponse, encode_json(answer)) == answer


@pytest.mark.parametrize(("number", "text"), [(float("inf"), '"Infinity"'), (float("-inf"), '"-Infinity"')])
def test_special_numbers_are_written_as_words(number: float, text: str) -> None:
    assert f'"dbl":{text}' in encode_json(BinaryColumnStatsData(avgColLen=number))


def test_not_a_number() -> None:
    assert '"dbl":"NaN"' in encode_json(BinaryColumnStatsData(avgColLen=float("nan")))
