"""Executes statements of other engines, translated to Spark's syntax."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.statements.grammar.translation import Translation


def columns(_: Context, statement: Translation) -> str:
    """Returns the columns of the translation's rows."""
    return statement.columns


def execute(context: Context, statement: Translation, _: str) -> DataFrame:
    """Runs the translation. Raises the errors of Spark."""
    return context.spark.sql(statement.text)
