"""What Spark's analyzer and catalog make of statements and tables."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from metastore.client.convert import table_of
from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.jvm.parser import parsed
from spark_client.jvm.sql_text import quote
from thrift_idl.gen.hive_metastore import ttypes as hive

_COLLATION = re.compile(r"\s+collate\s+\w+", re.IGNORECASE)  # Hive has none; Spark reads it from the schema's JSON


def analyzed(context: Context, text: str) -> Any:
    """Spark's command for a statement, not run."""
    java: Any = context.spark._jvm  # noqa: SLF001
    skip = java.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    state = context.spark._jsparkSession.sessionState()  # noqa: SLF001
    return state.executePlan(parsed(context, text), skip).analyzed()


def definition_of(context: Context, table: Table) -> Any:
    """The table as Spark's catalog has it (CatalogTable)."""
    java: Any = context.spark._jvm  # noqa: SLF001
    identifier = java.org.apache.spark.sql.catalyst.TableIdentifier(table.name, java.scala.Option.apply(table.database))
    return context.spark._jsparkSession.sessionState().catalog().getTableMetadata(identifier)  # noqa: SLF001


def refresh(spark: Any, database: str, table: str) -> None:
    """Makes Spark forget what it has cached of a table that changed."""
    spark.catalog.refreshTable(f"{quote(database)}.{quote(table)}")


def as_spark_stores_it(context: Context, definition: Any) -> Table:
    """Spark's own conversion to a table of Hive's (HiveClientImpl.toHiveTable), brought over as Thrift bytes."""
    java: Any = context.spark._jvm  # noqa: SLF001
    client = getattr(java, "org.apache.spark.sql.hive.client.HiveClientImpl$")
    user = java.org.apache.hadoop.security.UserGroupInformation.getCurrentUser().getShortUserName()
    converted = getattr(client, "MODULE$").toHiveTable(definition, java.scala.Option.apply(user))
    protocol = getattr(java, "org.apache.thrift.protocol.TBinaryProtocol$Factory")()
    encoded = java.org.apache.thrift.TSerializer(protocol).serialize(converted.getTTable())
    raw = hive.Table()
    raw.read(TBinaryProtocol(TMemoryBuffer(bytes(encoded))))
    table = table_of(raw)
    return replace(
        table,
        columns=tuple(
            replace(column, name=column.name.lower(), type=_COLLATION.sub("", column.type)) for column in table.columns
        ),
        parameters={**table.parameters, **_schema_properties(context, definition)},
    )


def _schema_properties(context: Context, definition: Any) -> dict[str, str]:
    """The schema with the case of its names, as Spark's own CREATE TABLE records it (HiveExternalCatalog)."""
    prefix, names = "spark.sql.sources.schema", definition.partitionColumnNames()
    limit = int(context.spark.conf.get("spark.sql.sources.schemaStringLengthThreshold", "4000") or "4000")
    schema = str(definition.schema().json())
    parts = [schema[start : start + limit] for start in range(0, len(schema), limit)]
    properties = {"spark.sql.create.version": str(context.spark.version)}
    if len(parts) == 1:
        properties[prefix] = schema
    else:
        properties |= {f"{prefix}.numParts": str(len(parts))}
        properties |= {f"{prefix}.part.{number}": part for number, part in enumerate(parts)}
    if names.size():
        properties[f"{prefix}.numPartCols"] = str(names.size())
        properties |= {f"{prefix}.partCol.{number}": str(names.apply(number)) for number in range(names.size())}
    return properties
