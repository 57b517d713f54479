"""A metastore with a session of our library, for measurements through Spark."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

import spark_client
from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from spark_client import Session
from tests.fixtures.server import running

SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "hive.exec.max.dynamic.partitions": "100000",
    # No task counts bytes that are read in the background.
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
}


@contextmanager
def session(*options: str) -> Iterator[Session]:
    """Starts both in a folder that is removed at the end. `options`: of the server."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        with EmbeddedPostgres(folder / "postgres") as postgres:
            runner.upgrade(postgres.url)
            with running(postgres.url, folder, *options) as server:
                spark = spark_client.session(
                    server.uri, app_name="bench", master="local[*]", warehouse=str(folder / "spark"), conf=SETTINGS
                )
                spark.sparkContext.setLogLevel("ERROR")
                try:
                    yield spark
                finally:
                    spark.stop()


@dataclass(frozen=True)
class Run:
    """One run of a query: wall time in seconds, and the bytes that its tasks read from files."""

    seconds: float
    bytes: int
    answer: str


def run(frame: DataFrame) -> Run:
    """Plans and runs the query. Planning is part of the time."""
    before, start = _bytes_read(frame), time.perf_counter()
    answer = repr(frame.collect())
    seconds = time.perf_counter() - start
    return Run(seconds, _bytes_read(frame) - before, answer)


def _bytes_read(frame: DataFrame) -> int:
    """Returns the bytes that all tasks of the application have read, as Hadoop's file systems count them."""
    context = frame.sparkSession.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    executors = context.statusStore().executorList(False)
    return sum(int(executors.apply(index).totalInputBytes()) for index in range(executors.size()))
