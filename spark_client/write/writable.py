"""Which tables can be written at all, and one of them as it is now."""

from __future__ import annotations

from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.errors import InvalidInsertError
from spark_client.jvm.files import Files
from spark_client.table.column_defaults import identity_column
from spark_client.table.datasource_tables import datasource_format, with_spark_schema
from spark_client.table.dependent import has_no_data, is_dependent
from spark_client.table.directory_names import FUNCTION, has_own_names
from spark_client.table.properties import problem_of
from spark_client.table.settings import PROVIDER
from spark_client.write.staging import file_format

# Where Spark's file sink keeps which files are the table.
_OF_FILE_SINK = "_spark_metadata"


def writable_table(context: Context, name: str) -> Table:
    """Reads `database.table`, or a table of the session's database, as Spark declares its columns.

    Raises NoSuchTableError, and InvalidInsertError as `check_writable`.
    """
    database, _, plain_name = name.rpartition(".")
    found = context.metastore.get_table(database or context.spark.catalog.currentDatabase(), plain_name)
    table = with_spark_schema(found)
    check_writable(table)
    return table


def is_written_by_file_sink(context: Context, table: Table) -> bool:
    """Tells whether Spark's file sink writes the table: readers see the rows of its stream alone."""
    return bool(Files(context.spark).existing([f"{(table.location or '').rstrip('/')}/{_OF_FILE_SINK}"]))


def check_no_file_sink(context: Context, database: str, name: str) -> None:
    """Raises InvalidInsertError where Spark's file sink writes the table, if there is one: as CheckFileSinks.java."""
    table = context.metastore.get_table(database, name)
    if datasource_format(table) and is_written_by_file_sink(context, table):
        raise InvalidInsertError(
            f"{table.full_name} is written by Spark's file sink, whose readers ignore other changes: copy the table "
            "with CREATE TABLE AS SELECT and change the copy"
        )


def check_writable(table: Table) -> None:
    """Raises InvalidInsertError for views, transactional tables, and what cannot be laid out or encoded."""
    name, parameters = table.full_name, {key.lower(): value.lower() for key, value in table.parameters.items()}
    if is_dependent(table):
        raise InvalidInsertError(has_no_data(table))
    if table.table_type == "VIRTUAL_VIEW" or not table.location:
        raise InvalidInsertError(f"{name} is a view; insert into the table below it")
    if parameters.get("transactional") == "true":
        raise InvalidInsertError(f"{name} is a transactional table; only Hive itself can write to it")
    if has_own_names(table) and table.buckets.count:
        raise InvalidInsertError(f"{name} is CLUSTERED BY, so its directories cannot be named by '{FUNCTION}'")
    if table.buckets.count and table.skew.is_list_bucketed:
        raise InvalidInsertError(
            f"{name} is CLUSTERED BY, which STORED AS DIRECTORIES excludes: its rows have no place"
        )
    if problem := problem_of(table.parameters):
        raise InvalidInsertError(f"{name}: {problem}")
    provider = "iceberg" if parameters.get("table_type") == "iceberg" else parameters.get(PROVIDER, "hive")
    if provider not in ("hive", "parquet", "orc"):
        raise InvalidInsertError(f"{name} is a table USING {provider}: write it with df.writeTo('{name}')")
    if (column := identity_column(table)) is not None:
        raise InvalidInsertError(f"{name}: {column} is GENERATED AS IDENTITY, for which Hive's tables have no counter")
    file_format(table.storage, name)
