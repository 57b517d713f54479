"""by_bucket: rows of a bucketed table read bucket by bucket, so that joins and aggregations need no shuffle of them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import reject_remote
from spark_client.errors import InvalidStatementError
from spark_client.jvm import joins
from spark_client.jvm.plans import kind, nodes, query_execution

_INDEX = "spark_client.core.HiveTableIndex"


def by_bucket(df: DataFrame) -> DataFrame:
    """Returns the rows of `df`, which selects columns and filters rows of one bucketed table; one task reads one
    bucket.

    Joined by its bucketing columns with another such frame of as many buckets, the same version and types, neither is
    shuffled; with any other frame, only that one is, by Hive's hash. Grouped by these columns, it is not shuffled
    either. As of any frame, its rows are those that there are when a query of it is planned, also by a temporary view.
    Where they cannot be read so any more, or a query needs none of the bucketing columns, they are read as ever.

    Raises InvalidStatementError where the rows do not lie so: another kind of query, no buckets, or bucketing columns
    that are not selected, or of types whose equal values may lie in several buckets (timestamps, binaries, floating
    point numbers, arrays, maps, structs).
    """
    reject_remote(df, "by_bucket", "a JOIN, whose rows are shuffled")
    execution = query_execution(df)
    scans = [node for node in nodes(execution.sparkPlan()) if kind(node) not in ("ProjectExec", "FilterExec")]
    if len(scans) != 1 or kind(scans[0]) != "FileSourceScanExec":
        raise InvalidStatementError("by_bucket takes columns and filters of one bucketed table, and nothing else")
    index = scans[0].relation().location()
    ours = index.getClass().getName() == _INDEX
    found = joins.by_bucket(df.sparkSession, execution.analyzed(), scans[0]) if ours else None
    if found is None:
        raise InvalidStatementError(
            f"{index.name() if ours else index.toString()} cannot be read by bucket: it has none, or its bucketing "
            "columns are not selected, or are of types whose equal values may lie in several buckets, or had other "
            "types when some of its partitions were written, or Spark without this library wrote some of its files"
        )
    return found
