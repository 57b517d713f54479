"""Executes SHOW CREATE DATABASE."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.jvm.catalog import database_of
from spark_client.jvm.sql_text import literal, quote
from spark_client.statements.grammar.databases import ShowCreateDatabase

_COLUMNS = "Database string, `Create Database` string"
# Properties that Spark and the metastore set.
_INTERNAL = ("owner", "ownerType")


def columns(_: Context, __: ShowCreateDatabase) -> str:
    """Returns the columns of its rows."""
    return _COLUMNS


def execute(context: Context, statement: ShowCreateDatabase, _: str) -> DataFrame:
    """Returns the name and a CREATE DATABASE statement, in the columns of Doris."""
    database = database_of(context, statement.database)
    text = f"CREATE DATABASE {quote(database.name)}"
    if database.description:
        text += f" COMMENT {literal(database.description)}"
    text += f" LOCATION {literal(database.location)}"
    own = {name: value for name, value in database.properties.items() if name not in _INTERNAL}
    if properties := [f"{literal(key)} = {literal(value)}" for key, value in sorted(own.items())]:
        text += f" WITH DBPROPERTIES ({', '.join(properties)})"
    return context.spark.createDataFrame([(database.name, text)], _COLUMNS)
