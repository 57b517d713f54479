"""Statements that only the designs name: names of partitions, DEPENDS ON in ADD PARTITION, Trino's setting."""

from __future__ import annotations

import datetime

import pytest

from spark_client import Session
from spark_client.errors import InvalidStatementError
from tests.spark.test_dependent_tables import database, empty_seed

__all__ = ["database", "empty_seed"]


def test_a_value_becomes_the_name_of_its_partition(spark: Session) -> None:
    row = spark.sql(
        "SELECT hive_qname_partition('a/b=c') AS text, hive_qname_partition(12) AS number, "
        "hive_qname_partition(DATE'2009-02-26') AS day, hive_qname_partition('') AS empty, "
        "hive_qname_partition(CAST(NULL AS INT)) AS missing"
    ).first()
    none = "__HIVE_DEFAULT_PARTITION__"
    assert row is not None
    assert tuple(row) == ("a%2Fb%3Dc", "12", "2009-02-26", none, none)


def test_the_function_is_applied_to_columns_on_executors(spark: Session) -> None:
    days = [datetime.date(2020, 1, day) for day in (1, 2)]
    frame = spark.createDataFrame([(day,) for day in days], "day date").repartition(2)
    frame.createOrReplaceTempView("qualified_days")
    rows = spark.sql("SELECT hive_qname_partition(day) AS name FROM qualified_days ORDER BY name").collect()
    assert [row.name for row in rows] == [str(day) for day in days]


def test_trinos_setting_for_empty_buckets_is_accepted(spark: Session) -> None:
    try:
        rows = spark.sql("SET hive.create-empty-bucket-files = true").collect()
        assert [tuple(row) for row in rows] == [("hive.create_empty_bucket_files", "true")]
        assert spark.conf.get("hive.create_empty_bucket_files") == "true"
    finally:
        spark.conf.unset("hive.create_empty_bucket_files")


def test_a_partition_may_name_its_base_partition(spark: Session, empty_seed: str) -> None:
    spark.sql("INSERT INTO T PARTITION (ds='1', hr='1') VALUES ('k', 'v')")
    spark.sql("alter table Tdep add partition (ds='1') depends on table T partition (ds='1')")
    spark.sql(
        f"alter table Tdep add if not exists partition (ds='1') depends on table {empty_seed}.T partition (ds='1')"
    )
    assert [tuple(row) for row in spark.sql("SELECT key, ds FROM Tdep").collect()] == [("k", "1")]
    spark.sql("create table T2 (key string, value string) partitioned by (ds string, hr string) stored as parquet")
    rejected = {
        "alter table Tdep add partition (ds='2') depends on table T2 partition (ds='2')": "depends on .*t, not on .*t2",
        "alter table Tdep add partition (ds='2') depends on table T partition (ds='1')": "with the same values",
        "alter table Tdep add partition (ds='2') depends on table T partition (ds='2', hr='1')": "with the same values",
        "alter table Tdep add partition (ds='2') depends on table T": r"needs PARTITION",
        "alter table T add partition (ds='2', hr='1') depends on table T2 partition (ds='2')": "not a dependent table",
    }
    for text, reason in rejected.items():
        with pytest.raises(InvalidStatementError, match=reason):
            spark.sql(text)
    assert [tuple(row) for row in spark.sql("SHOW PARTITIONS Tdep").collect()] == [("ds=1",)]
    spark.sql("alter table Tdep depends on table T2")
    spark.sql("alter table Tdep add partition (ds='2') depends on table T2 partition (ds='2')")
    assert [tuple(row) for row in spark.sql("SHOW PARTITIONS Tdep").collect()] == [("ds=1",), ("ds=2",)]


@pytest.mark.parametrize("storage", ["TEXTFILE", "PARQUET"])
def test_partition_columns_have_any_name(spark: Session, table_name: str, storage: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (`a-b` STRING, `c d` INT) STORED AS {storage}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'p', 1), (2, 'q', 2), (3, 'r', 3)")
    for condition in ("`a-b` = 'q'", "`a-b` IN ('q', 'z')", "`c d` > 1 AND `c d` < 3", "`a-b` LIKE 'q%'"):
        assert [row.x for row in spark.sql(f"SELECT x FROM {table_name} WHERE {condition}").collect()] == [2], condition
