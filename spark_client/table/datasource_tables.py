"""Tables of Spark's own kind, USING parquet or orc: Spark keeps their columns in properties, with the case of names.

Where Hive does not know a type (TIMESTAMP_NTZ), it has another column altogether, and another format
(HiveExternalCatalog).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql.types import StructField

from metastore.client.structs import Column, Table
from spark_client.jvm.columns import CHAR_TYPE
from spark_client.table.settings import PROVIDER

_SCHEMA = "spark.sql.sources.schema"
_SERDES = {
    "parquet": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    "orc": "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
}
DATASOURCE_FORMATS = frozenset(_SERDES)


def datasource_format(table: Table) -> str | None:
    """Returns parquet or orc, for a table of that kind; None for others."""
    provider = table.parameters.get(PROVIDER, "").lower()
    return provider if provider in _SERDES else None


def with_spark_schema(table: Table) -> Table:
    """Returns a table of Spark's own kind with the columns and the serde that Spark has; any other as it is."""
    provider = datasource_format(table)
    if provider is None:
        return table
    known = {column.name: column for column in table.columns}
    columns = [
        replace(known[column.name.lower()], name=column.name) if column.name.lower() in known else column
        for column in _columns(table)
    ]
    storage = replace(table.storage, serde=_SERDES[provider])
    return replace(table, columns=tuple(columns) or table.columns, storage=storage)


def partition_directory_keys(table: Table) -> Sequence[str]:
    """Returns the names of the partition columns as their directories have them: Spark's with their case, Hive's in
    small letters."""
    declared = (
        {str(field["name"]).lower(): str(field["name"]) for field in schema_fields(table)}
        if datasource_format(table)
        else {}
    )
    return [declared.get(column.name, column.name) for column in table.partition_columns]


def _columns(table: Table) -> Iterator[Column]:
    keys = {column.name for column in table.partition_columns}
    for sent in schema_fields(table):
        field = StructField.fromJson(dict(sent))
        if field.name.lower() not in keys:
            metadata = field.metadata or {}
            yield Column(field.name, metadata.get(CHAR_TYPE) or field.dataType.simpleString(), metadata.get("comment"))


def schema_fields(table: Table) -> Sequence[Mapping[str, Any]]:
    """Returns the columns that Spark has written into the parameters of a table, as JSON; none where it has not."""
    parts = int(table.parameters.get(f"{_SCHEMA}.numParts", "0"))
    pieces = [table.parameters.get(f"{_SCHEMA}.part.{number}", "") for number in range(parts)]
    text = "".join(pieces) or table.parameters.get(_SCHEMA, "")
    return list(json.loads(text)["fields"]) if text else ()
