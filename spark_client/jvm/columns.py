"""Spark's rules about columns: store assignment, char and varchar in files, and Hive's bucket hash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from metastore.client.structs import Column
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.objects import java_class
from spark_client.jvm.plans import analyzed_plan, elements, frame_of
from spark_client.jvm.sql_text import quote
from spark_client.jvm.versions import column_of

CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"  # the metadata key of char(n) and varchar(n) (CharVarcharUtils)


def file_schema(spark: SparkSession, columns: Sequence[Column]) -> StructType:
    """Returns the schema of files with these columns: char and varchar are strings."""
    return StructType.fromJson(json.loads(_file_schema(spark, columns).json()))


def assigned(
    spark: SparkSession, table: str, rows: DataFrame, columns: Sequence[Column], *, by_name: bool = False
) -> DataFrame:
    """Returns the rows cast to the columns by position, as Spark's TableOutputResolver does.

    `by_name`: columns and fields of structs are assigned by name instead. It applies `spark.sql.storeAssignmentPolicy`
    and checks the lengths of char and varchar. Rows that Spark has already cast when it resolved the statement are
    returned unchanged. Raises PySparkException if the rows do not fit.
    """
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    if is_like(rows.schema, columns):
        return rows
    declared, plan = _file_schema(spark, columns), analyzed_plan(rows)
    if _has_types(rows.schema, StructType.fromJson(json.loads(declared.json()))):
        return rows
    resolver = java_class(java, "org.apache.spark.sql.catalyst.analysis.TableOutputResolver")
    fill_defaults = getattr(resolver, "resolveOutputColumns$default$6")()
    expected = java_class(java, "org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(declared)
    conf = spark._jsparkSession.sessionState().conf()  # noqa: SLF001 - as above
    resolved = resolver.resolveOutputColumns(table, expected, plan, by_name, conf, fill_defaults)
    return frame_of(spark, resolved)


def _has_types(schema: StructType, declared: StructType) -> bool:
    """Returns whether names and types are equal. It is False for fields with metadata, such as char and varchar."""
    pairs = [[(field.name, field.dataType) for field in struct.fields] for struct in (schema, declared)]
    return pairs[0] == pairs[1] and not any(field.metadata for field in (*schema.fields, *declared.fields))


def is_like(schema: StructType, columns: Sequence[Column]) -> bool:
    """Returns whether names and types are equal, by the texts of the types, without asking the JVM."""
    pairs = [(field.name, field.dataType.simpleString()) for field in schema.fields]
    return pairs == [(column.name, column.type) for column in columns] and not any(
        field.metadata for field in schema.fields
    )


def hive_hash(rows: DataFrame, columns: Sequence[Column], version: int) -> SparkColumn:
    """Returns Hive's hash of columns of `rows`, in this order, for a bucketing version. Types are Hive's."""
    spark = rows.sparkSession
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    attributes = java_class(java, "java.util.ArrayList")()
    for element in elements(analyzed_plan(rows.select(*(quote(column.name) for column in columns))).output()):
        attributes.add(element)
    zone = spark.conf.get("spark.sql.session.timeZone")
    arguments = java_class(java, "java.util.List").of(version, zone).toArray()
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - as above
    hasher = capabilities(gateway).constructor("buckets", "BucketHash").newInstance(arguments)
    return column_of(
        spark, hasher.hash(attributes, java_class(java, "org.apache.spark.sql.types.StructType").fromDDL(_ddl(columns)))
    )


def _file_schema(spark: SparkSession, columns: Sequence[Column]) -> Any:
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    declared = java_class(java, "org.apache.spark.sql.types.StructType").fromDDL(_ddl(columns))
    return java_class(java, "org.apache.spark.sql.catalyst.util.CharVarcharUtils").replaceCharVarcharWithStringInSchema(
        declared
    )


def _ddl(columns: Sequence[Column]) -> str:
    return ", ".join(f"{quote(column.name)} {column.type}" for column in columns)
