"""Carries out CREATE TABLE and CREATE DATABASE as Doris has them: in Spark's words."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.statements.grammar.doris import DorisStatement


def columns(_: Context, __: DorisStatement) -> str:
    """Returns none: there are no rows."""
    return ""


def execute(context: Context, statement: DorisStatement, _: str) -> DataFrame:
    """Returns no rows. Raises as the statement in Spark's words does."""
    return context.spark.sql(statement.text)
