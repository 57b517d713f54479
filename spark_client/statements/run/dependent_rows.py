"""The rows of SHOW PARTITIONS, DESCRIBE EXTENDED and SHOW CREATE TABLE for a dependent table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest

from pyspark.sql import DataFrame

from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.jvm.parser import clause, shown_partitions, spark_sql
from spark_client.jvm.sql_text import literal, quote
from spark_client.statements.grammar.dependent_tables import TableStatement
from spark_client.statements.run.clauses import no_such_partition, partition_values

NAMES, STATEMENT = "partition string", "createtab_stmt string"
DESCRIPTION = "col_name string, data_type string, comment string"
# Table properties that the user has not set.
_INTERNAL = re.compile(r"dependent\.(?:table|on)|comment|transient_lastDdlTime|spark\.sql\..*|view\..*")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def show_partitions(context: Context, table: Table, statement: TableStatement) -> DataFrame:
    """Returns partition names in ascending order, limited to the statement's PARTITION clause."""
    spec = shown_partitions(context, statement.statement)
    values = [] if spec is None else partition_values(context, table, spec)
    names = context.metastore.get_partition_names(table.database, table.name, values)
    return context.spark.createDataFrame([(name,) for name in names], NAMES)


def show_create(context: Context, table: Table) -> DataFrame:
    """Returns the statement that creates the table without its partitions, on the base of new partitions."""
    dependencies = context.metastore.get_dependencies(table.database, table.name, transitive=False)
    base = next(dependency.base for dependency in dependencies.tables if dependency.current)
    keys = ", ".join(f"{_name(column.name)} {column.type.upper()}" for column in table.partition_columns)
    comment = table.parameters.get("comment")
    own = {key: value for key, value in table.parameters.items() if not _INTERNAL.fullmatch(key)}
    properties = ",\n".join(f"  {literal(key)} = {literal(value)}" for key, value in sorted(own.items()))
    lines = [
        f"CREATE DEPENDENT TABLE {_name(table.database)}.{_name(table.name)}",
        *([f"COMMENT {literal(comment)}"] if comment else []),
        f"PARTITIONED BY ({keys})",
        f"DEPENDS ON TABLE {'.'.join(map(_name, base.split('.')))}",
        *([f"TBLPROPERTIES (\n{properties})"] if own else []),
    ]
    return context.spark.createDataFrame([("\n".join(lines) + "\n",)], STATEMENT)


def describe(context: Context, table: Table, statement: TableStatement) -> DataFrame:
    """Returns Spark's description of the view, then the base tables and the base partitions of each partition."""
    values: list[str] = []
    if statement.partition is not None:
        (spec,) = clause(context, statement.table, statement.partition)
        values = partition_values(context, table, spec)
        if not context.metastore.get_partition_names(table.database, table.name, values):
            raise no_such_partition(table, spec)
    whole = f"DESCRIBE EXTENDED `{table.database}`.`{table.name}`"
    own = [tuple(row) for row in spark_sql(context, whole).collect()]
    rows = [*own, *_dependency_rows(context, table, values)]
    return context.spark.createDataFrame(rows, DESCRIPTION)


def _dependency_rows(context: Context, table: Table, values: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yields a row for each base table, then one for each base partition."""
    first = list(takewhile(bool, values))
    dependencies = context.metastore.get_dependencies(table.database, table.name, first, transitive=False)
    yield "", "", ""
    yield "# Dependencies", "", ""
    for base in dependencies.tables:
        yield base.base, f"{base.partitions} partitions", "and new partitions" if base.current else ""
    yield "", "", ""
    yield "# Partition Dependencies", "", ""
    for partition in dependencies.partitions:
        if not all(value in ("", own) for value, own in zip_longest(values, partition.values, fillvalue="")):
            continue
        for name in partition.base_partitions or [f"{partition.base_spec} (no partitions)"]:
            yield partition.partition, f"{partition.base}@{name}", partition.state


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote(name)
