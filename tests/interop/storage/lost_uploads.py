"""A program on a cluster of two executors that writes to S3, while executors are killed or given up, and while Spark
starts a second attempt of a slow task (speculation).

    python -m tests.interop.storage.lost_uploads thrift://host:port ENDPOINT SETTINGS

Prints as JSON, for each attempt: the processes that it has stopped, its ids, and the uploads that are not complete.
Prints {"skipped": reason} if the cluster does not start.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

import spark_client
from spark_client import Session
from spark_client.context import Context
from spark_client.write.insert import insert_into
from tests.interop.storage.cluster import cluster
from tests.interop.storage.s3 import client_of

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    # An executor that does not answer is given up after some seconds.
    "spark.network.timeout": "12s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeoutInterval": "2s",
}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
}
ROWS = 400


def stopping(rows: DataFrame, signal_: int, folder: str, *, is_slow: bool = False) -> DataFrame:
    """Sends a signal to the executor of the first attempt of the second task, near the end of its rows.

    `is_slow`: to the Python process of that attempt. Its executor still answers.
    """

    def stop(number: int) -> int:
        context = TaskContext.get()
        if context is not None and (context.partitionId(), context.attemptNumber()) == (1, 0) and number % 100 == 90:
            parent = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
            process = os.getpid() if is_slow else int(parent)
            (Path(folder) / str(process)).touch()
            os.kill(process, signal_)
        return number

    return rows.withColumn("id", F.udf(stop, "bigint")("id"))


def wait_for_end(process: int) -> None:
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process)
        select.select([descriptor], [], [])
        os.close(descriptor)


def stopped(folder: str) -> list[int]:
    return [int(file.name) for file in Path(folder).iterdir()]


def resume(folder: str, *, is_slow: bool = False) -> None:
    """Lets stopped processes go on, and waits until executors have ended. Python processes wait for other tasks."""
    for process in stopped(folder):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)
    for process in [] if is_slow else stopped(folder):
        wait_for_end(process)


def write(
    spark: Session, endpoint: str, table: str, signal_: int, resumed_at: str = "", *, is_slow: bool = False
) -> dict[str, object]:
    """Writes twice to one partition: each task of the query writes a file."""
    spark.sql(f"CREATE TABLE far.{table} (id BIGINT) PARTITIONED BY (p INT) STORED AS PARQUET")
    seen = 0
    for start in (0, ROWS):
        with tempfile.TemporaryDirectory() as folder:
            resumes = partial(resume, folder, is_slow=is_slow)
            rows = stopping(spark.range(start, start + ROWS, 1, 4), signal_, folder, is_slow=is_slow)
            insert_into(context_of(spark, resumed_at, resumes), f"far.{table}", rows, partition={"p": "1"})
            seen += len(stopped(folder))
            resumes()
    ids = sorted(row[0] for row in spark.sql(f"SELECT id FROM far.{table}").collect())
    uploads = client_of(endpoint).list_multipart_uploads(Bucket="bucket").get("Uploads", ())
    return {"stopped": seen, "ids": ids, "uploads": [upload["Key"] for upload in uploads]}


def context_of(spark: Session, resumed_at: str, resumes: Callable[[], None]) -> Context:
    steps = {resumed_at: resumes}
    return Context(spark, spark.metastore, lambda step: steps.get(step, lambda: None)())


def main(uri: str, endpoint: str, settings: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder)) as master:
        try:
            spark = session(uri, master, {**SETTINGS, **json.loads(settings)})
        except Exception as failure:  # noqa: BLE001 - whatever it is, the machine cannot run such a cluster
            return {"skipped": str(failure)}
        spark.sql("CREATE DATABASE far LOCATION 's3a://bucket/warehouse/far.db'")
        seen = {
            "killed": write(spark, endpoint, "killed", signal.SIGKILL),
            "given up, resumed before publishing": write(spark, endpoint, "early", signal.SIGSTOP, "registered"),
            "given up, resumed after publishing": write(spark, endpoint, "late", signal.SIGSTOP, "published"),
        }
        spark.stop()
        spark = session(uri, master, {**SETTINGS, **SPECULATION, **json.loads(settings)})
        for step, table in (("registered", "slow_early"), ("published", "slow_late")):
            made = write(spark, endpoint, table, signal.SIGSTOP, step, is_slow=True)
            seen[f"second attempt, first resumed when {step}"] = made
        spark.stop()
    return seen


def session(uri: str, master: str, conf: Mapping[str, str]) -> Session:
    """Returns a session whose executors answer."""
    spark = spark_client.session(uri, master=master, conf=dict(conf))
    spark.range(4).count()
    return spark


if __name__ == "__main__":
    sys.stdout.write(f"\n{json.dumps(main(*sys.argv[1:4]))}\n")
