"""The bucket of a row, as a column: Hive's hash, computed by Spark (BucketHash.java)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Table
from spark_client.errors import InvalidInsertError, first_line
from spark_client.jvm.columns import hive_hash
from spark_client.table.bucket_rules import bucketing_version
from spark_client.write.skewed_directory import is_in


def bucket_number(
    table: Table, rows: DataFrame, exceptions: Sequence[tuple[int, Sequence[tuple[str, ...]]]] = ()
) -> SparkColumn:
    """Returns the bucket of each row, from 0.

    `exceptions`: other numbers of buckets, each with the partitions that have it. `rows` must have the bucketing
    columns, and the partition columns if there are exceptions.

    Raises InvalidInsertError for types that Hive's hash does not support and for unknown bucketing versions.
    """
    types = {column.name.lower(): column for column in table.columns}
    unknown = [name for name in table.buckets.columns if name.lower() not in types]
    if unknown:
        raise InvalidInsertError(f"{table.full_name} is CLUSTERED BY {', '.join(unknown)}, but has no such column")
    columns = [types[name.lower()] for name in table.buckets.columns]
    try:
        value = hive_hash(rows, columns, bucketing_version(table.full_name, table.parameters))
    except PySparkException as error:
        raise InvalidInsertError(f"{table.full_name} cannot be written: {first_line(error)}") from error
    count = F.lit(table.buckets.count)
    for other, partitions in exceptions:
        count = F.when(is_in(partitions, table), F.lit(other)).otherwise(count)
    return value.bitwiseAND(F.lit(0x7FFFFFFF)) % count
