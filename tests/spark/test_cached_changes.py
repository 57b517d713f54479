"""Statements that change rows read the rows of the table, not those that the session has cached before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spark_client import Session


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE {} SET x = 7 WHERE id = 1", [(1, 7), (2, 2), (3, 3), (3, 3)]),
        ("DELETE FROM {} WHERE id = 1", [(2, 2), (3, 3), (3, 3)]),
        (
            "MERGE INTO {} AS t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET x = 7",
            [(1, 7), (2, 2), (3, 3), (3, 3)],
        ),
    ],
)
def test_rows_that_another_program_added_stay(
    spark: Session, table_name: str, statement: str, expected: list[tuple[int, int]]
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, x INT) PARTITIONED BY (day INT) STORED AS PARQUET")
    for values in ("(1, 1, 1), (2, 2, 1)", "(3, 3, 1)"):
        spark.sql(f"INSERT INTO {table_name} VALUES {values}")
    spark.catalog.cacheTable(table_name)
    assert spark.table(table_name).count() == 3
    written = spark.metastore.methods.get_partition("default", table_name, ["1"])
    folder = Path(written.sd.location.removeprefix("file:"))
    (added,) = [
        file for file in folder.glob("*.parquet") if spark.read.parquet(str(file)).filter("id = 3").count() == 1
    ]
    shutil.copy(added, folder / "added.parquet")
    spark.metastore.methods.alter_partition("default", table_name, written)
    try:
        spark.sql(statement.format(table_name)).collect()
        rows = spark.table(table_name).select("id", "x").collect()
    finally:
        spark.catalog.uncacheTable(table_name)
    assert sorted(map(tuple, rows)) == expected


@pytest.mark.parametrize("format_", ["STORED AS PARQUET", "STORED AS TEXTFILE"])
def test_a_view_that_is_older_than_its_table(spark: Session, table_name: str, format_: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT) PARTITIONED BY (a INT, b INT) {format_}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1, 2)")
    view = spark.table(table_name)
    assert view.collect() == [(1, 1, 2)]
    spark.sql(f"DROP TABLE {table_name}")
    spark.sql(f"CREATE TABLE {table_name} (id INT) PARTITIONED BY (b INT, a INT) {format_}")
    spark.sql(f"INSERT INTO {table_name} VALUES (10, 7, 8), (11, 8, 8)")
    assert view.select("id", "a", "b").filter("b = 7").collect() == [(10, 8, 7)]
    spark.sql(f"DROP TABLE {table_name}")
    spark.sql(f"CREATE TABLE {table_name} (id INT, a INT, b INT) {format_}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1, 2)")
    with pytest.raises(Exception, match=r"and is not partitioned: read it again|is not a partitioned table"):
        view.filter("a = 1").collect()


def test_concatenate_says_that_a_table_is_cached(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT) STORED AS PARQUET")
    for number in range(2):
        spark.sql(f"INSERT INTO {table_name} VALUES ({number})")
    spark.catalog.cacheTable(table_name)
    with pytest.raises(Exception, match="UNCACHE TABLE it first"):
        spark.sql(f"ALTER TABLE {table_name} CONCATENATE")
    spark.catalog.uncacheTable(table_name)
    spark.sql(f"ALTER TABLE {table_name} CONCATENATE")
    assert spark.table(table_name).count() == 2


def test_rows_of_another_program_prevent_another_layout(spark: Session, table_name: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, x INT) STORED AS PARQUET")
    spark.catalog.cacheTable(table_name)
    assert spark.table(table_name).count() == 0
    spark.range(1).selectExpr("id", "1 AS x").coalesce(1).write.parquet(f"{tmp_path}/rows")
    (added,) = (tmp_path / "rows").glob("*.parquet")
    location = str(spark.metastore.get_table("default", table_name).location)
    shutil.copy(added, Path(location.removeprefix("file:")) / "added.parquet")
    try:
        with pytest.raises(Exception, match="TRUNCATE it first"):
            spark.sql(f"ALTER TABLE {table_name} SKEWED BY (x) ON (1) STORED AS DIRECTORIES")
    finally:
        spark.catalog.uncacheTable(table_name)
