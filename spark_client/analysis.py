"""What Spark's analyzer and catalog make of statements and tables."""

from __future__ import annotations

from typing import Any

from metastore.client.structs import Table
from spark_client.clauses import parsed
from spark_client.context import Context


def analyzed(context: Context, text: str) -> Any:
    """Spark's command for a statement, not run."""
    java: Any = context.spark._jvm  # noqa: SLF001
    skip = java.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    state = context.spark._jsparkSession.sessionState()  # noqa: SLF001
    return state.executePlan(parsed(context, text), skip).analyzed()


def definition_of(context: Context, table: Table) -> Any:
    """The table as Spark's catalog has it (CatalogTable)."""
    java: Any = context.spark._jvm  # noqa: SLF001
    identifier = java.org.apache.spark.sql.catalyst.TableIdentifier(table.name, java.scala.Option.apply(table.database))
    return context.spark._jsparkSession.sessionState().catalog().getTableMetadata(identifier)  # noqa: SLF001
