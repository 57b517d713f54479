"""Executes SHOW SKEW, SHOW SCANS and SHOW BUCKET PROBLEMS with the functions of the Python API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.scan.report import SCAN_COLUMNS, scan_report, scan_row
from spark_client.statements.grammar.surveys import ShowBucketProblems, ShowScans, ShowSkew, Statement
from spark_client.statements.run.clauses import resolve_table
from spark_client.survey.check_buckets import problems_of
from spark_client.survey.find_skew import find_skew, survey_skew
from spark_client.survey.size import table_size

_COLUMNS = {
    ShowSkew: "columns string, value string, rows bigint, share double, saved_bytes bigint, clause string",
    ShowScans: SCAN_COLUMNS,
    ShowBucketProblems: "partition string, problem string",
}


def columns(_: Context, statement: Statement) -> str:
    """Returns the columns of the statement's rows."""
    return _COLUMNS[type(statement)]


def execute(context: Context, statement: Statement, _: str) -> DataFrame:
    """Returns the statement's rows. Raises the errors of the functions."""
    return context.spark.createDataFrame(list(_rows(context, statement)), _COLUMNS[type(statement)])


def _rows(context: Context, statement: Statement) -> Iterable[tuple[object, ...]]:
    if isinstance(statement, ShowScans):
        return map(scan_row, scan_report(context.spark.sql(statement.query)).scans)
    if isinstance(statement, ShowBucketProblems):
        table = ".".join(resolve_table(context, statement.table))
        return map(astuple, problems_of(context.spark, context.metastore, table, rows=statement.rows))
    if statement.columns:
        suggestions = [find_skew(statement.table, statement.columns, spark=context.spark)]
    else:
        suggestions = [*survey_skew(statement.table, spark=context.spark)]
    size = table_size(context.spark, statement.table)
    return [
        (
            ", ".join(suggestion.columns),
            ", ".join(value.values),
            value.rows,
            value.share,
            size and size.saved(value),
            (size.suggested(suggestion) if size else suggestion).clause or None,
        )
        for suggestion in suggestions
        for value in suggestion.values
    ]
