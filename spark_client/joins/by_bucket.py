"""by_bucket: rows of a bucketed table read bucket by bucket, so that joins and aggregations need no shuffle of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from spark_client.errors import InvalidStatementError
from spark_client.jvm.capabilities import capabilities

_INDEX = "spark_client.core.HiveTableIndex"


def by_bucket(df: DataFrame) -> DataFrame:
    """The rows of `df`, which selects columns and filters rows of one bucketed table; one task reads one bucket.

    Joined by its bucketing columns with another such frame of as many buckets, the same version and types, neither is
    shuffled; with any other frame, only that one is, by Hive's hash. Grouped by these columns, it is not shuffled
    either. Which files there are is found out now: rows written later are not in it.

    Raises InvalidStatementError where the rows do not lie so: another kind of query, no buckets, or bucketing columns
    that are not selected, or of types whose equal values may lie in several buckets (timestamps, binaries, floating
    point numbers, arrays, maps, structs).
    """
    execution = df._jdf.queryExecution()  # noqa: SLF001 - PySpark has no name for it
    scans = [node for node in _nodes(execution.sparkPlan()) if _class(node) not in ("ProjectExec", "FilterExec")]
    if len(scans) != 1 or _class(scans[0]) != "FileSourceScanExec":
        raise InvalidStatementError("by_bucket takes columns and filters of one bucketed table, and nothing else")
    index = scans[0].relation().location()
    ours = index.getClass().getName() == _INDEX
    spark: Any = df.sparkSession
    plan = _scan(spark, index).of(execution.optimizedPlan(), scans[0]) if ours else None
    if plan is None:
        raise InvalidStatementError(
            f"{index.name() if ours else index.toString()} cannot be read by bucket: it has none, or its bucketing "
            "columns are not selected, or are of types whose equal values may lie in several buckets, or had other "
            "types when some of its partitions were written, or Spark without this library wrote some of its files"
        )
    java_session = spark._jsparkSession  # noqa: SLF001
    return DataFrame(spark._jvm.org.apache.spark.sql.classic.Dataset.ofRows(java_session, plan), spark)  # noqa: SLF001


def _scan(spark: Any, index: Any) -> Any:
    """Returns a BucketScan of the table."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001
    arguments = gateway.jvm.java.util.List.of(spark._jsparkSession, index).toArray()  # noqa: SLF001
    return capabilities(gateway).constructor("joins", "BucketScan").newInstance(arguments)


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    children = plan.children()
    for index in range(children.size()):
        yield from _nodes(children.apply(index))


def _class(node: Any) -> str:
    return str(node.getClass().getSimpleName())
