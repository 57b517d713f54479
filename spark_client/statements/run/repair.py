"""Executes MSCK REPAIR TABLE, with one listing for each level of directories and one call for a thousand partitions.

Spark lists the directory of each new partition to count its files, and adds a hundred partitions in a call.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from metastore.client.discovery import repair
from metastore.client.structs import Table
from metastore.domain.care_rules import unmanaged
from spark_client.care import folder_lists
from spark_client.context import Context
from spark_client.errors import MetastoreRefusedError, NoSuchTableError
from spark_client.jvm.catalog import refresh
from spark_client.jvm.plans import empty_frame
from spark_client.statements.grammar.repair import Repair
from spark_client.statements.run.clauses import resolve_table, resolve_unless_temporary
from spark_client.table.settings import PROVIDER

_BY_CATALOG: Final = ("spark.sql.partitionProvider", "catalog")


def columns(context: Context, statement: Repair) -> str | None:
    """Returns no columns, or None for a table that Spark repairs, or for which it has an error."""
    try:
        resolved = resolve_unless_temporary(context, statement.table)
        table = context.metastore.get_table(*resolved) if resolved else None
    except NoSuchTableError:
        return None
    return "" if table and _has_directories(table) else None


def execute(context: Context, statement: Repair, _: str) -> DataFrame:
    """Runs the statement. Returns no rows.

    Raises MetastoreRefusedError if some partitions could not be added or dropped, and WriteFailedError if a directory
    cannot be listed.
    """
    database, table = resolve_table(context, statement.table)
    found = repair(
        context.metastore.methods, database, table, folder_lists(context), add=statement.add, drop=statement.drop
    )
    left = [one for one in found if one.is_left]
    refresh(context.spark, database, table)
    if left:
        raise MetastoreRefusedError(f"{database}.{table}: {left[0].partition}: {left[0].outcome}; {len(left)} in all")
    return empty_frame(context.spark)


def _has_directories(table: Table) -> bool:
    """Returns whether the partitions are Hive's, so that their directories have their names."""
    name, value = _BY_CATALOG
    provider = table.parameters.get(PROVIDER, "hive").lower()
    by_catalog = provider == "hive" or table.parameters.get(name) == value
    is_view = table.table_type in ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")
    return bool(table.partition_columns) and by_catalog and not is_view and not unmanaged(table.parameters)
