"""Queries whose tasks may return other rows when they run again, and rows that are computed once for several jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.objects import to_python
from spark_client.jvm.plans import frame_of, java_frame


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


@contextmanager
def one_source(queries: Sequence[DataFrame]) -> Iterator[Sequence[DataFrame]]:
    """Yields the queries of FROM … INSERT … INSERT … so that all read the same rows of their source.

    The source of a query that has the same rows each time is not stored.
    """
    spark, frames = queries[0].sparkSession, [java_frame(query) for query in queries]
    java = _singleton(spark, "SharedSource")
    source = java.of(frames) if len(frames) > 1 else None
    if source is None or is_repeatable(rows := frame_of(spark, source)):
        yield queries
        return
    with computed_once(rows) as stored:
        yield [frame_of(spark, plan) for plan in to_python(java.over(frames, java_frame(stored)))]


def _java(rows: DataFrame) -> Any:
    return _singleton(rows.sparkSession, "Repeatable")


def _singleton(spark: SparkSession, name: str) -> Any:
    return capabilities(spark.sparkContext._gateway).singleton(name)  # noqa: SLF001 - PySpark has no public API for it
