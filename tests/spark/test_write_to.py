"""DataFrame writes: `writeTo`, and INSERT … REPLACE WHERE."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import QueryExecutionException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client import MetastoreClient
from tests.spark.since import since

KINDS = ("STORED AS PARQUET", pytest.param("USING parquet", marks=pytest.mark.long))


def rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.table(table).collect()), key=repr)


def frame(spark: SparkSession, *given: tuple[Any, ...]) -> DataFrame:
    """Its columns have another order than the table's: they go by name."""
    return spark.createDataFrame([(row[1], row[0]) for row in given], "ds INT, a INT")


@pytest.fixture(params=KINDS)
def table(spark: SparkSession, table_name: str, request: pytest.FixtureRequest) -> str:
    """Two partitions."""
    if request.param.startswith("STORED"):
        spark.sql(f"CREATE TABLE {table_name} (a INT) PARTITIONED BY (ds INT) {request.param}")
    else:
        spark.sql(f"CREATE TABLE {table_name} (a INT, ds INT) {request.param} PARTITIONED BY (ds)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 2)")
    return table_name


@since("4.0", "a place for rules that come before tables are looked up, which writeTo needs,")
def test_append_and_overwrite(spark: SparkSession, table: str) -> None:
    frame(spark, (3, 2)).writeTo(table).append()
    assert rows(spark, table) == [(1, 1), (2, 2), (3, 2)]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    try:
        frame(spark, (4, 2)).writeTo(f"default.{table}").overwritePartitions()
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows(spark, table) == [(1, 1), (4, 2)]
    frame(spark, (5, 1), (6, 3)).writeTo(table).overwrite((F.col("ds") == 1) | (F.col("a") == 9))
    assert rows(spark, table) == [(4, 2), (5, 1), (6, 3)]
    spark.sql(f"INSERT INTO {table} REPLACE WHERE a >= 5 SELECT 7, 2")
    assert rows(spark, table) == [(4, 2), (7, 2)]
    frame(spark, (8, 8)).writeTo(table).overwrite(F.lit(col=True))
    assert rows(spark, table) == [(8, 8)]


@since("4.0", "a place for rules that come before tables are looked up, which writeTo needs,")
def test_tables_of_other_formats(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, ds INT) USING json PARTITIONED BY (ds)")
    frame(spark, (1, 1), (2, 2)).writeTo(table_name).append()
    frame(spark, (3, 2)).writeTo(table_name).overwritePartitions()
    with pytest.raises(QueryExecutionException, match=r"is a table USING json: .*REPLACE WHERE"):
        frame(spark, (3, 2)).writeTo(table_name).overwrite(F.col("a") == 1)
    assert rows(spark, table_name) == [(1, 1), (3, 2)]


def test_insert_replace_where_takes_parameters(spark: SparkSession, table: str) -> None:
    before = rows(spark, table)
    spark.sql(f"INSERT INTO {table} REPLACE WHERE a = :a SELECT :new, 3", args={"a": 99, "new": 7})
    assert rows(spark, table) == [*before, (7, 3)]
    spark.sql(f"INSERT INTO {table} REPLACE WHERE a < :a SELECT :new, 3", args={"a": 7, "new": 8})
    assert rows(spark, table) == [(7, 3), (8, 3)]


@since("4.0", "a place for rules that come before tables are looked up, which writeTo needs,")
def test_create_and_replace(spark: SparkSession, metastore: MetastoreClient, table_name: str) -> None:
    data = frame(spark, (1, 1))
    with pytest.raises(QueryExecutionException, match="does not exist"):
        data.writeTo(table_name).replace()
    data.writeTo(table_name).partitionedBy(F.col("ds")).createOrReplace()
    assert rows(spark, table_name) == [(1, 1)]
    frame(spark, (2, 2)).writeTo(table_name).partitionedBy(F.col("ds")).createOrReplace()
    assert rows(spark, table_name) == [(2, 2)]
    data.selectExpr("a AS other").writeTo(table_name).using("orc").replace()
    assert rows(spark, table_name) == [(1,)]
    assert not [name for name in metastore.get_table("default", table_name).parameters if "replaces" in name]
    data.writeTo(f"{table_name}_2").tableProperty("mine", "x").create()
    assert metastore.get_table("default", f"{table_name}_2").parameters["mine"] == "x"


@since("4.0", "a place for rules that come before tables are looked up, which writeTo needs,")
@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_another_length_are_other_columns(spark: SparkSession, table_name: str, kind: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (c CHAR(3), v VARCHAR(2)) {kind}")
    spark.sql(f"INSERT INTO {table_name} VALUES ('a', 'b')")
    spark.table(table_name).writeTo(f"{table_name}_too").using("parquet").create()
    longer = spark.createDataFrame([("abcd", "efg")], "c STRING, v STRING")
    longer.writeTo(table_name).using("parquet").createOrReplace()
    assert rows(spark, table_name) == [("abcd", "efg")]
    assert rows(spark, f"{table_name}_too") == [("a  ", "b")]
    types = [row.data_type for row in spark.sql(f"DESCRIBE {table_name}_too").collect()]
    assert types == ["char(3)", "varchar(2)"], "what a query of such columns makes"
