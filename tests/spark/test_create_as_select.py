"""CREATE TABLE AS SELECT in plain SQL: with names, types and Hive's formats; the whole table or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from spark_client import Session
from spark_client.context import Context
from spark_client.errors import InvalidInsertError, PublishConflictError, SparkClientError, TableExistsError
from spark_client.jvm.catalog import parse_create_table
from spark_client.write import handlers
from spark_client.write.create_as_select import create_as_select
from tests.spark.tables import files_below, folder


@pytest.fixture
def db(spark: Session, table_name: str, tmp_path: Path) -> Iterator[str]:
    """A database of the test's own, in which leftovers are visible."""
    spark.sql(f"CREATE DATABASE db_{table_name} LOCATION '{tmp_path}/db'")
    yield f"db_{table_name}"
    spark.sql(f"DROP DATABASE db_{table_name} CASCADE")


def tables(spark: Session, db: str) -> list[str]:
    """Lists them without temporary views."""
    return sorted(row.tableName for row in spark.sql(f"SHOW TABLES IN {db}").collect() if row.namespace)


def rows(spark: Session, table: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.table(table).collect()), key=repr)


def test_typed_and_by_name(spark: Session, context: Context, db: str) -> None:
    spark.sql(
        "SELECT * FROM VALUES (1, 'x', 'a', 11), (2, 'y', NULL, 9) AS s(key, value, ds, hr)"
    ).createOrReplaceTempView("srcpart")
    spark.sql(
        f"CREATE TABLE {db}.typed (key int, value string) PARTITIONED BY (ds string, hr bigint) AS "
        "SELECT key, value, ds, hr+1 hr1 FROM srcpart"
    )
    spark.sql(
        f"CREATE TABLE {db}.constant (key int) PARTITIONED BY (ds date, hr int) STORED AS ORC AS "
        "SELECT key, DATE'2010-03-03', hr FROM srcpart WHERE hr > :least",
        {"least": 10},
    )
    spark.sql(f"CREATE TABLE {db}.keys PARTITIONED BY (hr int) STORED AS ORC AS SELECT value v, hr FROM srcpart")
    spark.sql(f"CREATE TABLE {db}.named STORED AS PARQUET PARTITIONED BY (ds, hr) AS SELECT hr, key, ds FROM srcpart")
    spark.sql(
        f"CREATE TABLE {db}.orc USING HIVE OPTIONS (fileFormat 'orc') PARTITIONED BY (ds) "
        "AS SELECT ds, key FROM srcpart"
    )
    spark.sql(f"CREATE TABLE IF NOT EXISTS {db}.named (z int) STORED AS ORC AS SELECT 1")
    assert rows(spark, f"{db}.typed") == [(1, "x", "a", 12), (2, "y", None, 10)]
    assert [tuple(map(str, row)) for row in rows(spark, f"{db}.constant")] == [("1", "2010-03-03", "11")]
    assert rows(spark, f"{db}.keys") == [("x", 11), ("y", 9)]
    assert rows(spark, f"{db}.named") == [(1, "a", 11), (2, None, 9)]
    assert rows(spark, f"{db}.orc") == [(1, "a"), (2, None)]
    typed = context.metastore.get_table(db, "typed")
    assert [column.type for column in (*typed.columns, *typed.partition_columns)] == [
        "int",
        "string",
        "string",
        "bigint",
    ]
    assert "Parquet" in typed.storage.serde
    assert (typed.location or "").endswith("/db/typed")
    assert tables(spark, db) == ["constant", "keys", "named", "orc", "typed"]
    locations = {part.location for part in context.metastore.get_partitions(db, "typed")}
    assert locations == {f"{typed.location}/ds=a/hr=12", f"{typed.location}/ds=__HIVE_DEFAULT_PARTITION__/hr=10"}


def test_failures_leave_no_table_and_no_file(spark: Session, context: Context, db: str, tmp_path: Path) -> None:
    for statement, text in [
        ("t (k int) STORED AS ORC AS SELECT 'x'", 'Cannot safely cast `k` "STRING" to "INT"'),
        ("t (k int, l int) STORED AS ORC AS SELECT 1", f"Table {db}.t has 2 columns, but query has 1 columns."),
        ("t STORED AS PARQUET AS SELECT IF(id > 0, raise_error('poison'), id) k FROM range(2)", f"into {db}.t failed"),
        ("t STORED AS PARQUET PARTITIONED BY (p) AS SELECT 1 k, repeat('x', 300) p", "the directory of p = 'xxx"),
        ("t STORED AS PARQUET PARTITIONED BY (nowhere) AS SELECT 1 k", "nowhere"),
        (f"t STORED AS PARQUET LOCATION '{tmp_path}' AS SELECT 1 k", "is not empty"),
        ("t (k int) STORED AS TEXTFILE AS SELECT 1", "only Parquet and ORC can be written"),
    ]:
        with pytest.raises((SparkClientError, PySparkException), match=re.escape(text)):
            spark.sql(f"CREATE TABLE {db}.{statement}")
    assert tables(spark, db) == []
    assert files_below(f"{tmp_path}/db") == set()
    spark.sql(f"CREATE TABLE {db}.t STORED AS PARQUET AS SELECT 1 k")
    with pytest.raises((SparkClientError, PySparkException), match="already exists"):
        spark.sql(f"CREATE TABLE {db}.t (k int) STORED AS ORC AS SELECT 2")
    assert rows(spark, f"{db}.t") == [(1,)]


@pytest.mark.parametrize("name", ["t", "T", "`T`", "Of_Mixed_Case"])
def test_the_error_of_a_cast_names_the_table_and_the_fix(spark: Session, db: str, name: str) -> None:
    rows_ = "SELECT '1' AS key, 'v' AS value, '2010-03-03' AS ds, 12 AS hr"
    with pytest.raises((SparkClientError, PySparkException), match=r"Write CAST\(`key` AS INT\)") as raised:
        spark.sql(f"CREATE TABLE {db}.{name} (key int, value string) PARTITIONED BY (ds string, hr int) AS {rows_}")
    assert f"`{db}`.`{name.strip('`')}`".lower() in str(raised.value).lower()
    assert "as_select" not in str(raised.value)
    assert tables(spark, db) == []


def test_the_table_is_invisible_before_its_rows_are_written(spark: Session, context: Context, db: str) -> None:
    seen: list[list[str]] = []

    def look(step: str) -> None:
        seen.append([name for name in tables(spark, db) if name == "t"])

    watched = Context(context.spark, context.metastore, look)
    definition = parse_create_table(context, f"CREATE TABLE {db}.t (k int) PARTITIONED BY (p int) STORED AS PARQUET")
    result = create_as_select(watched, definition, spark.sql("SELECT 1, 2"))
    assert len(seen) > 3
    assert not any(seen)
    (partition,) = context.metastore.get_partitions(db, "t")
    assert result is not None
    assert result.partitions[0].location == partition.location
    assert folder(partition.location).is_dir()


def test_one_of_two_concurrent_statements_wins(spark: Session, context: Context, db: str) -> None:
    """The other statement runs between this one's last check and its end."""

    def rival(step: str) -> None:
        if step == "published":
            spark.sql(f"CREATE TABLE {db}.t STORED AS PARQUET AS SELECT 'rival' k")

    definition = parse_create_table(context, f"CREATE TABLE {db}.t (k int) STORED AS PARQUET")
    ours = Context(context.spark, context.metastore, rival)
    with pytest.raises((TableExistsError, PublishConflictError, InvalidInsertError), match="already exists"):
        create_as_select(ours, definition, spark.sql("SELECT 1"))
    assert tables(spark, db) == ["t"]
    assert rows(spark, f"{db}.t") == [("rival",)]


def test_saved_over_a_table_takes_its_place_when_the_rows_are_written(spark: Session, db: str) -> None:
    def save(frame: DataFrame, kind: str) -> None:
        frame.write.format("hive").option("fileFormat", kind).mode("overwrite").saveAsTable(f"{db}.t")

    save(spark.range(1), "orc")
    save(spark.sql("SELECT 'x' v"), "parquet")
    with pytest.raises(PySparkException, match="poison"):
        save(spark.sql("SELECT CAST(raise_error('poison') AS STRING) w"), "orc")
    assert rows(spark, f"{db}.t") == [("x",)]
    assert tables(spark, db) == ["t"]


def test_an_external_table_is_at_its_location(spark: Session, db: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {db}.e (k int) STORED AS PARQUET LOCATION '{tmp_path}/elsewhere' AS SELECT 1")
    assert rows(spark, f"{db}.e") == [(1,)]
    assert any(name.endswith(".parquet") for name in files_below(f"{tmp_path}/elsewhere"))


def test_the_right_to_a_location_is_asked_for_before_spark_reads_it(
    spark: Session, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(handlers, "check_create", lambda _, __, table, location: asked.append(f"{table} {location}"))
    create = f"CREATE TABLE IF NOT EXISTS {table_name} (a INT) USING csv LOCATION"
    spark.sql(f"{create} '{tmp_path}'")
    spark.sql(f"{create} '{tmp_path}'")  # exists, there
    create = create.replace("(a INT) ", "")
    spark.sql(f"{create} '{tmp_path}' AS SELECT 1 AS a")
    spark.sql(f"{create} '{tmp_path}/other' AS SELECT 1 AS a")  # the other table may be dropped by then
    assert asked == [f"{table_name} file:{tmp_path}", f"{table_name} file:{tmp_path}/other"]
