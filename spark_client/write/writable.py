"""Reads a table to write to, and rejects tables that this library cannot write."""

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

# The directory in which Spark's file sink lists the files of a table.
_FILE_SINK_LOG = "_spark_metadata"


def writable_table(context: Context, name: str) -> Table:
    """Returns `database.table`, or a table of the current database, with the column types that Spark declares.

    Raises NoSuchTableError, and InvalidInsertError as `check_writable`.
    """
    database, _, plain_name = name.rpartition(".")
    stored = context.metastore.get_table(database or context.spark.catalog.currentDatabase(), plain_name)
    table = with_spark_schema(stored)
    check_writable(table)
    return table


def is_written_by_file_sink(context: Context, table: Table) -> bool:
    """Returns whether Spark's file sink writes the table. Spark then reads only the files that the sink lists."""
    return bool(Files(context.spark).existing([f"{(table.location or '').rstrip('/')}/{_FILE_SINK_LOG}"]))


def check_no_file_sink(context: Context, database: str, name: str) -> None:
    """Raises InvalidInsertError if Spark's file sink writes the table. CheckFileSinks.java does the same for plans."""
    table = context.metastore.get_table(database, name)
    if datasource_format(table) and is_written_by_file_sink(context, table):
        raise InvalidInsertError(
            f"{table.full_name} is written by Spark's file sink, whose readers ignore other changes: copy the table "
            "with CREATE TABLE AS SELECT and change the copy"
        )


def check_writable(table: Table) -> None:
    """Raises InvalidInsertError for a table that this library cannot write, such as a view or a transactional table."""
    name, parameters = table.full_name, {key.lower(): value.lower() for key, value in table.parameters.items()}
    if is_dependent(table):
        raise InvalidInsertError(has_no_data(table))
    if table.table_type == "VIRTUAL_VIEW" or not table.location:
        raise InvalidInsertError(f"{name} is a view; insert into the table that it reads")
    if parameters.get("transactional") == "true":
        raise InvalidInsertError(f"{name} is a transactional table; only Hive itself can write to it")
    if has_own_names(table) and table.buckets.count:
        raise InvalidInsertError(f"{name} is CLUSTERED BY, so its directories cannot be named by '{FUNCTION}'")
    if table.buckets.count and table.skew.is_list_bucketed:
        raise InvalidInsertError(
            f"{name} is both CLUSTERED BY and STORED AS DIRECTORIES, which Hive does not allow: remove one of them"
        )
    if problem := problem_of(table.parameters):
        raise InvalidInsertError(f"{name}: {problem}")
    provider = "iceberg" if parameters.get("table_type") == "iceberg" else parameters.get(PROVIDER, "hive")
    if provider not in ("hive", "parquet", "orc"):
        raise InvalidInsertError(f"{name} is a table USING {provider}: Spark itself writes it, by INSERT or df.writeTo")
    if (column := identity_column(table)) is not None:
        raise InvalidInsertError(f"{name}: {column} is GENERATED AS IDENTITY, which Hive tables do not support")
    file_format(table.storage, name)
