"""Executes EXPIRE, which drops partitions by the retention of their table."""

from __future__ import annotations

from pyspark.sql import DataFrame

from metastore.client.care import expire
from spark_client.context import Context
from spark_client.jvm.catalog import refresh
from spark_client.statements.grammar.care import Expire
from spark_client.statements.run.clauses import resolve_table

_REPORT = "partition string, files bigint, bytes bigint, outcome string"


def columns(_: Context, __: Expire) -> str:
    """Returns the columns of the statement's rows."""
    return _REPORT


def execute(context: Context, statement: Expire, _: str) -> DataFrame:
    """Drops expired partitions. Returns a row for each, and for each expired partition that is kept.

    Raises MetastoreRefusedError for a protected table or one without retention, NoSuchTableError.
    """
    database, table = resolve_table(context, statement.table)
    context.metastore.get_table(database, table)  # the error for a missing table
    rows = list(expire(context.metastore.methods, database, table, dry_run=statement.dry_run))
    if not statement.dry_run:
        refresh(context.spark, database, table)
    return context.spark.createDataFrame(rows, _REPORT)
