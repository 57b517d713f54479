"""A driver that executes one statement other than INSERT. SIGKILL ends it at a given step.

Rules in the driver plan the reads of the statement, so each driver has its own JVM, which dies with it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any
from unittest.mock import patch

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

import spark_client
from spark_client import streams
from spark_client.context import Context
from spark_client.write import handlers, journal
from tests.bench.writing.history import ROWS
from tests.bench.writing.processes import answering
from tests.bench.writing.writer import DONE, FAILED, KILLED, prepare, rows

SETTINGS = {"spark.ui.enabled": "false", "spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "1"}


@contextmanager
def changers(uri: str) -> Iterator[Callable[..., Any]]:
    """Yields a function that has a driver make one change. The driver of the next change starts meanwhile."""
    with ExitStack() as last:

        def start() -> Callable[..., Any]:
            return drivers.enter_context(answering("tests.bench.writing.changer", uri))

        drivers = last.enter_context(ExitStack())
        ready = start()

        def change(**order: Any) -> Any:
            nonlocal drivers, ready
            mine, ask = drivers, ready
            drivers = last.enter_context(ExitStack())
            ready = start()
            with mine:
                try:
                    return ask(**order)
                except EOFError:  # its JVM, which has the same output, has ended, too
                    return {"fate": KILLED}

        yield change


def main(uri: str) -> None:
    """Executes the change in the first line of the input, and prints its outcome."""
    journal.CHUNK = 1  # a step for each rename
    spark = spark_client.session(uri, app_name="changer", master="local[2]", conf=SETTINGS)
    if not (line := sys.stdin.readline()):
        return
    try:
        _carry_out(spark, json.loads(line))
        fate = DONE
    except Exception as error:  # noqa: BLE001 - the outcome is reported
        sys.stderr.write(f"{error}\n")
        fate = FAILED
    print(json.dumps({"fate": fate}), flush=True)  # noqa: T201


def _carry_out(spark: SparkSession, order: dict[str, Any]) -> None:
    context = partial(Context, on_step=prepare(spark, order))
    with patch.object(handlers, "Context", context), patch.object(streams, "Context", context):
        if order["delay"] is not None:  # a moment that no step names
            Timer(order["delay"], os.kill, (os.getpid(), signal.SIGKILL)).start()
        _STATEMENTS[order["kind"]](spark, order["table"], order["k"], order["old"])


def _delete(spark: SparkSession, table: str, _: int, old: int) -> None:
    """Deletes the rows of an older write."""
    spark.sql(f"DELETE FROM {table} WHERE k = {old}")


def _update(spark: SparkSession, table: str, k: int, old: int) -> None:
    """Changes the rows of an older write to those of this one."""
    spark.sql(f"UPDATE {table} SET k = {k} WHERE k = {old}")


def _merge(spark: SparkSession, table: str, k: int, old: int) -> None:
    """Replaces the rows of an older write by those of this one."""
    new = rows(spark, k)
    (new if old < 0 else new.unionAll(rows(spark, old))).createOrReplaceTempView("s")
    same = " AND ".join(f"t.{name} = s.{name}" for name in new.columns)
    spark.sql(f"MERGE INTO {table} t USING s ON {same} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *")


def _replace_where(spark: SparkSession, table: str, k: int, old: int) -> None:
    """Replaces the rows of an older write by those of this one."""
    rows(spark, k).createOrReplaceTempView("s")
    spark.sql(f"INSERT INTO {table} REPLACE WHERE k = {old} SELECT * FROM s")


def _create_or_replace(spark: SparkSession, table: str, k: int, _: int) -> None:
    """Replaces the table, so that it has only the rows of this write. The format changes every second time."""
    spark.conf.set("hive.default.fileformat", ("orc", "parquet")[k // 2 % 2])
    rows(spark, k).writeTo(table).partitionedBy(F.col("p")).createOrReplace()


def _save_as_table(spark: SparkSession, table: str, k: int, _: int) -> None:
    """Replaces the rows of the table, which becomes one of Spark's own kind."""
    rows(spark, k).write.mode("overwrite").partitionBy("p").saveAsTable(table)


def _several_inserts(spark: SparkSession, table: str, k: int, _: int) -> None:
    """Inserts half of the rows by each of two INSERTs of one statement."""
    rows(spark, k).createOrReplaceTempView("s")
    half = f"INSERT INTO TABLE {table} SELECT id, k, p WHERE id"
    spark.sql(f"FROM s {half} < {ROWS // 2} {half} >= {ROWS // 2}")


def _truncate(spark: SparkSession, table: str, *_: int) -> None:
    """Deletes all rows."""
    spark.sql(f"TRUNCATE TABLE {table}")


def _stream(spark: SparkSession, table: str, k: int, _: int) -> None:
    """Writes one batch of rows. Continues an earlier attempt that was killed."""
    warehouse = Path((spark.conf.get("spark.sql.warehouse.dir") or "").removeprefix("file:"))
    folder = warehouse.parent / "streams" / f"{table}_{k}"
    source = folder / "rows"
    if not source.exists():
        way = source.with_name("rows_on_their_way")
        rows(spark, k).coalesce(1).write.mode("overwrite").parquet(str(way))
        way.rename(source)
    batches = spark.readStream.schema(rows(spark, k).schema).parquet(str(source)).writeStream
    batches = batches.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    batches.toTable(table).awaitTermination()


_STATEMENTS: dict[str, Callable[[SparkSession, str, int, int], None]] = {
    "delete": _delete,
    "update": _update,
    "merge": _merge,
    "replace where": _replace_where,
    "several inserts": _several_inserts,
    "truncate": _truncate,
    "create or replace": _create_or_replace,
    "save as table": _save_as_table,
    "stream": _stream,
}


if __name__ == "__main__":
    main(sys.argv[1])
