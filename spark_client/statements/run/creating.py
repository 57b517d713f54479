"""Carries out what Hive and its partners say of databases and new tables: SHOW CREATE DATABASE, typed CTAS."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.jvm.catalog import analyzed
from spark_client.jvm.parser import default_format
from spark_client.jvm.sql_text import literal, quote
from spark_client.statements.grammar.creating import CreateTableAsSelect, ShowCreateDatabase, Statement
from spark_client.write.create_as_select import create_as_select

# What the metastore's own databases have.
_OWN = ("owner", "ownerType")


def execute(context: Context, statement: Statement, *arguments: Any, **more: Any) -> DataFrame:
    """The statement's rows. `arguments` are those of `spark.sql`, for the query.

    Raises InvalidStatementError, and what creating a table and an INSERT raise.
    """
    if isinstance(statement, ShowCreateDatabase):
        return _show_create_database(context, statement)
    _create_as_select(context, statement, context.spark.sql(statement.query, *arguments, **more))
    return DataFrame(context.spark._jsparkSession.emptyDataFrame(), context.spark)  # noqa: SLF001


def _create_as_select(context: Context, statement: CreateTableAsSelect, data: DataFrame) -> None:
    columns = data.schema.fields[: len(data.columns) - statement.keys]
    given = ", ".join(f"{quote(column.name)} {column.dataType.simpleString()}" for column in columns)
    text = statement.definition(f"({given})")
    if not statement.has_format:
        text += f" {default_format(context)}"
    command = analyzed(context, text)
    if command.getClass().getSimpleName() != "CreateTableCommand":
        raise InvalidStatementError(
            f"CREATE TABLE {statement.table} … AS SELECT with types of its own is for tables in Hive's layout; "
            "leave the types out, or say STORED AS PARQUET or STORED AS ORC"
        )
    create_as_select(context, command.table(), data, if_not_exists=command.ignoreIfExists())


def _show_create_database(context: Context, statement: ShowCreateDatabase) -> DataFrame:
    """Two columns, as Doris has them; the statement can be run again."""
    state = context.spark._jsparkSession.sessionState()  # noqa: SLF001 - PySpark has no name for it
    parts = state.sqlParser().parseMultipartIdentifier(statement.database)
    name = str(parts.apply(parts.size() - 1))
    database = state.catalog().getDatabaseMetadata(name)
    text = f"CREATE DATABASE {quote(database.name())}"
    if database.description():
        text += f" COMMENT {literal(database.description())}"
    text += f" LOCATION {literal(_location(context, database))}"
    properties = {name: database.properties().apply(name) for name in _names(database.properties())}
    if shown := [f"{literal(key)} = {literal(value)}" for key, value in sorted(properties.items())]:
        text += f" WITH DBPROPERTIES ({', '.join(shown)})"
    schema = "Database string, `Create Database` string"
    return context.spark.createDataFrame([(str(database.name()), text)], schema)


def _location(context: Context, database: Any) -> str:
    """As CREATE DATABASE takes it: not URL-encoded."""
    java: Any = context.spark._jvm  # noqa: SLF001
    return str(java.org.apache.spark.sql.catalyst.catalog.CatalogUtils.URIToString(database.locationUri()))


def _names(properties: Any) -> list[str]:
    keys, names = properties.keysIterator(), []
    while keys.hasNext():
        names.append(str(keys.next()))
    return [name for name in names if name not in _OWN]
