"""pymetastore: a reader with its own types, which asserts the structure of answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pymetastore.metastore import HMS, HColumn, HPrincipalType
from pymetastore.stats import LongTypeStats, StringTypeStats

from tests.fixtures.server import Server
from tests.wire.builders import columns, descriptor, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    LongColumnStatsData,
    StringColumnStatsData,
)

TYPES = "array<map<string,int>>", "struct<x:decimal(10,2),y:varchar(5)>", "timestamp", "uniontype<int,string>"


@pytest.fixture
def hms(metastore_server: Server) -> Iterator[HMS]:
    with HMS.create(metastore_server.host, metastore_server.port) as client:
        yield client


@pytest.fixture
def events(hive_client: Any, database: str) -> str:
    """A skewed, bucketed, partitioned table with columns of all types and two partitions."""
    sd = descriptor(
        cols=columns(("id", "bigint"), ("name", "string"), *[(f"c{i}", kind) for i, kind in enumerate(TYPES)]),
        bucketCols=["id"],
        numBuckets=4,
        skewedInfo=skewed(["name"], [["x"]]),
    )
    hive_client.create_table(table(database, "events", [("ds", "string")], sd=sd))
    hive_client.add_partitions([partition(database, "events", [value]) for value in ("a b", "c/d")])
    return "events"


def test_databases(hms: HMS, database: str) -> None:
    assert database in hms.list_databases()
    stored_database = hms.get_database(database)
    assert (stored_database.name, stored_database.owner_type) == (database, HPrincipalType.USER)
    assert stored_database.location.endswith(f"/{database}.db")


def test_tables(hms: HMS, database: str, events: str) -> None:
    assert hms.list_tables(database) == [events]
    assert hms.list_columns(database, events) == ["id", "name", "c0", "c1", "c2", "c3"]
    stored_table = hms.get_table(database, events)
    assert (stored_table.name, stored_table.database_name, stored_table.table_type) == (
        events,
        database,
        "MANAGED_TABLE",
    )
    assert [column.type.name for column in stored_table.columns] == [
        "LONG",
        "STRING",
        "LIST",
        "STRUCT",
        "TIMESTAMP",
        "UNION",
    ]
    assert [column.name for column in stored_table.partition_columns] == ["ds"]
    assert stored_table.storage.bucket_property.bucket_count == 4
    assert stored_table.storage.skewed is True


def test_partitions(hms: HMS, database: str, events: str) -> None:
    assert hms.list_partitions(database, events) == ["ds=a b", "ds=c%2Fd"]
    first, second = hms.get_partitions(database, events)
    assert (first.values, second.values) == (["a b"], ["c/d"])
    assert (first.cat_name, first.database_name, first.table_name) == ("hive", database, events)
    assert hms.get_partition(database, events, "ds=c%2Fd").values == ["c/d"]
    assert hms.list_partitions(database, events, 1) == ["ds=a b"]


def test_statistics(hms: HMS, hive_client: Any, database: str, events: str) -> None:
    numbers = ColumnStatisticsData(
        longStats=LongColumnStatsData(1, 9, numNulls=2, numDVs=5, bitVectors=b"\xff\x00\xfe")
    )
    texts = ColumnStatisticsData(stringStats=StringColumnStatsData(maxColLen=7, avgColLen=2.5, numNulls=0, numDVs=3))
    objects = [ColumnStatisticsObj("id", "bigint", numbers), ColumnStatisticsObj("name", "string", texts)]
    described = ColumnStatisticsDesc(isTblLevel=True, dbName=database, tableName=events)
    assert hive_client.update_table_column_statistics(ColumnStatistics(described, objects))
    stored_table = hms.get_table(database, events)
    by_name: dict[str, HColumn] = {column.name: column for column in stored_table.columns}
    first, second = hms.get_table_stats(stored_table, [by_name["id"], by_name["name"]])
    assert (first.catName, first.dbName, first.tableName, first.isTblLevel) == ("hive", database, events, True)
    assert isinstance(first.stats, LongTypeStats)
    assert (first.stats.lowValue, first.stats.highValue, first.stats.numNulls, first.stats.cardinality) == (1, 9, 2, 5)
    assert isinstance(second.stats, StringTypeStats)
    assert (second.stats.maxColLen, second.stats.avgColLen, second.stats.cardinality) == (7, 2.5, 3)
