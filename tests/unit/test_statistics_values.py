"""The statistics of one column: completion, checks and aggregation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.errors import InvalidObjectError
from metastore.services.rules.statistics_values import combined, complete_column, kind_of
from thrift_idl.gen.hive_metastore.ttypes import (
    BinaryColumnStatsData,
    BooleanColumnStatsData,
    ColumnStatisticsData,
    ColumnStatisticsObj,
    Date,
    DateColumnStatsData,
    Decimal,
    DecimalColumnStatsData,
    DoubleColumnStatsData,
    LongColumnStatsData,
    StringColumnStatsData,
    Timestamp,
    TimestampColumnStatsData,
)

LONGS = st.integers(-(2**63), 2**63 - 1)


def column(**data: Any) -> ColumnStatisticsObj:
    return complete_column(ColumnStatisticsObj("A", "Some", ColumnStatisticsData(**data)))


def together(*columns: ColumnStatisticsObj, asked: int | None = None) -> Any:
    result = combined(list(enumerate(columns)), len(columns) if asked is None else asked)
    return getattr(result.statsData, kind_of(result))


def decimal(unscaled: int, scale: int) -> Decimal:
    return Decimal(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True), scale)


def test_names_are_folded_and_counts_filled_in() -> None:
    sent = column(longStats=LongColumnStatsData())
    assert (sent.colName, sent.colType) == ("a", "some")
    data = sent.statsData.longStats
    assert (data.lowValue, data.highValue, data.numNulls, data.numDVs, data.bitVectors) == (None, None, 0, 0, None)
    assert column(stringStats=StringColumnStatsData()).statsData.stringStats.avgColLen == 0.0


@pytest.mark.parametrize(
    "data",
    [
        None,
        ColumnStatisticsData(),
        ColumnStatisticsData(longStats=LongColumnStatsData(), booleanStats=BooleanColumnStatsData()),
        ColumnStatisticsData(decimalStats=DecimalColumnStatsData(lowValue=Decimal(b"\x01" * 65, 0))),
        ColumnStatisticsData(decimalStats=DecimalColumnStatsData(lowValue=Decimal(b"\x01", 32_767))),
    ],
)
def test_invalid_statistics_are_rejected(data: ColumnStatisticsData | None) -> None:
    with pytest.raises(InvalidObjectError):
        complete_column(ColumnStatisticsObj("a", "int", data))


@given(st.lists(st.tuples(LONGS, LONGS, LONGS, LONGS), min_size=1, max_size=5))
def test_longs(rows: list[tuple[int, int, int, int]]) -> None:
    data = together(*(column(longStats=LongColumnStatsData(*row, b"\x00\xff")) for row in rows))
    lows, highs, nulls, distinct = zip(*rows, strict=True)
    assert (data.lowValue, data.highValue, data.numDVs) == (min(lows), max(highs), max(distinct))
    assert data.numNulls == max(-(2**63), min(sum(nulls), 2**63 - 1))
    assert data.bitVectors is None


@given(st.lists(st.tuples(st.integers(-(10**38), 10**38), st.integers(0, 38)), min_size=1, max_size=5))
def test_decimals_of_several_scales(values: list[tuple[int, int]]) -> None:
    data = together(*(column(decimalStats=DecimalColumnStatsData(decimal(*v), decimal(*v), 1, 2)) for v in values))
    scale = max(scale for _, scale in values)
    exact = [unscaled * 10 ** (scale - own) for unscaled, own in values]
    assert int.from_bytes(data.lowValue.unscaled, "big", signed=True) == min(exact)
    assert int.from_bytes(data.highValue.unscaled, "big", signed=True) == max(exact)
    assert data.lowValue.scale == data.highValue.scale == scale


def test_every_kind() -> None:
    assert together(
        column(booleanStats=BooleanColumnStatsData(1, 2, 3)), column(booleanStats=BooleanColumnStatsData(10, 20, 30))
    ) == BooleanColumnStatsData(11, 22, 33)
    assert together(
        column(doubleStats=DoubleColumnStatsData(1.5, 2.5, 1, 4)),
        column(doubleStats=DoubleColumnStatsData(-1.5, 2.0, 1, 9)),
    ) == DoubleColumnStatsData(-1.5, 2.5, 2, 9)
    assert together(
        column(stringStats=StringColumnStatsData(5, 2.5, 1, 4)), column(stringStats=StringColumnStatsData(7, 1.5, 1, 9))
    ) == StringColumnStatsData(7, 2.5, 2, 9)
    assert together(
        column(binaryStats=BinaryColumnStatsData(5, 2.5, 1)), column(binaryStats=BinaryColumnStatsData(7, 1.5, 1))
    ) == BinaryColumnStatsData(7, 2.5, 2)
    assert together(
        column(dateStats=DateColumnStatsData(Date(3), Date(9), 0, 1)),
        column(dateStats=DateColumnStatsData(None, Date(), 5, 0)),
    ) == DateColumnStatsData(Date(3), Date(9), 5, 1)
    assert together(
        column(timestampStats=TimestampColumnStatsData(Timestamp(3), Timestamp(9), 0, 1)),
        column(timestampStats=TimestampColumnStatsData(Timestamp(1), Timestamp(2), 5, 0)),
    ) == TimestampColumnStatsData(Timestamp(1), Timestamp(9), 5, 1)


def test_missing_partitions_are_extrapolated() -> None:
    some = [column(longStats=LongColumnStatsData(10 * n, 10 * n + 5, 3, 4)) for n in (1, 2)]
    data = together(*some, asked=4)
    assert (data.lowValue, data.highValue, data.numNulls, data.numDVs) == (10, 55, 12, 4)


@given(st.floats(allow_nan=True), st.floats(allow_nan=True))
def test_strange_doubles_break_nothing(low: float, high: float) -> None:
    some = [column(doubleStats=DoubleColumnStatsData(low, high, 0, 1)) for _ in range(2)]
    assert isinstance(together(*some, asked=9).lowValue, float)
