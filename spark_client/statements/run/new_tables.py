"""Executes CREATE TABLE … AS SELECT with column types."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.jvm.catalog import parse_create_table
from spark_client.jvm.parser import default_format
from spark_client.jvm.plans import empty_frame
from spark_client.jvm.sql_text import quote
from spark_client.statements.grammar.new_tables import CreateTableAsSelect
from spark_client.write.create_as_select import create_as_select


def columns(_: Context, __: CreateTableAsSelect) -> str:
    """Returns no columns."""
    return ""


def execute(context: Context, statement: CreateTableAsSelect, _: str) -> DataFrame:
    """Creates the table with the rows of the query. Raises InvalidStatementError, or as `create_as_select`."""
    data = context.spark.sql(statement.query)
    columns = data.schema.fields[: len(data.columns) - statement.keys]
    typed = ", ".join(f"{quote(column.name)} {column.dataType.simpleString()}" for column in columns)
    text = statement.definition(f"({typed})")
    if not statement.has_format:
        text += f" {default_format(context)}"
    definition = parse_create_table(context, text)
    if definition is None:
        raise InvalidStatementError(
            f"CREATE TABLE {statement.table} … AS SELECT with column types needs a table in Hive's format: "
            "omit the types, or use STORED AS PARQUET or STORED AS ORC"
        )
    create_as_select(context, definition, data, if_not_exists=definition.if_not_exists)
    return empty_frame(context.spark)
