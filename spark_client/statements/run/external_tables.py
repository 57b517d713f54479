"""Carries out CREATE EXTERNAL TABLE without LOCATION: in Spark's words, in its database's directory."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.statements.grammar.external_tables import CreateExternalTable
from spark_client.statements.run.clauses import resolve


def columns(_: Context, __: CreateExternalTable) -> str:
    """Returns none: there are no rows."""
    return ""


def execute(context: Context, statement: CreateExternalTable, _: str) -> DataFrame:
    """Returns no rows. Raises as the statement with a LOCATION does, and NoSuchDatabaseError."""
    database, name = resolve(context, statement.table)
    place = f"{context.metastore.get_database(database).location.rstrip('/')}/{name}"
    location = place.replace("\\", "\\\\").replace("'", "\\'")
    return context.spark.sql(f"{statement.text}\nLOCATION '{location}'")
