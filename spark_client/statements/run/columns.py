"""Executes ALTER TABLE … DROP COLUMN and RENAME COLUMN where existing files remain readable.

Readers find columns of Parquet and ORC files by name. A dropped column is ignored, but a new column of the same name
would get its old values, and a renamed column would be empty. Readers find columns of text files by position.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from pyspark.sql import DataFrame

from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchTableError
from spark_client.jvm.catalog import change_columns, refresh
from spark_client.jvm.plans import empty_frame
from spark_client.statements.grammar.columns import AddColumns, ColumnStatement, DropColumns, RenameColumn
from spark_client.statements.grammar.tokens import tokens
from spark_client.statements.run.clauses import resolve_table
from spark_client.table.column_defaults import generated_columns
from spark_client.table.datasource_tables import datasource_format, with_spark_schema
from spark_client.table.properties import DROPPED
from spark_client.table.settings import PROVIDER

_BY_NAME, _BY_ORDER = ("MapredParquetInputFormat", "OrcInputFormat"), ("TextInputFormat",)


def check(context: Context, statement: ColumnStatement) -> bool:
    """Returns False for ADD COLUMN. Raises InvalidStatementError if a new column has the name of a dropped one."""
    if not isinstance(statement, AddColumns):
        return True
    with suppress(NoSuchTableError):
        _check_new(_table(context, statement), statement)
    return False


def _check_new(table: Table, statement: AddColumns) -> None:
    if again := _dropped(table) & set(statement.names):
        raise InvalidStatementError(
            f"{table.full_name} had a column {min(again)}, and its files may still contain it: use another name, "
            "or create a new table with CREATE TABLE … AS SELECT"
        )


def columns(context: Context, statement: ColumnStatement) -> str | None:
    """Returns no columns, or None for a table that is left to Spark."""
    if isinstance(statement, AddColumns):
        return None
    try:
        table = _table(context, statement)
    except NoSuchTableError:
        return None
    return "" if _has_format(table, _BY_NAME) or _has_format(table, _BY_ORDER) else None


def execute(context: Context, statement: ColumnStatement, _: str) -> DataFrame:
    """Changes the columns in the catalog. Files are unchanged. Raises InvalidStatementError."""
    table = _table(context, statement)
    if isinstance(statement, RenameColumn):
        _rename(context, table, statement)
    elif isinstance(statement, DropColumns):
        _drop(context, table, statement)
    refresh(context.spark, table.database, table.name)
    return empty_frame(context.spark)


def _table(context: Context, statement: ColumnStatement) -> Table:
    return with_spark_schema(context.metastore.get_table(*resolve_table(context, statement.table)))


def _has_format(table: Table, formats: tuple[str, ...]) -> bool:
    """Returns whether a table has one of these input formats. A datasource table counts as `_BY_NAME`."""
    if PROVIDER in table.parameters:
        return datasource_format(table) is not None and formats == _BY_NAME
    return table.storage.input_format.endswith(formats)


def _drop(context: Context, table: Table, statement: DropColumns) -> None:
    if _has_format(table, _BY_ORDER):
        raise InvalidStatementError(
            f"{table.full_name}: no column can be dropped, because its text files identify columns by position; "
            "create a new table with CREATE TABLE … AS SELECT"
        )
    known = {column.name.lower() for column in table.columns}
    names = [name for name in dict.fromkeys(statement.names) if name in known or not statement.if_exists]
    for name in names:
        _check_free(context, table, name, known)
    if not known - set(names):
        raise InvalidStatementError(f"{table.full_name} would have no column left: DROP TABLE it")
    if names:
        # Recorded before the column disappears, so that no client can add a column of that name in between.
        stored = context.metastore.get_table(table.database, table.name)
        dropped = ",".join(sorted({*_dropped(table), *names}))
        parameters = {**stored.parameters, DROPPED: dropped}
        context.metastore.alter_table(replace(stored, parameters=parameters, location=None))
        change_columns(context, table, dict.fromkeys(names))


def _rename(context: Context, table: Table, statement: RenameColumn) -> None:
    if _has_format(table, _BY_NAME):
        raise InvalidStatementError(
            f"{table.full_name}: its files identify columns by name, so {statement.new} would be empty; create a new "
            "table with CREATE TABLE … AS SELECT, or a view with the new name"
        )
    known = {column.name.lower() for column in (*table.columns, *table.partition_columns)}
    if statement.new.lower() in known:
        raise InvalidStatementError(f"{table.full_name} already has a column {statement.new}")
    _check_free(context, table, statement.old, known)
    change_columns(context, table, {statement.old: statement.new})


def _dropped(table: Table) -> set[str]:
    return set(filter(None, table.parameters.get(DROPPED, "").split(",")))


def _check_free(context: Context, table: Table, name: str, known: set[str]) -> None:
    """Raises InvalidStatementError if the table has no such data column, or needs it."""
    if name in {column.name for column in table.partition_columns}:
        raise InvalidStatementError(f"{name} is a partition column of {table.full_name} and cannot be changed")
    if name not in known:
        raise InvalidStatementError(f"{table.full_name} has no column {name}; it has {', '.join(sorted(known))}")
    if use := next(_uses(context, table, name), None):
        raise InvalidStatementError(f"{table.full_name} {use}, so column {name} cannot be changed")


def _uses(context: Context, table: Table, name: str) -> Iterator[str]:
    """Yields each reason why the table needs a column."""
    if name in table.skew.columns:
        yield f"is SKEWED BY ({', '.join(table.skew.columns)})"
    if name in table.buckets.columns or name in {column for column, _ in table.buckets.order}:
        yield f"is CLUSTERED BY ({', '.join(table.buckets.columns)})"
    for generated, text in generated_columns(table).items():
        if name in {token.name for token in tokens(text)}:
            yield f"has {generated} GENERATED ALWAYS AS ({text})"
    if table.partition_columns:
        for partition in context.metastore.get_partitions(table.database, table.name):
            if name in partition.skew.columns:
                yield f"has partitions SKEWED BY ({', '.join(partition.skew.columns)})"
