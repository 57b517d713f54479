"""Looks at the properties that a statement gives a table; it is Spark, or another noun, that carries it out."""

from __future__ import annotations

from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchTableError
from spark_client.statements.grammar.parameters import PARAMETER
from spark_client.statements.grammar.table_properties import TableProperties
from spark_client.statements.run.clauses import resolve
from spark_client.table.properties import AUTO, auto_problem, problem_of


def check(context: Context, statement: TableProperties) -> bool:
    """Returns False. Raises InvalidStatementError for a property of ours that is misspelt or has a wrong value."""
    known = {name: value for name, value in statement.properties.items() if value != PARAMETER.strip("'")}
    if problem := problem_of(known):
        raise InvalidStatementError(f"{statement.table} cannot have these TBLPROPERTIES: {problem}")
    if known.get(AUTO, "").lower() == "true" and (problem := _auto_problem(context, statement)):
        raise InvalidStatementError(problem)
    return False


def _auto_problem(context: Context, statement: TableProperties) -> str:
    if (clauses := statement.clauses) is not None:
        return auto_problem(statement.table, partitioned="PARTITIONED" in clauses, bucketed="CLUSTERED" in clauses)
    try:
        table = context.metastore.get_table(*resolve(context, statement.table))
    except NoSuchTableError:  # Spark says so; what is LIKE another is looked at when it is written
        return ""
    keys, buckets = table.partition_columns, table.buckets.count
    return auto_problem(table.full_name, partitioned=bool(keys), bucketed=bool(buckets))
