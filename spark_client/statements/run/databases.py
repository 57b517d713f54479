"""Carries out SHOW CREATE DATABASE."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.jvm.catalog import database_of
from spark_client.jvm.sql_text import literal, quote
from spark_client.statements.grammar.databases import ShowCreateDatabase

_SHOWN = "Database string, `Create Database` string"
# What the metastore's own databases have.
_OWN = ("owner", "ownerType")


def columns(_: Context, __: ShowCreateDatabase) -> str:
    """Returns the columns of its rows."""
    return _SHOWN


def execute(context: Context, statement: ShowCreateDatabase, _: str) -> DataFrame:
    """Returns two columns, as Doris has them; the statement can be run again."""
    database = database_of(context, statement.database)
    text = f"CREATE DATABASE {quote(database.name)}"
    if database.description:
        text += f" COMMENT {literal(database.description)}"
    text += f" LOCATION {literal(database.location)}"
    own = {name: value for name, value in database.properties.items() if name not in _OWN}
    if shown := [f"{literal(key)} = {literal(value)}" for key, value in sorted(own.items())]:
        text += f" WITH DBPROPERTIES ({', '.join(shown)})"
    return context.spark.createDataFrame([(database.name, text)], _SHOWN)
