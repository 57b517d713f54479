"""Executes ALTER TABLE … PARTITION … RENAME TO PARTITION for tables whose partition columns have capital letters.

Spark renames the partition in the metastore, and then the directory, which it expects at the default location in lower
case (HiveExternalCatalog). If the partition is elsewhere, for example after an overwrite, that fails when the partition
is renamed already. Here the metastore does both in one call.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.errors import NoSuchTableError
from spark_client.jvm.catalog import refresh
from spark_client.jvm.parser import rename_partition
from spark_client.jvm.plans import empty_frame
from spark_client.statements.grammar.dependent_tables import Statement, TableStatement
from spark_client.statements.run.clauses import full_values, no_such_partition, resolve, resolve_unless_temporary

_KEY = "spark.sql.sources.schema.partCol."  # Spark's property that has the name of a partition column as declared


def check(_: Context, statement: Statement) -> bool:
    """Returns whether the statement may be executed here."""
    return _is_rename(statement)


def columns(context: Context, statement: Statement) -> str | None:
    """Returns the empty list of columns, or None if the statement is left to Spark."""
    if not isinstance(statement, TableStatement) or not _is_rename(statement):
        return None
    try:
        resolved = resolve_unless_temporary(context, statement.table)
        table = context.metastore.get_table(*resolved) if resolved else None
    except NoSuchTableError:
        return None
    return "" if table and _has_capital_letters(table) else None


def execute(context: Context, statement: TableStatement, _: str) -> DataFrame:
    """Renames the partition. Raises NoSuchPartitionError, PartitionExistsError, InvalidStatementError."""
    table = context.metastore.get_table(*resolve(context, statement.table))
    parsed = rename_partition(context, f"ALTER TABLE {statement.statement[statement.name_start :]}")
    old, new = full_values(context, table, parsed.old), full_values(context, table, parsed.new)
    if not context.metastore.get_partition_names(table.database, table.name, old):
        raise no_such_partition(table, parsed.old)
    context.metastore.rename_partition(table.database, table.name, old, new)
    refresh(context.spark, table.database, table.name)
    return empty_frame(context.spark)


def _is_rename(statement: Statement) -> bool:
    return isinstance(statement, TableStatement) and statement.kind == "RENAME"


def _has_capital_letters(table: Table) -> bool:
    names = (value for key, value in table.parameters.items() if key.startswith(_KEY))
    return table.table_type == "MANAGED_TABLE" and any(name != name.lower() for name in names)
