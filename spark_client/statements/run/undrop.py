"""Carries out UNDROP: what was dropped, truncated or overwritten is as it was."""

from __future__ import annotations

from pyspark.sql import DataFrame

from metastore.domain.partition_names import value_path
from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.jvm.parser import clause, identifier
from spark_client.statements.grammar.undrop import Undrop
from spark_client.statements.run.clauses import partition_values, resolve

_REPORT = "kind string, name string, partitions bigint"


def columns(_: Context, __: Undrop) -> str:
    """Returns the columns of its rows."""
    return _REPORT


def execute(context: Context, statement: Undrop, _: str) -> DataFrame:
    """Returns one row: what was taken back, how it is called now, and how many partitions came back to their table.

    Raises NoSuchTableError where nothing can be taken back, TableExistsError where its name is taken.
    """
    if statement.is_database:
        back = context.metastore.undrop(identifier(context, statement.name)[-1])
    else:
        database, table = resolve(context, statement.name)
        partition = _partition(context, database, table, statement) if statement.partition else None
        back = context.metastore.undrop(database, table, partition=partition, new_name=statement.new_name)
    return context.spark.createDataFrame([back], _REPORT)


def _partition(context: Context, database: str, name: str, statement: Undrop) -> str:
    """Returns the beginning of the names of the partitions that the clause means. Raises InvalidStatementError."""
    table = context.metastore.get_table(database, name)
    values = partition_values(context, table, clause(context, statement.name, statement.partition or "")[0])
    columns = [column.name for column in table.partition_columns]
    given = values[: values.index("")] if "" in values else values
    if not given or any(values[len(given) :]):
        raise InvalidStatementError(f"UNDROP needs values of the first partition columns of {table.full_name}")
    return value_path(columns[: len(given)], given)
