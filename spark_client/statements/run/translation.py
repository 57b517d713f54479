"""Carries out statements in other engines' words: in Spark's."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.statements.grammar.translation import Translation


def columns(_: Context, __: Translation) -> str:
    """Returns none: there are no rows."""
    return ""


def execute(context: Context, statement: Translation, _: str) -> DataFrame:
    """Returns no rows. Raises as the statement in Spark's words does."""
    return context.spark.sql(statement.text)
