"""Reads a bucketed table bucket by bucket, so that joins and aggregations do not shuffle it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import reject_remote, require
from spark_client.errors import InvalidStatementError
from spark_client.jvm import joins
from spark_client.jvm.plans import kind, nodes, query_execution

_INDEX = "spark_client.core.HiveTableIndex"


def by_bucket(df: DataFrame) -> DataFrame:
    """Returns the rows of a query of one bucketed table so that each task reads one bucket.

    `df` may select columns and filter rows, and nothing else. The returned DataFrame is not shuffled

    - in a join on its bucketing columns with another such DataFrame, if bucket counts, hash versions and types are
      equal;
    - in a join with any other DataFrame, which alone is shuffled, by Hive's hash;
    - in an aggregation grouped by its bucketing columns.

    As with any DataFrame, the rows are those that exist when a query is planned, also through a temporary view. If the
    table can then no longer be read by bucket, or the query needs none of the bucketing columns, it is read normally.

    Raises InvalidStatementError if the rows cannot be read by bucket: the query does more, the table has no buckets,
    bucketing columns are not selected, or their types have equal values with different hashes (timestamps, binaries,
    floating point numbers, arrays, maps, structs).
    """
    require(df, DataFrame, "by_bucket", "a DataFrame", "by_bucket(spark.table('db.t'))")
    reject_remote(df, "by_bucket", "a JOIN, which shuffles the rows")
    execution = query_execution(df)
    scans = [node for node in nodes(execution.sparkPlan()) if kind(node) not in ("ProjectExec", "FilterExec")]
    if len(scans) != 1 or kind(scans[0]) != "FileSourceScanExec":
        raise InvalidStatementError("by_bucket accepts only a selection of columns and filters on one bucketed table")
    index = scans[0].relation().location()
    is_hive_table = index.getClass().getName() == _INDEX
    rows = joins.by_bucket(df.sparkSession, execution.analyzed(), scans[0]) if is_hive_table else None
    if rows is None:
        raise InvalidStatementError(
            f"{index.name() if is_hive_table else index.toString()} cannot be read by bucket: it has no buckets, "
            "its bucketing columns are not selected, equal values of their types can be in several buckets, some "
            "partitions were written with other types, or Spark without spark_client wrote some of its files"
        )
    return rows
