"""`spark_client.write(df)`: what INSERT does, without SQL."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_client
from metastore.client.structs import PublishMode
from spark_client import Session
from spark_client.context import Context
from spark_client.errors import InvalidInsertError, NoSuchTableError, TableExistsError
from tests.spark.tables import files_below, folder


def rows(spark: Session, table: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.table(table).collect()), key=repr)


def test_append_overwrite_and_overwrite_partitions(spark: Session, context: Context, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT) PARTITIONED BY (ds STRING, hr INT) STORED AS PARQUET")
    table = f"default.{table_name}"
    data = spark.sql("SELECT * FROM VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1) AS v(id, ds, hr)")
    result = spark_client.write(data).into(table).append()
    assert (result.rows, result.files, len(result.partitions)) == (3, 3, 3)
    assert {partition.mode for partition in result.partitions} == {PublishMode.CREATE}
    one = spark.sql("SELECT 9, 1")
    result = spark_client.write(one).into(table_name, partition={"ds": "a", "hr": None}).overwrite_partitions()
    assert [partition.values for partition in result.partitions] == [("a", "1")]
    assert rows(spark, table) == [(2, "a", 2), (3, "b", 1), (9, "a", 1)]
    result = spark_client.write(one).into(table, partition={"ds": "a", "hr": None}).overwrite()
    assert {partition.values: partition.rows for partition in result.partitions} == {("a", "1"): 1, ("a", "2"): 0}
    assert rows(spark, table) == [(3, "b", 1), (9, "a", 1)]
    spark_client.write(spark.sql("SELECT 5, 'c', 1")).into(table).overwrite()
    assert rows(spark, table) == [(5, "c", 1)]
    spark_client.write(spark.sql("SELECT 6")).into(table, partition={"ds": "c", "hr": 1}).append(if_not_exists=True)
    spark_client.write(spark.sql("SELECT 2, 'd'")).into(table, columns=["hr", "ds"]).append()
    assert rows(spark, table) == [(5, "c", 1), (None, "d", 2)]


def test_names_in_another_order_are_not_assigned_by_position(spark: Session, table_name: str) -> None:
    """`create` puts partition columns last: the same rows cannot be appended by position."""
    data = spark.sql("SELECT 'de' AS Country, 'x' AS v, 'y' AS w")
    spark_client.write(data).into(table_name).create(partitioned_by=["country"])
    for write in ("append", "overwrite_partitions", "overwrite"):
        with pytest.raises(InvalidInsertError, match=r"has the columns v, w, country, .* the order country, v, w\."):
            getattr(spark_client.write(data).into(table_name), write)()
    spark_client.write(data).into(table_name, columns=data.columns).append()
    spark_client.write(data.select("V", "w", "country")).into(table_name).append()
    with pytest.raises(InvalidInsertError, match="has the columns v, w, and the rows"):
        spark_client.write(data.select("w", "v")).into(table_name, partition={"Country": "fr"}).append()
    spark_client.write(data.selectExpr("w AS a", "v AS b")).into(table_name, partition={"country": "fr"}).append()
    assert rows(spark, table_name) == [("x", "y", "de")] * 3 + [("y", "x", "fr")]


def test_files_and_their_size(spark: Session, context: Context, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, x STRING) STORED AS PARQUET")
    data = spark.range(8000).selectExpr("id", "sha2(CAST(id AS STRING), 256)")
    assert spark_client.write(data).into(table_name, files=3).append().files == 3
    target = spark_client.write(data.coalesce(1)).into(table_name, max_file_size="128 KB")
    result = target.overwrite()
    assert result.files > 4
    table = context.metastore.get_table("default", table_name)
    sizes = [path.stat().st_size for path in folder(table.location or "").glob("*.parquet")]
    assert max(sizes) <= 128 << 10
    assert spark.sql(f"SELECT count(*), sum(id) FROM {table_name}").first() == (8000, 8000 * 7999 // 2)
    for size in ("big", "0", "-1"):
        with pytest.raises(InvalidInsertError, match=f"max_file_size is '{size}'; it must be a number of bytes"):
            spark_client.write(data).into(table_name, max_file_size=size)
    with pytest.raises(InvalidInsertError, match="files is 0"):
        spark_client.write(data).into(table_name, files=0)


def test_create(spark: Session, context: Context, table_name: str) -> None:
    data = spark.sql("SELECT 'a' AS ds, 1 AS id, map('k', 2) AS m, CAST(3.5 AS DECIMAL(9,4)) AS `odd name`")
    target = spark_client.write(data).into(f"default.{table_name}")
    result = target.create(partitioned_by=["ds"], stored_as="ORC", properties={"it's": "a 'test'"})
    assert result is not None
    assert result.partitions[0].values == ("a",)
    table = context.metastore.get_table("default", table_name)
    assert table.parameters["it's"] == "a 'test'"
    assert [column.type for column in table.columns] == ["int", "map<string,int>", "decimal(9,4)"]
    assert spark.sql(f"SELECT id, ds, `odd name` FROM {table_name}").first()[:2] == (1, "a")
    assert target.create(partitioned_by=["ds"], if_not_exists=True) is None
    with pytest.raises(TableExistsError, match=f"{table_name} already exists"):
        target.create()
    with pytest.raises(InvalidInsertError, match="include the partition columns"):
        target.create(partitioned_by=["nowhere"])
    with pytest.raises(InvalidInsertError, match="omit partition and columns"):
        spark_client.write(data).into(table_name, partition={"ds": 1}).create()


def test_refusals_are_those_of_insert(spark: Session, context: Context, table_name: str) -> None:
    data = spark.range(1)
    with pytest.raises(NoSuchTableError, match=table_name):
        spark_client.write(data).into(table_name).append()
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT) PARTITIONED BY (b BOOLEAN) STORED AS PARQUET")
    with pytest.raises(InvalidInsertError, match=re.escape("has 2 columns, but query has 1 columns.")):
        spark_client.write(data).into(table_name).append()
    with pytest.raises(InvalidInsertError, match="10127"):
        spark_client.write(data).into(table_name, partition={"b": None}).append(if_not_exists=True)
    plain = SparkSession(spark.sparkContext, spark._jsparkSession)
    spark_client.write(plain.range(1)).into(table_name, partition={"B": True}).append()
    assert rows(spark, table_name) == [(0, True)]
    table = context.metastore.get_table("default", table_name)
    assert all("b=true/" in name for name in files_below(table.location or ""))
