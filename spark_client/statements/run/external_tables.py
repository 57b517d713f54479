"""Executes CREATE EXTERNAL TABLE without LOCATION, with the location of a managed table, as Hive does."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.statements.grammar.external_tables import CreateExternalTable
from spark_client.statements.run.clauses import resolve


def columns(_: Context, __: CreateExternalTable) -> str:
    """Returns no columns."""
    return ""


def execute(context: Context, statement: CreateExternalTable, _: str) -> DataFrame:
    """Runs the statement with a LOCATION. Raises NoSuchDatabaseError, and the errors of Spark."""
    database, name = resolve(context, statement.table)
    path = f"{context.metastore.get_database(database).location.rstrip('/')}/{name}"
    location = path.replace("\\", "\\\\").replace("'", "\\'")
    return context.spark.sql(f"{statement.text}\nLOCATION '{location}'")
