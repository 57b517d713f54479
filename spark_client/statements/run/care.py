"""Executes EXPIRE, which drops partitions by the retention of their table, DISCOVER PARTITIONS, which adds those of new
directories, OPTIMIZE, which merges small files, and ADVISE, which measures what other layouts would save.
"""

from __future__ import annotations

from dataclasses import astuple
from typing import Final

from pyspark.sql import DataFrame

from metastore.client.care import expire
from spark_client.care import add_discovered, compact
from spark_client.context import Context
from spark_client.errors import NoSuchTableError
from spark_client.jvm.catalog import refresh
from spark_client.statements.grammar.care import Advise, Discover, Expire, Optimize, Statement
from spark_client.statements.run.clauses import resolve_table
from spark_client.survey.advice import ADVICE_COLUMNS, advise_table
from spark_client.table.settings import PROVIDER

_EXPIRED: Final = "partition string, files bigint, bytes bigint, outcome string"
_DISCOVERED: Final = "partition string, location string, outcome string"
_COMPACTED: Final = (
    "partition string, files bigint, bytes bigint, files_after bigint, bytes_after bigint, outcome string"
)


def columns(context: Context, statement: Statement) -> str | None:
    """Returns the columns of the statement's rows, or None for OPTIMIZE of a table of Delta Lake."""
    return None if isinstance(statement, Optimize) and _is_of_delta(context, statement) else _columns(statement)


def execute(context: Context, statement: Statement, _: str) -> DataFrame:
    """Runs the statement. Returns a row for each partition that it changes, would change or leaves as it is.

    Raises MetastoreRefusedError if the policies of the table do not allow it, NoSuchTableError, and for OPTIMIZE the
    errors of `spark_client.care.optimize`.
    """
    database, table = resolve_table(context, statement.table)
    context.metastore.get_table(database, table)  # the error for a missing table
    if isinstance(statement, Advise):
        return context.spark.createDataFrame(advise_table(context, database, table).rows(), ADVICE_COLUMNS)
    if isinstance(statement, Expire):
        rows = [tuple(each) for each in expire(context.metastore.methods, database, table, dry_run=statement.dry_run)]
    elif isinstance(statement, Discover):
        rows = [tuple(each) for each in add_discovered(context, database, table, dry_run=statement.dry_run)]
    else:
        name, where = f"{database}.{table}", statement.where
        found = compact(context, name, where, dry_run=statement.dry_run)
        rows = [astuple(each) for each in found]
    if not statement.dry_run:
        refresh(context.spark, database, table)
    return context.spark.createDataFrame(rows, _columns(statement))


def _columns(statement: Statement) -> str:
    return {Advise: ADVICE_COLUMNS, Discover: _DISCOVERED, Expire: _EXPIRED, Optimize: _COMPACTED}[type(statement)]


def _is_of_delta(context: Context, statement: Optimize) -> bool:
    """Returns whether Delta Lake has the table, which may be a path: delta.`/path`."""
    if statement.table.lower().startswith("delta."):
        return True
    try:
        table = context.metastore.get_table(*resolve_table(context, statement.table))
    except NoSuchTableError:
        return False
    return str(table.parameters.get(PROVIDER, "")).lower() == "delta"
