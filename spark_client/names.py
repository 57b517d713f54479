"""What Spark's own parser and catalog make of the parts of a statement: names, literals, partition clauses, tables."""

from __future__ import annotations

from typing import Any

from spark_client.context import Context
from spark_client.errors import NoSuchPartitionError, NoSuchTableError
from spark_client.wire.structs import Table
from spark_client.write.partition_spec import resolve_partition
from spark_client.write.rows import normalise_static


def resolve(context: Context, name: str) -> tuple[str, str]:
    """Database and table of a name as written. Raises NoSuchTableError for a name of another catalog."""
    parts = _parser(context).parseMultipartIdentifier(name)
    words = [str(parts.apply(index)).lower() for index in range(parts.size())]
    if len(words) == 3 and words[0] == "spark_catalog":
        words = words[1:]
    if len(words) > 2:
        raise NoSuchTableError(f"{name}: only tables of the session's own catalog can be skewed")
    return (words[0] if len(words) == 2 else context.spark.catalog.currentDatabase()), words[-1]


def partition_values(context: Context, table: Table, name: str, clause: str) -> tuple[str, ...]:
    """The values of a PARTITION clause, typed and in the table's order; `clause` as written, with its brackets.

    Raises InvalidInsertError where it is none of the table's, NoSuchPartitionError where it names more than one.
    """
    spec = _parser(context).parsePlan(f"ALTER TABLE {name} ADD PARTITION {clause}").parts().apply(0).spec()
    keys, given = spec.keysIterator(), dict[str, str | None]()
    while keys.hasNext():
        key = keys.next()
        value = spec.apply(key)
        given[str(key).lower()] = "" if value is None else str(value)
    columns = [column.name for column in table.partition_columns]
    missing = [column for column in columns if column not in given]
    if missing and given.keys() <= set(columns):
        raise NoSuchPartitionError(f"a partition of {table.full_name} needs a value of {', '.join(missing)}")
    resolved = resolve_partition(table.full_name, columns, given, if_not_exists=False)
    typed = normalise_static(context.spark, table, resolved)
    return tuple(typed[column] for column in columns)


def literal(context: Context, text: str) -> str:
    """The text of a constant as written."""
    return str(_parser(context).parseExpression(text).value())


def analyzed(context: Context, text: str) -> Any:
    """Spark's command for a statement, not run."""
    java: Any = context.spark._jvm  # noqa: SLF001
    skip = java.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    plan = _parser(context).parsePlan(text)
    return context.spark._jsparkSession.sessionState().executePlan(plan, skip).analyzed()  # noqa: SLF001


def resolved_definition(context: Context, table: Table) -> Any:
    """The table as Spark's catalog has it (CatalogTable)."""
    java: Any = context.spark._jvm  # noqa: SLF001
    identifier = java.org.apache.spark.sql.catalyst.TableIdentifier(table.name, java.scala.Option.apply(table.database))
    return context.spark._jsparkSession.sessionState().catalog().getTableMetadata(identifier)  # noqa: SLF001


def _parser(context: Context) -> Any:
    return context.spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001
