"""Which columns and rows the files of a table are asked for: names in any case, and both zeros of a number."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

FORMATS = ("PARQUET", "ORC")
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


@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("stored_as", FORMATS)
def test_both_zeros_are_found(spark: SparkSession, table_name: str, stored_as: str, type_: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (f {type_}, kind INT) PARTITIONED BY (k STRING) STORED AS {stored_as}")
    spark.sql(
        f"INSERT INTO {table_name} SELECT CAST(x AS {type_}), id, k FROM range(30) "
        "LATERAL VIEW stack(4, double(0), 'plus', -double(0), 'minus', double(1), 'more', double(-1), 'less') AS x, k"
    )

    found = {zero: spark.sql(f"SELECT 1 FROM {table_name} WHERE {zero}").count() for zero in ZEROS}

    expected = dict.fromkeys(ZEROS, 60) | {"f >= 0.0": 90, "f <= -0.0": 90, "NOT f < 0.0": 90, "NOT f > -0.0": 90}
    assert found == expected
