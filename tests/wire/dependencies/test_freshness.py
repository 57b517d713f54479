"""A dependent partition becomes stale when base data are rewritten, and not by other changes of a base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.wire.builders import columns
from tests.wire.dependencies.requests import add, add_to_dependent, create, fresh
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    EnvironmentContext,
    LongColumnStatsData,
)
from thrift_idl.gen.metastore.ttypes import CarePartitionsRequest, CountedColumns, RefreshColumnStatisticsRequest

Change = Callable[[Any, str], None]
STATISTICS = {"spark.sql.statistics.numRows": "1", "spark.sql.statistics.totalSize": "9", "transient_lastDdlTime": "7"}


def altered(context: dict[str, str], **parameters: str) -> Change:
    """Alters t@ds=1/hr=1: adds these parameters."""

    def change(client: Any, database: str) -> None:
        partition = client.get_partition(database, "t", ["1", "1"])
        partition.parameters |= parameters
        client.alter_partition_with_environment_context(database, "t", partition, EnvironmentContext(context))

    return change


def renames(client: Any, database: str) -> None:
    for old, new in (("t", "elsewhere"), ("elsewhere", "t")):
        base = client.get_table(database, old)
        base.tableName = new
        client.alter_table(database, old, base)


def widens(client: Any, database: str) -> None:
    base = client.get_table(database, "t")
    base.sd.cols = [*base.sd.cols, *columns(("more", "int"))]
    client.alter_table_with_cascade(database, "t", base, True)


def widens_and_renames(client: Any, database: str) -> None:
    base = client.get_table(database, "t")
    base.sd.cols, base.tableName = [*base.sd.cols, *columns(("more", "int"))], "u"
    client.alter_table_with_cascade(database, "t", base, True)


def counts(client: Any, database: str) -> None:
    data = ColumnStatisticsData(longStats=LongColumnStatsData(1, 2, 0, 2))
    description = ColumnStatisticsDesc(False, database, "t", "ds=1/hr=1")
    statistics = ColumnStatistics(description, [ColumnStatisticsObj("a", "int", data)])
    client.update_partition_column_statistics(statistics)


def counts_again(client: Any, database: str) -> None:
    """Table care refreshes statistics that are outdated."""
    counts(client, database)
    altered({"alterTableOpType": "UPDATESTATS"}, numRows="5", COLUMN_STATS_ACCURATE="{}")(client, database)
    request = CarePartitionsRequest(database, "t", kind="statistics")
    (one,) = [each for each in client.get_care_partitions(request) if each.columns]
    data = ColumnStatisticsData(longStats=LongColumnStatsData(3, 4, 0, 2))
    entry = CountedColumns(one.name, one.version, [ColumnStatisticsObj("a", "int", data)])
    refreshing = RefreshColumnStatisticsRequest(database, "t", None, [entry])
    assert client.refresh_column_statistics(refreshing) == ["ds=1/hr=1"]


def tells(client: Any, database: str) -> None:
    """Alters the dependent partition itself, on which another one depends."""
    dependent = client.get_partition(database, "tdep", ["1"])
    dependent.parameters |= {"note": "checked"}
    context = EnvironmentContext({"alterTableOpType": "ADDPROPS"})
    client.alter_partition_with_environment_context(database, "tdep", dependent, context)


@pytest.fixture
def signals(client: Any, database: str) -> str:
    """Creates days 1 and 2 of tdep and second; day 2 is stale."""
    create(client, database, "second", "tdep")
    add(client, database, "t", ["1", "1"], ["1", "2"], ["2", "1"])
    for name in ("tdep", "second"):
        add_to_dependent(client, database, name, ["1"], ["2"])
    add(client, database, "t", ["2", "2"])
    return database


@pytest.mark.parametrize(
    "change",
    [
        altered({"alterTableOpType": "ADDPROPS"}, comment="nice"),
        altered({"alterTableOpType": "UPDATESTATS"}, numRows="5"),
        altered({}, **STATISTICS),
        counts,
        counts_again,
        renames,
        widens,
        widens_and_renames,
        tells,
    ],
)
def test_fresh_stays_fresh_and_stale_stays_stale(client: Any, signals: str, change: Change) -> None:
    change(client, signals)
    for name in ("tdep", "second"):
        assert fresh(client, signals, name) == {"ds=1": True, "ds=2": False}
    altered({})(client, signals) if "t" in client.get_all_tables(signals) else add(client, signals, "u", ["1", "3"])
    for name in ("tdep", "second"):
        assert fresh(client, signals, name) == {"ds=1": False, "ds=2": False}


@pytest.mark.parametrize(
    "change",
    [
        altered({}),
        altered({}, comment="perhaps a rewriting"),
        altered({}, transient_lastDdlTime="8"),
        altered({}, **STATISTICS, numFiles="2"),
        altered({"alterTableOpType": "TRUNCATE"}, numFiles="0"),
        altered({"alterTableOpType": "ADDFILE"}),
    ],
)
def test_a_possible_rewrite_counts_as_one(client: Any, signals: str, change: Change) -> None:
    change(client, signals)
    for name in ("tdep", "second"):
        assert fresh(client, signals, name) == {"ds=1": False, "ds=2": False}
