"""A program that starts drivers that write to S3, of which each is killed at one step, and writes the same rows again.

    python -m tests.interop.storage.lost_drivers thrift://host:port ENDPOINT SETTINGS

Prints as JSON, for each kind of write and step: the ids that are visible after the driver has died, after the write was
repeated, and after cleaning, and the files and uploads that are left then.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Final

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

import spark_client
from spark_client import Session
from spark_client.context import Context
from spark_client.write.insert import insert_into
from tests.interop.storage.statements import SETTINGS
from tests.interop.storage.uploads import Uploading

IN_A_TASK: Final = "task"
UNPUBLISHED: Final = (IN_A_TASK, "staged", "registered", "completed", "placed")
STEPS: Final = (*UNPUBLISHED, "published")
KINDS: Final = ("append", "overwrite")
BEFORE: Final = [(1, 7, 1), (2, 0, 1), (3, 0, 4)]
_WRITTEN: Final = range(10, 410)
_IN_LAST_TASK: Final = 400


def data(spark: Session) -> DataFrame:
    """Rows of one partition with earlier rows, and of one without; both have the skewed value."""
    return spark.range(_WRITTEN.start, _WRITTEN.stop, 1, 4).selectExpr(
        "id", "IF(id % 3 = 0, 7, 0) AS x", "CAST(1 + id % 2 AS INT) AS p"
    )


def victim(uri: str, settings: str, table: str, kind: str, step: str) -> None:
    """Writes, and is killed with its JVM at a step. Two tasks run at a time."""
    conf = {**SETTINGS, **json.loads(settings), "write.lease.seconds": "5"}
    spark = spark_client.session(uri, master="local[2]", conf=conf)
    group = os.getpgid(0)

    def on_step(name: str) -> None:
        if name == step:
            os.killpg(group, signal.SIGKILL)

    def in_task(number: int) -> int:
        context = TaskContext.get()
        if context is not None and context.partitionId() == 3 and number == _IN_LAST_TASK:
            os.killpg(group, signal.SIGKILL)
        return number

    rows, partition = data(spark), {}
    if step == IN_A_TASK:  # rows of one partition are not shuffled, so that other tasks have uploaded their files
        rows, partition = rows.withColumn("id", F.udf(in_task, "bigint")("id")).drop("p"), {"p": "1"}
    context = Context(spark, spark.metastore, on_step)
    insert_into(context, f"far.{table}", rows, partition=partition, overwrite=kind == "overwrite")


def attempt(tables: Uploading, uri: str, settings: str, kind: str, step: str) -> dict[str, object]:
    name = tables.make(f"{kind}_{step}", skewed=step != IN_A_TASK)
    tables.spark.createDataFrame(BEFORE, "id BIGINT, x INT, p INT").createOrReplaceTempView("before")
    tables.spark.sql(f"INSERT INTO {name} SELECT * FROM before")
    command = [sys.executable, "-W", "ignore", "-m", __spec__.name, "--victim", uri, settings, name, kind, step]
    ended = subprocess.run(command, check=False, start_new_session=True, stdout=sys.stderr).returncode
    seen: dict[str, object] = {"ended": ended, "after death": tables.ids(name), "uploads": len(tables.uploads())}
    if step in UNPUBLISHED:
        insert_into(tables.context, f"far.{name}", data(tables.spark), overwrite=kind == "overwrite")
    seen["repeated"] = tables.ids(name)
    while tables.context.metastore.clean("far", name, dry_run=True, grace=0).waiting:
        pass  # the lease of the killed write ends
    cleaned = tables.context.metastore.clean("far", name, grace=0)
    errors = [location.error for location in cleaned.locations if location.error]
    return seen | {"cleaned": tables.ids(name), "left": [*errors, *tables.unreferenced(name), *tables.uploads()]}


def main(uri: str, endpoint: str, settings: str) -> dict[str, object]:
    spark = spark_client.session(uri, master="local[2]", conf={**SETTINGS, **json.loads(settings)})
    tables = Uploading(spark, endpoint)
    seen = {f"{kind}, {step}": attempt(tables, uri, settings, kind, step) for kind in KINDS for step in STEPS}
    spark.stop()
    return seen


if __name__ == "__main__":
    if sys.argv[1] == "--victim":
        victim(*sys.argv[2:])
    else:
        sys.stdout.write(f"\n{json.dumps(main(*sys.argv[1:]))}\n")
