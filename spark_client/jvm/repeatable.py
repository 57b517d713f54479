"""Queries whose tasks may return other rows when they run again, and rows that are computed once for several jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.plans import java_frame


def is_repeatable(rows: DataFrame) -> bool:
    """Returns whether a query surely has the same rows each time (Repeatable.java). It runs no job."""
    return bool(_java(rows).rows(java_frame(rows)))


@contextmanager
def computed_once(rows: DataFrame) -> Iterator[DataFrame]:
    """Yields the same rows and columns for several jobs, all of which see the same values.

    The rows of a repeatable query are cached, and computed again if an executor ends. The rows of any other query are
    stored by a job that runs first. Jobs that cannot read them any more, because an executor has ended, fail with
    Spark's error CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND. Spark writes no files outside the executors' local directories.
    """
    if is_repeatable(rows):
        rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield rows
        finally:
            rows.unpersist()
        return
    java = _java(rows)
    stored = java.once(java_frame(rows))
    try:
        yield DataFrame(stored, rows.sparkSession)
    finally:
        java.release(stored)


def _java(rows: DataFrame) -> Any:
    return capabilities(rows.sparkSession.sparkContext._gateway).singleton("Repeatable")  # noqa: SLF001
