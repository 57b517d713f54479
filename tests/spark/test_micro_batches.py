"""Batches of streaming queries are written once and completely, also if the query is restarted from its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import QueryExecutionException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import spark_client
from metastore.client import MetastoreClient
from spark_client.context import Context, context_of
from spark_client.errors import InvalidInsertError, SparkClientError
from spark_client.write.insert import Insert, insert_all
from tests.spark.since import since


@pytest.mark.parametrize("kind", ["PARTITIONED BY (p INT) STORED AS PARQUET", pytest.param("", marks=pytest.mark.long)])
def test_a_batch_that_runs_again_brings_nothing_twice(
    spark: SparkSession, table_name: str, tmp_path: Path, kind: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT{', p INT' if not kind else ''}) {kind}")
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"

    def bring(value: int) -> None:
        spark.createDataFrame([(value, value % 2)], "a INT, p INT").write.mode("append").parquet(str(source))

    def write(rows: DataFrame, _: int) -> None:
        rows.write.insertInto(table_name)
        rows.selectExpr("a + 100", "p").write.insertInto(table_name)

    def run() -> list[Any]:
        stream = spark.readStream.schema("a INT, p INT").parquet(str(source)).writeStream.foreachBatch(write)
        query = stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()
        return sorted(row[0] for row in spark.table(table_name).collect())

    bring(1)
    assert run() == [1, 101]
    (checkpoint / "commits" / "0").unlink()  # as if it had been killed after its rows were written
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    assert run() == [1, 101]
    bring(2)
    assert run() == [1, 2, 101, 102]


class Batches:
    """A stream of files with a batch for each run; `forget` makes the last one run again, as after a kill."""

    def __init__(self, spark: SparkSession, folder: Path, write: Callable[[DataFrame, int], None]) -> None:
        self._spark, self._source, self._checkpoint, self._write = spark, folder / "rows", folder / "checkpoint", write

    def run(self, *rows: tuple[int, int]) -> None:
        schema = "a INT, p INT"
        if rows:
            self._spark.createDataFrame(list(rows), schema).write.mode("append").parquet(str(self._source))
        stream = self._spark.readStream.schema(schema).parquet(str(self._source)).writeStream.foreachBatch(self._write)
        stream = stream.option("checkpointLocation", str(self._checkpoint)).trigger(availableNow=True)
        stream.start().awaitTermination()

    def forget(self) -> None:
        commits = self._checkpoint / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)


def _rows(spark: SparkSession, table: str) -> list[Any]:
    return sorted(tuple(row) for row in spark.sql(f"SELECT a, p FROM {table}").collect())


@pytest.mark.parametrize("kind", ["PARTITIONED BY (p INT) STORED AS PARQUET", pytest.param("", marks=pytest.mark.long)])
def test_statements_of_a_batch_that_runs_again_do_nothing_twice(
    spark: SparkSession, table_name: str, tmp_path: Path, kind: str
) -> None:
    """No part of a batch is repeated, either: rows that one statement removes are not added again by another."""
    spark.sql(f"CREATE TABLE {table_name} (a INT{', p INT' if not kind else ''}) {kind}")

    def write(rows: DataFrame, _: int) -> None:
        rows.createOrReplaceTempView("given")
        sql = rows.sparkSession.sql
        sql(f"TRUNCATE TABLE {table_name}")
        sql(f"INSERT INTO {table_name} SELECT * FROM given")
        spark.sparkContext.setJobGroup("of the user", "")
        sql(f"MERGE INTO {table_name} t USING given g ON t.p = g.p WHEN MATCHED THEN UPDATE SET a = t.a + g.a")
        sql(f"DELETE FROM {table_name} WHERE p = 2")
        spark_client.write(rows.filter("p = 2")).into(table_name).append()

    batches = Batches(spark, tmp_path, write)
    for first in (1, 3):
        batches.run((first, 1), (2, 2))
        assert _rows(spark, table_name) == sorted([(2, 2), (2 * first, 1)])
        batches.forget()
        batches.run()
        assert _rows(spark, table_name) == sorted([(2, 2), (2 * first, 1)])


@since("4.3", "a session of each query's own for functions that come by Spark Connect")
def test_statements_in_threads_of_others_belong_to_the_batch_of_their_session(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    """As batches of functions do that come through Spark Connect."""
    spark.sql(f"CREATE TABLE {table_name} (a INT, p INT)")

    def write(rows: DataFrame, _: int) -> None:
        rows.createOrReplaceTempView("given")

        def insert() -> None:
            rows.sparkSession.sql(f"INSERT INTO {table_name} SELECT * FROM given")
            spark.sql(f"INSERT INTO {table_name} VALUES (0, 0)")  # of no batch

        with ThreadPoolExecutor(1) as pool:
            pool.submit(insert).result()

    batches = Batches(spark, tmp_path, write)
    batches.run((1, 1))
    batches.forget()
    batches.run()
    assert _rows(spark, table_name) == [(0, 0), (0, 0), (1, 1)]


def test_sparks_file_sink_does_not_take_over_a_table_with_rows(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    """A stream over Spark Connect would do so: here Spark's own writer is called as its planner does."""
    spark.range(1).write.parquet(str(tmp_path / "source"))
    stream = (
        spark.readStream.schema("id BIGINT").parquet(str(tmp_path / "source")).writeStream.trigger(availableNow=True)
    )
    java: Any = stream.option("checkpointLocation", str(tmp_path / "checkpoint"))._jwrite
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT) USING parquet")
    spark.sql(f"INSERT INTO {table_name} VALUES (7)")
    with pytest.raises(QueryExecutionException, match=f"{table_name} has rows, .*: use foreachBatch"):
        java.toTable(table_name)
    assert [row.id for row in spark.table(table_name).collect()] == [7]
    spark.sql(f"TRUNCATE TABLE {table_name}")
    java.toTable(table_name).awaitTermination()
    assert [row.id for row in spark.table(table_name).collect()] == [0]


def test_a_killed_batch_continues(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """Failed statements, and the one that creates the table, are counted, too."""
    dies = [True]

    def write(rows: DataFrame, _: int) -> None:
        table = spark_client.write(rows).into(table_name)
        table.create(partitioned_by=["p"], if_not_exists=True)
        table.append()
        with suppress(SparkClientError):
            spark_client.write(rows.selectExpr("CAST(raise_error('no') AS INT)", "p")).into(table_name).append()
        spark_client.write(rows.selectExpr("a + 100", "p")).into(table_name).append()
        if dies.pop():
            raise SystemError
        rows.sparkSession.sql(f"ALTER TABLE {table_name} DROP PARTITION (p = 2)")
        spark_client.write(rows.selectExpr("a + 200", "p")).into(table_name).append()

    batches = Batches(spark, tmp_path, write)
    with pytest.raises(StreamingQueryException):
        batches.run((1, 1), (2, 2))
    dies += [False]
    batches.run()
    wanted = [(1, 1), (1, 1), (101, 1), (201, 1), (202, 2)]
    assert _rows(spark, table_name) == wanted
    batches.forget()
    dies += [False]
    batches.run()
    assert _rows(spark, table_name) == wanted


def test_one_of_two_runs_of_a_query_writes_a_batch(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """A slow driver: another one was started from the checkpoint meanwhile."""
    spark.sql(f"CREATE TABLE {table_name} (a INT, p INT)")
    context = context_of(spark, "")

    def write(rows: DataFrame, _: int) -> None:
        def on_step(step: str) -> None:
            if step == "placed":
                insert_all(context, [Insert(f"default.{table_name}", rows)])

        insert_all(Context(context.spark, context.metastore, on_step), [Insert(f"default.{table_name}", rows)])

    with pytest.raises(StreamingQueryException, match="another run of the streaming query has written this batch"):
        Batches(spark, tmp_path, write).run((1, 1))
    assert _rows(spark, table_name) == [(1, 1)]


@pytest.mark.parametrize(
    "kind",
    [pytest.param("PARTITIONED BY (p INT) STORED AS ORC", marks=pytest.mark.long), "USING parquet PARTITIONED BY (p)"],
)
def test_a_stream_writes_to_a_table(spark: SparkSession, table_name: str, tmp_path: Path, kind: str) -> None:
    """Existing rows stay, columns and fields go by name, and each batch is written once."""
    fields, key = "STRUCT<x: STRING, y: STRING>", ", p INT" if "USING" in kind else ""
    spark.sql(f"CREATE TABLE {table_name} (a INT, b STRING DEFAULT 'd', s {fields}{key}) {kind}")
    spark.sql(f"INSERT INTO {table_name} VALUES (0, 'there', NULL, 0)")
    source, checkpoint = str(tmp_path / "source"), tmp_path / "checkpoint"

    def run(value: int) -> list[Any]:
        schema = "p INT, s STRUCT<y: STRING, x: STRING>, a INT"
        spark.createDataFrame([(value % 2, ("y", "x"), value)], schema).write.mode("append").parquet(source)
        stream = spark.readStream.schema(schema).parquet(source).writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", str(checkpoint)).toTable(table_name).awaitTermination()
        return sorted(tuple(row) for row in spark.table(table_name).collect())

    assert run(1) == [(0, "there", None, 0), (1, "d", ("x", "y"), 1)]
    (checkpoint / "commits" / "0").unlink()  # as if it had been killed after its rows were written
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    assert run(2) == [(0, "there", None, 0), (1, "d", ("x", "y"), 1), (2, "d", ("x", "y"), 0)]


@pytest.mark.parametrize(
    "kind", [pytest.param({}, marks=pytest.mark.long), {"format": "orc", "partitionBy": "P"}], ids=["plain", "all"]
)
def test_a_stream_makes_its_table(
    spark: SparkSession, metastore: MetastoreClient, table_name: str, tmp_path: Path, kind: dict[str, str]
) -> None:
    """As saveAsTable does: rows of others are read, too, and a repeated batch is written once."""
    source, checkpoint = str(tmp_path / "source"), tmp_path / "checkpoint"

    def run(value: int) -> list[Any]:
        spark.createDataFrame([(value, 1)], "a INT, P INT").write.mode("append").parquet(source)
        stream = spark.readStream.schema("a INT, P INT").parquet(source).writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", str(checkpoint)).toTable(f"default.{table_name}", **kind).awaitTermination()
        return sorted(row.a for row in spark.table(table_name).collect())

    assert run(1) == [1]
    table = metastore.get_table("default", table_name)
    assert table.parameters["spark.sql.sources.provider"] == kind.get("format", "parquet")
    assert [column.name for column in table.partition_columns] == [name.lower() for name in kind.values()][1:]
    spark.sql(f"INSERT INTO {table_name} VALUES (2, 1)")
    (checkpoint / "commits" / "0").unlink()  # as if it had been killed after its rows were written
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    assert run(3) == [1, 2, 3]
    with pytest.raises(InvalidInsertError, match="needs a checkpoint location"):
        spark.readStream.format("rate").load().writeStream.toTable(f"{table_name}_2")
    assert not spark.catalog.tableExists(f"{table_name}_2")


def test_tables_of_sparks_file_sink_reject_other_writes(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """Its readers would miss the rows."""
    spark.range(1).write.parquet(str(tmp_path / "source"))
    stream = spark.readStream.schema("id BIGINT").parquet(str(tmp_path / "source")).writeStream
    java: Any = stream.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "checkpoint"))._jwrite
    java.toTable(table_name).awaitTermination()
    rows, why = spark.range(1), "written by Spark's file sink, whose readers ignore other changes"
    writes: list[Callable[[], Any]] = [
        lambda: spark.sql(f"INSERT INTO {table_name} VALUES (7)"),
        lambda: rows.write.insertInto(table_name),
        lambda: rows.write.mode("append").saveAsTable(table_name),
        lambda: spark_client.write(rows).into(table_name).append(),
        lambda: spark.sql(f"TRUNCATE TABLE {table_name}"),
    ]
    for write in writes:
        with pytest.raises((QueryExecutionException, InvalidInsertError), match=why):
            write()
    assert [row.id for row in spark.table(table_name).collect()] == [0]
    spark.range(2).write.mode("overwrite").saveAsTable(table_name)  # another table
    assert sorted(row.id for row in spark.table(table_name).collect()) == [0, 1]


@since("4.0", "a place for rules that come before tables are looked up, which the refusal to read needs,")
def test_a_table_is_not_read_as_a_stream(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a BIGINT) PARTITIONED BY (p INT)")
    with pytest.raises(QueryExecutionException, match=rf"{table_name} cannot be read as a stream: .* foreachBatch"):
        spark.readStream.table(table_name)


def test_unsupported_streams_are_rejected(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a BIGINT) PARTITIONED BY (p INT)")
    rate = spark.readStream.format("rate").load()
    with pytest.raises(InvalidInsertError, match="has no column timestamp"):
        rate.writeStream.toTable(table_name, checkpointLocation="x")
    rows = rate.selectExpr("value AS a", "1 AS p")
    with pytest.raises(InvalidInsertError, match="needs a checkpoint location"):
        rows.writeStream.toTable(table_name)
    with pytest.raises(InvalidInsertError, match="outputMode is complete: use foreachBatch"):
        rows.writeStream.toTable(table_name, outputMode="complete", checkpointLocation="x")
    with pytest.raises(InvalidInsertError, match="is partitioned by p, but the stream has no such column"):
        rows.drop("p").writeStream.toTable(table_name, checkpointLocation="x")
