"""TRUNCATE TABLE publishes as an INSERT does: the metastore records it, and running queries can still read the old
files.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyspark.errors import AnalysisException

from spark_client import Session
from spark_client.context import Context
from spark_client.write.insert import insert_into
from spark_client.write.truncate import truncate

ROWS = "VALUES (1, DATE '2024-01-01', 1), (2, DATE '2024-01-01', 2), (3, DATE '2024-01-02', 1) AS t(n, ds, hr)"


@pytest.fixture
def table(spark: Session, table_name: str) -> str:
    spark.sql(f"CREATE TABLE {table_name} (n INT) PARTITIONED BY (ds DATE, hr INT) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table_name} SELECT * FROM {ROWS}")
    return table_name


def left(spark: Session, table: str) -> list[int]:
    return sorted(row.n for row in spark.table(table).collect())


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("", []),
        ("PARTITION (ds = '2024-01-01', hr = '01')", [2, 3]),
        ("PARTITION (ds = DATE '2024-01-01')", [3]),
        ("PARTITION (HR = 1)", [2]),
    ],
)
def test_partitions_are_emptied_and_stay(spark: Session, table: str, clause: str, expected: list[int]) -> None:
    spark.sql(f"TRUNCATE TABLE {table} {clause}")
    assert left(spark, table) == expected
    assert spark.sql(f"SHOW PARTITIONS {table}").count() == 3


def test_a_reader_that_has_begun_finds_its_files(spark: Session, table: str) -> None:
    begun = spark.table(table)
    files = [Path(urlparse(file).path) for file in begun.inputFiles()]
    spark.sql(f"TRUNCATE TABLE {table}")
    assert left(spark, table) == []
    assert len(files) == 3
    assert all(file.exists() for file in files)


def test_dependent_tables_become_stale(spark: Session, table: str) -> None:
    spark.sql(f"CREATE DEPENDENT TABLE {table}_days PARTITIONED BY (ds DATE) DEPENDS ON TABLE {table}")
    spark.sql(f"ALTER TABLE {table}_days ADD PARTITION (ds = '2024-01-01')")

    def states() -> list[str]:
        rows = spark.sql(f"DESCRIBE EXTENDED {table}_days").collect()
        return [word for row in rows for word in ("fresh", "stale") if word in f"{row}"]

    before = states()
    spark.sql(f"TRUNCATE TABLE {table} PARTITION (ds = '2024-01-01', hr = 2)")
    assert "stale" not in before
    assert "stale" in states()
    spark.sql(f"DROP TABLE {table}_days")


def test_an_append_meanwhile_is_not_torn(spark: Session, context: Context, table: str) -> None:
    def at(step: str) -> None:
        if step == "placed" and not done:
            done.append(step)
            truncate(context, "default", table, {})

    done: list[str] = []
    new = spark.sql("SELECT 4, DATE '2024-01-01', 1")
    insert_into(replace(context, on_step=at), f"default.{table}", new)
    spark.catalog.refreshTable(table)
    assert done
    assert left(spark, table) == [4]


def test_tables_without_partitions(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (n INT) SKEWED BY (n) ON (1) STORED AS DIRECTORIES STORED AS ORC")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    spark.sql(f"TRUNCATE TABLE {table_name}")
    assert left(spark, table_name) == []
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    assert left(spark, table_name) == [1]
    spark.sql(f"TRUNCATE TABLE {table_name}")
    spark.sql(f"TRUNCATE TABLE {table_name}")
    assert left(spark, table_name) == []


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("PARTITION (ds = '2024-01-03')", r"has no partition \{'ds': '2024-01-03'\}"),
        ("PARTITION (n = 1)", r"default\.t_\w+ has no partition columns \['n'\]; its partition columns: "),
        ("PARTITION (hr = 'x')", "10248"),
    ],
)
def test_missing_objects_are_rejected(spark: Session, table: str, clause: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as refusal:
        spark.sql(f"TRUNCATE TABLE {table} {clause}")
    assert "Traceback" not in str(refusal.value)
    assert left(spark, table) == [1, 2, 3]


def test_external_tables_are_not_ours_to_empty(spark: Session, table_name: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE EXTERNAL TABLE {table_name} (n INT) STORED AS PARQUET LOCATION '{tmp_path}/t'")
    with pytest.raises(AnalysisException, match="external"):
        spark.sql(f"TRUNCATE TABLE {table_name}")


@pytest.mark.parametrize("kind", ["STORED AS TEXTFILE", "USING parquet"])
def test_other_tables_are_left_to_spark(spark: Session, table_name: str, kind: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (n INT) {kind}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"TRUNCATE TABLE {table_name}")
    assert left(spark, table_name) == []


def test_buckets_of_other_writers_are_truncated(spark: Session, table_name: str) -> None:
    buckets = "CLUSTERED BY (n) INTO 2 BUCKETS STORED AS TEXTFILE"
    spark.sql(f"CREATE TABLE {table_name} (n INT) {buckets}")
    spark.sql(f"TRUNCATE TABLE {table_name}")
    assert left(spark, table_name) == []
