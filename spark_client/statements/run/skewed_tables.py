"""Executes statements that create skewed tables or change a skew. Each is one call of the metastore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from pyspark.sql import DataFrame

from metastore.client.structs import NOT_SKEWED, Table
from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchTableError, TableExistsError
from spark_client.jvm.catalog import (
    check_location,
    column_unknown_to_hive,
    parse_create_table,
    refresh,
    table_exists,
    to_hive_table,
)
from spark_client.jvm.parser import default_format, names_format
from spark_client.jvm.plans import empty_frame
from spark_client.jvm.sql_text import quote
from spark_client.statements.grammar.skewed_tables import (
    AlterTableNotSkewed,
    AlterTableSkewed,
    CreateSkewedTable,
    CreateTableLike,
    SetSkewedLocation,
    Statement,
    parse,
)
from spark_client.statements.run.clauses import resolve_table
from spark_client.statements.run.descriptions import create_statement, format_clause
from spark_client.statements.run.skew_rules import check_own_format, with_skew
from spark_client.statements.run.skewed_locations import set_locations

# The prefix of table properties about the skew, such as skew.layout and skew.auto.
_SKEW_PROPERTIES = "skew."


def columns(context: Context, statement: Statement) -> str | None:
    """Returns no columns, or None if the statement is left to Spark: LIKE without any skew."""
    if not isinstance(statement, CreateTableLike):
        return ""
    return None if _source_of(context, statement) is None else ""


def execute(context: Context, statement: Statement, _: str) -> DataFrame:
    """Runs the statement.

    Raises InvalidStatementError if it does not fit its table, and errors of the metastore.
    """
    if isinstance(statement, CreateSkewedTable):
        create(context, statement)
    elif isinstance(statement, CreateTableLike):
        _create_like(context, statement)
    elif isinstance(statement, SetSkewedLocation):
        refresh(context.spark, *set_locations(context, statement))
    else:
        alter(context, statement)
    return empty_frame(context.spark)


def create(context: Context, statement: CreateSkewedTable, inherited: Mapping[str, str] = MappingProxyType({})) -> None:
    """Creates a skewed table in one call, so that it never exists without its skew.

    Spark parses the statement without the skew. `inherited` are properties that the statement may override.
    """
    definition = parse_create_table(context, _with_format(context, statement.statement))
    if definition is None:
        raise InvalidStatementError(
            f"{statement.table} cannot be SKEWED BY {', '.join(statement.skewed_by.columns)}: use CREATE TABLE "
            "with columns and STORED AS PARQUET or STORED AS ORC, without USING"
        )
    if table_exists(context, definition):
        if definition.if_not_exists:
            return
        raise TableExistsError(f"Table or view {definition.name} already exists")
    table = to_hive_table(context, definition)
    if (unknown := column_unknown_to_hive(table)) is not None:
        raise InvalidStatementError(
            f"{definition.name}: column {unknown} has a type that Hive tables do not support; use another type"
        )
    table = replace(table, parameters={**inherited, **table.parameters})
    table = with_skew(context, table, statement.skewed_by)
    check_location(context, definition)
    try:
        context.metastore.create_table(table)
    except TableExistsError:
        if not definition.if_not_exists:
            raise


def _with_format(context: Context, text: str) -> str:
    """Adds a format if there is no STORED AS or USING: Spark's default is a datasource table, which has no skew."""
    return text if names_format(context, text) else f"{text}\n{default_format(context)}"


def _source_of(context: Context, statement: CreateTableLike) -> Table | None:
    """Returns the table after LIKE, or None if the statement is left to Spark."""
    try:
        source = context.metastore.get_table(*resolve_table(context, statement.source))
    except NoSuchTableError:
        return None
    if statement.skewed_by is None and (statement.has_provider or not source.skew.columns):
        return None
    return source


def _create_like(context: Context, statement: CreateTableLike) -> None:
    """Creates a table like another, with its skew (as in Hive) or with that of the statement."""
    source = context.metastore.get_table(*resolve_table(context, statement.source))
    skewed_by = statement.skewed_by
    check_own_format(source)
    options = statement.rest if statement.has_format else f"{format_clause(source)} {statement.rest}"
    own = source if skewed_by is None else replace(source, skew=NOT_SKEWED)
    text = create_statement(context, statement.head, own, options)
    parsed = parse(text) if skewed_by is None else CreateSkewedTable(statement.table, text, skewed_by)
    if isinstance(parsed, CreateSkewedTable):
        create(
            context,
            parsed,
            {key: value for key, value in source.parameters.items() if key.startswith(_SKEW_PROPERTIES)},
        )


def alter(context: Context, statement: AlterTableSkewed | AlterTableNotSkewed) -> None:
    """Changes the skew of a table. Existing partitions keep theirs."""
    database, name = resolve_table(context, statement.table)
    before = context.metastore.get_table(database, name)
    check_own_format(before)
    if isinstance(statement, AlterTableSkewed):
        after = with_skew(context, before, statement.skewed_by)
    elif not statement.keep_skew:
        after = replace(before, skew=NOT_SKEWED)
    elif not before.skew.columns:
        raise InvalidStatementError(f"[Error 10196]: This operation is only valid on skewed table. {before.full_name}")
    else:
        after = replace(before, skew=replace(before.skew, directories=False))
    _check_layout(context, before, after)
    context.metastore.alter_table(replace(after, location=None))
    refresh(context.spark, database, name)


def _check_layout(context: Context, before: Table, after: Table) -> None:
    """Raises InvalidStatementError if rows of an unpartitioned table would have to move."""
    if before.partition_columns or not (before.skew.directories or after.skew.directories):
        return
    refresh(context.spark, before.database, before.name)  # the session may have cached that there are no rows
    if context.spark.table(f"{quote(before.database)}.{quote(before.name)}").limit(1).count():
        raise InvalidStatementError(
            f"{before.full_name} is not partitioned and its rows are in the directories of its present skew; "
            "TRUNCATE it first, or INSERT its rows into another table"
        )
