"""Batches of streaming queries: each once, whole, also where the query is started again from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession


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
