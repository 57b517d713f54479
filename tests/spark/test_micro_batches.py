"""Batches of streaming queries: each once, whole, also where the query is started again from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import QueryExecutionException
from pyspark.sql import DataFrame, SparkSession

from spark_client.errors import InvalidInsertError
from tests.spark.since import since


@pytest.mark.parametrize("kind", ["PARTITIONED BY (p INT) STORED AS PARQUET", ""])
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
    (checkpoint / "commits" / "0").unlink()  # as if it had been killed when its rows were there
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    assert run() == [1, 101]
    bring(2)
    assert run() == [1, 2, 101, 102]


@pytest.mark.parametrize("kind", ["PARTITIONED BY (p INT) STORED AS ORC", "USING parquet PARTITIONED BY (p)"])
def test_a_stream_goes_to_a_table(spark: SparkSession, table_name: str, tmp_path: Path, kind: str) -> None:
    """Rows that were there stay, columns go by their names, and each batch comes once."""
    spark.sql(f"CREATE TABLE {table_name} (a INT, b STRING DEFAULT 'd'{', p INT' if 'USING' in kind else ''}) {kind}")
    spark.sql(f"INSERT INTO {table_name} VALUES (0, 'there', 0)")
    source, checkpoint = str(tmp_path / "source"), tmp_path / "checkpoint"

    def run(value: int) -> list[Any]:
        spark.createDataFrame([(value % 2, value)], "p INT, a INT").write.mode("append").parquet(source)
        stream = spark.readStream.schema("p INT, a INT").parquet(source).writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", str(checkpoint)).toTable(table_name).awaitTermination()
        return sorted(tuple(row) for row in spark.table(table_name).collect())

    assert run(1) == [(0, "there", 0), (1, "d", 1)]
    (checkpoint / "commits" / "0").unlink()  # as if it had been killed when its rows were there
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    assert run(2) == [(0, "there", 0), (1, "d", 1), (2, "d", 0)]


@since("4.0", "a place for rules that come before tables are looked up, which the refusal to read needs,")
def test_a_table_is_not_read_as_a_stream(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a BIGINT) PARTITIONED BY (p INT)")
    with pytest.raises(QueryExecutionException, match=rf"{table_name} cannot be read as a stream, .* foreachBatch"):
        spark.readStream.table(table_name)


def test_streams_that_cannot_be_say_so(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a BIGINT) PARTITIONED BY (p INT)")
    rate = spark.readStream.format("rate").load()
    with pytest.raises(InvalidInsertError, match="has no column timestamp"):
        rate.writeStream.toTable(table_name, checkpointLocation="x")
    rows = rate.selectExpr("value AS a", "1 AS p")
    with pytest.raises(InvalidInsertError, match="needs a place that stays"):
        rows.writeStream.toTable(table_name)
    with pytest.raises(InvalidInsertError, match="outputMode is complete: use foreachBatch"):
        rows.writeStream.toTable(table_name, outputMode="complete", checkpointLocation="x")
    with pytest.raises(InvalidInsertError, match="is partitioned by p, which the rows"):
        rows.drop("p").writeStream.toTable(table_name, checkpointLocation="x")
