"""Tells scans of queries from those of reports, advice and table care, which the metastore does not record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

_NO_QUERY: Final = "metastore.scan.no_query"  # a property of the thread, read by HiveTableIndex.java


@contextmanager
def no_query(spark: SparkSession) -> Iterator[None]:
    """Marks the scans that this thread plans: no query of a user reads their rows."""
    context = spark.sparkContext
    before = context.getLocalProperty(_NO_QUERY)
    context.setLocalProperty(_NO_QUERY, "true")
    try:
        yield
    finally:
        context.setLocalProperty(_NO_QUERY, before)  # type: ignore[arg-type]  # None removes it
