"""Column statistics for tests: building and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.wire.builders import new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    LongColumnStatsData,
    PartitionsStatsRequest,
    StringColumnStatsData,
    TableStatsRequest,
)

KEYS = [("ds", "string")]
BITS = bytes(range(256))
ACCURATE = "COLUMN_STATS_ACCURATE"


def longs(column: str, low: int, high: int, nulls: int = 0, distinct: int = 1) -> ColumnStatisticsObj:
    data = LongColumnStatsData(low, high, nulls, distinct, BITS)
    return ColumnStatisticsObj(column, "int", ColumnStatisticsData(longStats=data))


def strings(column: str, longest: int) -> ColumnStatisticsObj:
    data = StringColumnStatsData(longest, longest / 2, 0, 1)
    return ColumnStatisticsObj(column, "string", ColumnStatisticsData(stringStats=data))


def of_table(database: str, name: str, *column_statistics_obj: ColumnStatisticsObj, **fields: Any) -> ColumnStatistics:
    return ColumnStatistics(ColumnStatisticsDesc(True, database, name), list(column_statistics_obj), **fields)


def of_partition(database: str, name: str, part: str, *column_statistics_obj: ColumnStatisticsObj) -> ColumnStatistics:
    return ColumnStatistics(ColumnStatisticsDesc(False, database, name, part), list(column_statistics_obj))


def read(client: Any, database: str, name: str, names: Sequence[str] = ("a", "x"), **fields: Any) -> Any:
    """Returns the statistics of a table by column."""
    table_stats = client.get_table_statistics_req(TableStatsRequest(database, name, list(names), **fields)).tableStats
    return {each.colName: each.statsData for each in table_stats}


def read_partitions(
    client: Any, database: str, name: str, parts: Sequence[str], names: Sequence[str] = ("a", "x")
) -> Any:
    """Returns the statistics by partition and column."""
    request = PartitionsStatsRequest(database, name, list(names), list(parts))
    part_stats = client.get_partitions_statistics_req(request).partStats
    return {part: {column.colName: column.statsData for column in columns} for part, columns in part_stats.items()}


def partitioned(client: Any, values: Sequence[str] = ("1", "2", "3")) -> tuple[str, str]:
    database, name = new_table(client, KEYS)
    client.add_partitions([partition(database, name, [value]) for value in values])
    return database, name
