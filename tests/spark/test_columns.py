"""ALTER TABLE … ADD, DROP and RENAME COLUMN: rows keep their values, and dropped values do not come back."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_client.errors import InvalidStatementError

KINDS = ["PARTITIONED BY (q STRING) STORED AS ORC", "USING parquet PARTITIONED BY (q)"]


def rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


@pytest.mark.parametrize("kind", [KINDS[0], pytest.param(KINDS[1], marks=pytest.mark.long)])
def test_a_dropped_column_is_gone(spark: SparkSession, table_name: str, kind: str) -> None:
    own = "q STRING, " if "USING" in kind else ""
    spark.sql(f"CREATE TABLE {table_name} (a INT, {own}B STRING, c INT DEFAULT 7) {kind}")
    spark.sql(f"INSERT INTO {table_name} (a, B, q) VALUES (1, 'x', 'k')")
    spark.sql(f"ALTER TABLE {table_name} DROP COLUMNS (b)")
    spark.sql(f"INSERT INTO {table_name} (a, q) VALUES (2, 'k')")
    spark.sql(f"ALTER TABLE {table_name} DROP COLUMN IF EXISTS b, nobody")
    assert rows(spark, table_name) == [(1, 7, "k"), (2, 7, "k")]
    spark.sql(f"UPDATE {table_name} SET c = 0 WHERE a = 1")
    assert rows(spark, table_name) == [(1, 0, "k"), (2, 7, "k")]
    with pytest.raises(InvalidStatementError, match="had a column b, and its files may still contain it"):
        spark.sql(f"ALTER TABLE {table_name} ADD COLUMNS (d MAP<STRING, INT>, b STRING)")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMNS (d MAP<STRING, INT>)")
    (shown,) = spark.sql(f"SHOW CREATE TABLE {table_name}").first() or ("",)
    assert "columns.dropped" not in shown
    for name, reason in [("q", "is a partition column"), ("e", "has no column e")]:
        with pytest.raises(InvalidStatementError, match=reason):
            spark.sql(f"ALTER TABLE {table_name} DROP COLUMN {name}")
    with pytest.raises(InvalidStatementError, match="its files identify columns by name"):
        spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN a TO z")


def test_a_column_that_the_table_needs_stays(spark: SparkSession, table_name: str) -> None:
    skew = "SKEWED BY (x) ON ('a') STORED AS DIRECTORIES"
    spark.sql(f"CREATE TABLE {table_name} (x STRING, y INT, z INT GENERATED ALWAYS AS (y + 1)) {skew}")
    for name, reason in [("x", "is SKEWED BY"), ("y", "has z GENERATED ALWAYS AS"), ("x, y, z", "is SKEWED BY")]:
        with pytest.raises(InvalidStatementError, match=reason):
            spark.sql(f"ALTER TABLE {table_name} DROP COLUMNS {name}")
    spark.sql(f"ALTER TABLE {table_name} DROP COLUMNS (z)")
    spark.sql(f"INSERT INTO {table_name} VALUES ('a', 1), ('b', 2)")
    assert spark.sql(f"SELECT y FROM {table_name} WHERE x = 'a'").collect() == [(1,)]


def test_columns_of_text_are_renamed(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b STRING) STORED AS TEXTFILE")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'x')")
    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN b TO `C c`")
    assert spark.sql(f"SELECT a, `c c` FROM {table_name}").collect() == [(1, "x")]
    with pytest.raises(InvalidStatementError, match="its text files identify columns by position"):
        spark.sql(f"ALTER TABLE {table_name} DROP COLUMN a")


def test_other_statements_are_left_to_spark(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b STRING) USING csv")
    for text in ["DROP COLUMN a", "RENAME COLUMN a TO c"]:
        with pytest.raises(PySparkException, match=r"(?i)not support"):
            spark.sql(f"ALTER TABLE {table_name} {text}")
