"""Executes UNDROP, which restores dropped, truncated or overwritten tables, partitions and databases."""

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
    """Returns the columns of the statement's rows."""
    return _REPORT


def execute(context: Context, statement: Undrop, _: str) -> DataFrame:
    """Restores the object. Returns one row: its kind, its present name, and the number of restored partitions.

    Raises NoSuchTableError if nothing can be restored, TableExistsError if the name is in use.
    """
    if statement.is_database:
        restored = context.metastore.undrop(identifier(context, statement.name)[-1])
    else:
        database, table = resolve(context, statement.name)
        partition = _partition(context, database, table, statement) if statement.partition else None
        restored = context.metastore.undrop(database, table, partition=partition, new_name=statement.new_name)
    return context.spark.createDataFrame([restored], _REPORT)


def _partition(context: Context, database: str, name: str, statement: Undrop) -> str:
    """Returns the prefix of the names of the selected partitions. Raises InvalidStatementError."""
    table = context.metastore.get_table(database, name)
    values = partition_values(context, table, clause(context, statement.name, statement.partition or "")[0])
    columns = [column.name for column in table.partition_columns]
    leading = values[: values.index("")] if "" in values else values
    if not leading or any(values[len(leading) :]):
        raise InvalidStatementError(f"UNDROP needs values of the first partition columns of {table.full_name}")
    return value_path(columns[: len(leading)], leading)
