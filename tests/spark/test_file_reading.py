"""Columns and rows that are requested from a table's files: names in any case, and both zeros of a number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import QueryExecutionException
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient

FORMATS = ("PARQUET", "ORC")
RECURSIVE = "mapreduce.input.fileinputformat.input.dir.recursive"
ZEROS = ("f = 0.0", "f IN (0.0, 5.0)", "f <=> 0.0", "f >= 0.0", "f <= -0.0", "NOT f < 0.0", "NOT f > -0.0", "f = -0.0")


@pytest.fixture
def minding_case(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield spark
    spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize("stored_as", FORMATS)
def test_columns_with_capitals_survive_a_session_that_minds_case(
    minding_case: SparkSession, table_name: str, stored_as: str
) -> None:
    spark = minding_case
    spark.sql(f"CREATE TABLE {table_name} (Id INT, Note STRING) PARTITIONED BY (Ds STRING) STORED AS {stored_as}")
    spark.sql(f"INSERT INTO {table_name} PARTITION (Ds = 'x') VALUES (1, 'one'), (2, 'two')")

    spark.sql(f"INSERT OVERWRITE {table_name} SELECT * FROM {table_name}")

    assert spark.sql(f"SELECT Id, Note, Ds FROM {table_name} WHERE Id = 2 AND Ds = 'x'").collect() == [(2, "two", "x")]
    assert spark.sql(f"SELECT * FROM {table_name} ORDER BY Id").collect() == [(1, "one", "x"), (2, "two", "x")]


def test_columns_with_capitals_are_not_taken_for_null(minding_case: SparkSession, table_name: str) -> None:
    """With Spark's row-based reader, which is case-sensitive."""
    spark, batches = minding_case, "spark.sql.parquet.enableVectorizedReader"
    spark.sql(f"CREATE TABLE {table_name} (Id INT, note STRING) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'one')")
    spark.conf.set(batches, "false")
    try:
        assert spark.sql(f"SELECT note FROM {table_name}").collect() == [("one",)]
        with pytest.raises(QueryExecutionException, match=f"^column Id has capital letters: .* or {batches} to true"):
            spark.sql(f"SELECT Id FROM {table_name}").collect()
        spark.conf.set("spark.sql.caseSensitive", "false")
        assert spark.sql(f"SELECT Id FROM {table_name}").collect() == [(1,)]
    finally:
        spark.conf.unset(batches)


@pytest.mark.parametrize("type_", ["DOUBLE", pytest.param("FLOAT", marks=pytest.mark.long)])
@pytest.mark.parametrize("stored_as", FORMATS)
def test_both_zeros_are_found(spark: SparkSession, table_name: str, stored_as: str, type_: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (f {type_}, kind INT) PARTITIONED BY (k STRING) STORED AS {stored_as}")
    spark.sql(
        f"INSERT INTO {table_name} SELECT CAST(x AS {type_}), id, k FROM range(30) "
        "LATERAL VIEW stack(4, double(0), 'plus', -double(0), 'minus', double(1), 'more', double(-1), 'less') AS x, k"
    )

    actual = {zero: spark.sql(f"SELECT 1 FROM {table_name} WHERE {zero}").count() for zero in ZEROS}

    expected = dict.fromkeys(ZEROS, 60) | {"f >= 0.0": 90, "f <= -0.0": 90, "NOT f < 0.0": 90, "NOT f > -0.0": 90}
    assert actual == expected


@pytest.mark.parametrize(
    "layout", ["STORED AS PARQUET", "STORED AS ORC", pytest.param("USING orc", marks=pytest.mark.long)]
)
def test_fields_of_structs_that_are_null(spark: SparkSession, table_name: str, layout: str) -> None:
    """ORC's statistics of a field do not count the rows whose struct is null."""
    columns = "id INT, s STRUCT<zip: INT, d: STRUCT<o: STRING>>"
    using, stored = (layout, "") if layout.startswith("USING") else ("", layout)
    spark.sql(f"CREATE TABLE {table_name} ({columns}) {using} {stored}")
    rows = "(1, named_struct('zip', 1, 'd', named_struct('o', 'x'))), (2, NULL), (3, named_struct('zip', 3, 'd', NULL))"
    spark.sql(f"INSERT INTO {table_name} VALUES {rows}")
    found = {
        "s.zip IS NULL": {2},
        "s.d.o IS NULL": {2, 3},
        "s.zip IS NULL OR s.zip < 2": {1, 2},
        "s.zip <=> NULL": {2},
        "NOT (s.zip <=> 1)": {2, 3},
        "s.zip IS NULL AND id = 2": {2},
        "s.zip IS NOT NULL": {1, 3},
        "s.zip = 3": {3},
    }

    for condition, ids in found.items():
        read = spark.sql(f"SELECT id FROM {table_name} WHERE {condition}")
        assert {row.id for row in read.collect()} == ids, condition
    spark.sql(f"UPDATE {table_name} SET id = 9 WHERE s.zip IS NULL")
    assert {row.id for row in spark.table(table_name).collect()} == {1, 9, 3}


def test_a_partition_may_be_a_directory_with_partitions_of_another_table(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    """The first case of Hive's "Dependent Tables": T@ds=1/hr=1 and so on are the bases of a signal table's partition
    ds=1.
    """
    base, signal = f"{table_name}_base", f"{table_name}_signal"
    spark.sql(f"CREATE TABLE {base} (k STRING) PARTITIONED BY (ds STRING, hr STRING)")
    spark.sql(f"CREATE EXTERNAL TABLE {signal} (k STRING) PARTITIONED BY (ds STRING)")
    spark.sql(f"INSERT INTO {base} VALUES ('a', '1', '1'), ('b', '1', '24'), ('c', '2', '1')")
    location = metastore.get_table("default", base).location
    spark.sql(f"ALTER TABLE {signal} ADD PARTITION (ds = '1') LOCATION '{location}/ds=1'")

    query = f"SELECT k, ds FROM {signal} WHERE ds = '1' ORDER BY k"
    assert spark.sql(query).collect() == [("a", "1"), ("b", "1")]
    spark.conf.set(RECURSIVE, "false")
    assert spark.sql(query).collect() == []
    spark.conf.unset(RECURSIVE)

    spark.sql(f"INSERT OVERWRITE {base} VALUES ('newer', '1', '24')")  # elsewhere: a reader by path must not miss it
    with pytest.raises(QueryExecutionException, match="newer rows are in another directory"):
        spark.sql(query).collect()


def test_files_in_directories_below_are_rows(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.range(4).selectExpr("id", "id % 2 AS part").write.partitionBy("part").parquet(f"{tmp_path}/t")
    spark.range(4, 5).write.parquet(f"{tmp_path}/t/_hidden")
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT) STORED AS PARQUET LOCATION '{tmp_path}/t'")
    assert spark.sql(f"SELECT id FROM {table_name} ORDER BY id").collect() == [(0,), (1,), (2,), (3,)]
    spark.sql(f"UPDATE {table_name} SET id = 7 WHERE id = 3")
    assert spark.sql(f"SELECT id FROM {table_name} WHERE id > 1 ORDER BY id").collect() == [(2,), (7,)]
