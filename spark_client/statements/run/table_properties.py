"""Checks the table properties that a statement sets. Spark or another module executes the statement."""

from __future__ import annotations

from collections.abc import Mapping

from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchTableError
from spark_client.statements.grammar.parameters import PARAMETER
from spark_client.statements.grammar.table_properties import TableProperties
from spark_client.statements.run.clauses import resolve
from spark_client.table.datasource_tables import with_spark_schema
from spark_client.table.properties import AUTO, auto_columns, auto_columns_problem, auto_problem, problem_of


def check(context: Context, statement: TableProperties) -> bool:
    """Returns False: Spark runs the statement. Raises InvalidStatementError for a misspelt or invalid property."""
    known = {name: value for name, value in statement.properties.items() if value != PARAMETER.strip("'")}
    if problem := problem_of(known):
        raise InvalidStatementError(f"{statement.table} cannot have these TBLPROPERTIES: {problem}")
    if known.get(AUTO, "").lower() == "true" and (problem := _auto_problem(context, statement)):
        raise InvalidStatementError(problem)
    if auto_columns(known) and (problem := _auto_columns_problem(context, statement, known)):
        raise InvalidStatementError(problem)
    return False


def _auto_problem(context: Context, statement: TableProperties) -> str:
    if (clauses := statement.clauses) is not None:
        return auto_problem(statement.table, partitioned="PARTITIONED" in clauses, bucketed="CLUSTERED" in clauses)
    try:
        table = context.metastore.get_table(*resolve(context, statement.table))
    except NoSuchTableError:  # Spark reports it; CREATE TABLE LIKE is checked at the first write
        return ""
    keys, buckets = table.partition_columns, table.buckets.count
    return auto_problem(table.full_name, partitioned=bool(keys), bucketed=bool(buckets))


def _auto_columns_problem(context: Context, statement: TableProperties, properties: Mapping[str, str]) -> str:
    """Returns the problem with the columns of `skew.auto.columns`. CREATE TABLE AS SELECT checks them when it
    writes."""
    if statement.clauses is not None:
        columns = statement.columns
        return auto_columns_problem(statement.table, properties, columns) if columns else ""
    try:
        table = with_spark_schema(context.metastore.get_table(*resolve(context, statement.table)))
    except NoSuchTableError:  # as above
        return ""
    return auto_columns_problem(table.full_name, properties, {column.name for column in table.columns})
