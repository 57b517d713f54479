"""Figures of Spark become statistics of columns as Hive's clients read them."""

from __future__ import annotations

from decimal import Decimal as Number
from typing import Any

import pytest

from metastore.client.structs import Column
from spark_client.care_columns import groups, kind_of, statistics_of
from thrift_idl.gen.hive_metastore.ttypes import (
    BinaryColumnStatsData,
    BooleanColumnStatsData,
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
from thrift_idl.gen.metastore.ttypes import CarePartition

ROWS = {"rows": 10, "values": 8, "distinct": 5}
BOUNDS = {**ROWS, "low": -3, "high": 7}
LENGTHS = {**ROWS, "longest": 9, "average": 2.5}
DECIMALS = {**ROWS, "low": Number("-12.30"), "high": Number("0.00")}


@pytest.mark.parametrize(
    ("type_", "figures", "member", "expected"),
    [
        ("tinyint", BOUNDS, "longStats", LongColumnStatsData(-3, 7, 2, 5)),
        ("BIGINT", BOUNDS, "longStats", LongColumnStatsData(-3, 7, 2, 5)),
        ("float", {**ROWS, "low": 0.5, "high": 1e300}, "doubleStats", DoubleColumnStatsData(0.5, 1e300, 2, 5)),
        ("string", LENGTHS, "stringStats", StringColumnStatsData(9, 2.5, 2, 5)),
        ("char(10)", LENGTHS, "stringStats", StringColumnStatsData(9, 2.5, 2, 5)),
        ("varchar(10)", LENGTHS, "stringStats", StringColumnStatsData(9, 2.5, 2, 5)),
        ("binary", LENGTHS, "binaryStats", BinaryColumnStatsData(9, 2.5, 2)),
        ("boolean", {"rows": 10, "values": 8, "trues": 3}, "booleanStats", BooleanColumnStatsData(3, 5, 2)),
        (
            "decimal(10,2)",
            DECIMALS,
            "decimalStats",
            DecimalColumnStatsData(
                Decimal(unscaled=(-1230).to_bytes(2, "big", signed=True), scale=2),
                Decimal(unscaled=b"\0", scale=2),
                2,
                5,
            ),
        ),
        ("date", BOUNDS, "dateStats", DateColumnStatsData(Date(-3), Date(7), 2, 5)),
        ("timestamp", BOUNDS, "timestampStats", TimestampColumnStatsData(Timestamp(-3), Timestamp(7), 2, 5)),
    ],
)
def test_each_kind(type_: str, figures: dict[str, Any], member: str, expected: Any) -> None:
    statistics = statistics_of(Column("Name", type_), figures)
    assert (statistics.colName, statistics.colType) == ("name", type_.lower())
    assert getattr(statistics.statsData, member) == expected


@pytest.mark.parametrize("type_", ["int", "double", "decimal(38,0)", "date", "timestamp"])
@pytest.mark.parametrize("figures", [{}, {"rows": 4, "values": 0, "low": None, "high": None, "distinct": 0}])
def test_without_values_there_are_no_bounds(type_: str, figures: dict[str, Any]) -> None:
    kind = kind_of(type_)
    assert kind is not None
    data = getattr(statistics_of(Column("c", type_), figures).statsData, kind.member)
    assert (data.lowValue, data.highValue, data.numNulls, data.numDVs) == (None, None, figures.get("rows", 0), 0)


def test_without_values_lengths_are_zero() -> None:
    data = statistics_of(Column("c", "string"), {"rows": 4, "values": 0, "longest": None, "average": None}).statsData
    assert data.stringStats == StringColumnStatsData(0, 0.0, 4, 0)


def test_there_are_not_more_distinct_values_than_values() -> None:
    data = statistics_of(Column("c", "int"), {**BOUNDS, "distinct": 9}).statsData
    assert data.longStats.numDVs == 8, "the number of distinct values is an estimate"


@pytest.mark.parametrize(
    "type_", ["array<int>", "map<string,int>", "struct<a:int>", "timestamp_ntz", "interval_year_month", "variant", ""]
)
def test_other_types_have_no_statistics(type_: str) -> None:
    assert kind_of(type_) is None
    with pytest.raises(ValueError, match="of which there are no statistics"):
        statistics_of(Column("c", type_), {})


def sizes(*partitions: tuple[int, int | None]) -> list[int]:
    """Returns the numbers of partitions of groups. `partitions`: numbers of partitions with these bytes."""
    every = [CarePartition("p", ["p"], 1, 1, size, 1, False) for number, size in partitions for _ in range(number)]
    return [len(group) for group in groups(every)]


def test_groups_are_bounded() -> None:
    assert sizes() == []
    assert sizes((100, None)) == [100]
    assert sizes((201, 1)) == [100, 100, 1]
    assert sizes((3, 30 << 30), (1, 500 << 30), (2, 1)) == [2, 1, 1, 2]
