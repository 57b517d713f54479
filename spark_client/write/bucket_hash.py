"""The bucket of a row, as a column: Hive's own hash, computed by Spark (see BucketHash.java)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import StructType

from metastore.client.structs import Column, Table
from spark_client.errors import InvalidInsertError, first_line
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.sql_text import quote
from spark_client.table.bucket_rules import bucketing_version
from spark_client.write.skewed_directory import is_in


def bucket_number(
    table: Table, rows: DataFrame, exceptions: Sequence[tuple[int, Sequence[tuple[str, ...]]]] = ()
) -> SparkColumn:
    """The bucket of each row, from 0. `exceptions`: other counts, each with the partitions that have it.

    `rows` hold the table's bucketing columns, and its partition columns if there are exceptions.
    Raises InvalidInsertError for types whose hash nobody can compute, and for unknown versions.
    """
    types = {column.name.lower(): column for column in table.columns}
    unknown = [name for name in table.buckets.columns if name.lower() not in types]
    if unknown:
        raise InvalidInsertError(f"{table.full_name} is CLUSTERED BY {', '.join(unknown)}, which it does not have")
    columns = [types[name.lower()] for name in table.buckets.columns]
    try:
        value = hive_hash(rows, columns, bucketing_version(table.full_name, table.parameters))
    except PySparkException as error:
        raise InvalidInsertError(f"{table.full_name} cannot be written: {first_line(error)}") from error
    count = F.lit(table.buckets.count)
    for other, partitions in exceptions:
        count = F.when(is_in(partitions, table), F.lit(other)).otherwise(count)
    return value.bitwiseAND(F.lit(0x7FFFFFFF)) % count


def data_schema(spark: Any, table: Table) -> StructType:
    """The columns in the table's files as Spark reads and writes them: char and varchar are strings."""
    types = spark._jvm.org.apache.spark.sql.types  # noqa: SLF001 - the only way to Catalyst
    char_varchar = spark._jvm.org.apache.spark.sql.catalyst.util.CharVarcharUtils  # noqa: SLF001
    ddl = ", ".join(f"{quote(column.name)} {column.type}" for column in table.columns)
    plain = char_varchar.replaceCharVarcharWithStringInSchema(types.StructType.fromDDL(ddl))
    return StructType.fromJson(json.loads(plain.json()))


def hive_hash(rows: DataFrame, columns: Sequence[Column], version: int) -> SparkColumn:
    """Hive's hash of columns of `rows` in this order, by the version of its bucketing; types are Hive's."""
    spark: Any = rows.sparkSession
    jvm = spark._jvm  # noqa: SLF001 - the only way to Catalyst
    output = rows.select(*(quote(column.name) for column in columns))._jdf.queryExecution().analyzed().output()  # noqa: SLF001
    attributes = jvm.java.util.ArrayList()
    for index in range(output.size()):
        attributes.add(output.apply(index))
    ddl = ", ".join(f"{quote(column.name)} {column.type}" for column in columns)
    zone = spark.conf.get("spark.sql.session.timeZone")
    arguments = jvm.java.util.List.of(version, zone).toArray()
    gateway = spark.sparkContext._gateway  # noqa: SLF001
    hasher = capabilities(gateway).constructor("buckets", "BucketHash").newInstance(arguments)
    expression = hasher.hash(attributes, jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl))
    return ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression))
