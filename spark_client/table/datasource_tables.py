"""Datasource tables: USING parquet or USING orc. Spark stores their schema in the table's parameters.

That schema keeps the case of column names. The descriptor in the metastore is for Hive. If Hive lacks a type
(TIMESTAMP_NTZ, VARIANT), Spark writes a placeholder there: one column `col` and the format SequenceFile
(HiveExternalCatalog), and partition columns have the type `<derived from deserializer>`. The descriptors of the
partitions have the same placeholder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql.types import StructField

from metastore.client.structs import Column, Partition, Table
from spark_client.jvm.columns import CHAR_TYPE
from spark_client.table.settings import PROVIDER

_SCHEMA = "spark.sql.sources.schema"
_SERDES = {
    "parquet": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    "orc": "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
}
DATASOURCE_FORMATS = frozenset(_SERDES)


def datasource_format(table: Table) -> str | None:
    """Returns parquet or orc for a datasource table, and None for any other table."""
    provider = table.parameters.get(PROVIDER, "").lower()
    return provider if provider in _SERDES else None


def with_spark_schema(table: Table) -> Table:
    """Returns a datasource table with the columns and serde that Spark has recorded, and any other table as it is."""
    provider = datasource_format(table)
    if provider is None:
        return table
    by_name = {column.name: column for column in table.columns}
    declared = [(column.name.lower(), column) for column in _columns(table)]  # names may differ in case only
    types = {name: column.type for name, column in declared}
    keys = [replace(column, type=types.get(column.name, column.type)) for column in table.partition_columns]
    key_names = {column.name for column in keys}
    columns = [
        replace(by_name[name], name=column.name) if name in by_name else column
        for name, column in declared
        if name not in key_names
    ]
    storage = replace(table.storage, serde=_SERDES[provider])
    return replace(table, columns=tuple(columns) or table.columns, partition_columns=tuple(keys), storage=storage)


def partition_with_spark_schema(table: Table, partition: Partition) -> Partition:
    """Returns a partition of a datasource table with the columns and serde of the table; any other as it is.

    `table` is the result of `with_spark_schema`. Spark reads and writes all partitions of a datasource table by the
    schema in the table's properties. Where Hive lacks a type, the descriptors of partitions hold a placeholder, too.
    """
    if datasource_format(table) is None:
        return partition
    return replace(partition, columns=table.columns, storage=replace(partition.storage, serde=table.storage.serde))


def partition_directory_keys(table: Table) -> Sequence[str]:
    """Returns the partition columns' names as directories have them: Spark's with their case, Hive's in lower case."""
    declared = (
        {str(field["name"]).lower(): str(field["name"]) for field in schema_fields(table)}
        if datasource_format(table)
        else {}
    )
    return [declared.get(column.name, column.name) for column in table.partition_columns]


def _columns(table: Table) -> Iterator[Column]:
    """Yields the recorded columns, with the partition columns."""
    for sent in schema_fields(table):
        field = StructField.fromJson(dict(sent))
        metadata = field.metadata or {}
        yield Column(field.name, metadata.get(CHAR_TYPE) or field.dataType.simpleString(), metadata.get("comment"))


def schema_fields(table: Table) -> Sequence[Mapping[str, Any]]:
    """Returns the columns of the schema that Spark has recorded in a table's parameters, as JSON. Empty if there is
    none.
    """
    parts = int(table.parameters.get(f"{_SCHEMA}.numParts", "0"))
    pieces = [table.parameters.get(f"{_SCHEMA}.part.{number}", "") for number in range(parts)]
    text = "".join(pieces) or table.parameters.get(_SCHEMA, "")
    return list(json.loads(text)["fields"]) if text else ()
