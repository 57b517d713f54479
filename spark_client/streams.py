"""writeStream.toTable of tables that this library writes: each batch is an append, once, whole, also after a restart.

Spark itself has no streaming sink for Hive's tables, and for its own kind one whose files alone are the table from then
on: rows that were there before it, or that others bring, are lost to readers.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, cast

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from metastore.client.structs import Table
from spark_client.context import Context, MetastoreSession
from spark_client.errors import InvalidInsertError, NoSuchTableError
from spark_client.jvm.catalog import refresh
from spark_client.jvm.files import Files
from spark_client.jvm.streams import stream_settings
from spark_client.statements.run.clauses import resolve_table
from spark_client.table.dependent import is_dependent
from spark_client.table.own_kind import as_spark_declares, own_provider
from spark_client.table.settings import PROVIDER
from spark_client.write.insert import Insert, insert_all
from spark_client.write.staging import file_format
from spark_client.write.writable import check_writable

# Where Spark's file sink keeps which files are the table.
_OF_FILE_SINK = "_spark_metadata"
_CHECKPOINT, _CHECKPOINTS = "checkpointLocation", "spark.sql.streaming.checkpointLocation"


def install() -> None:
    """Lets `DataStreamWriter.toTable` look at the table first, in sessions of this library: PySpark has no place for
    it. Done once, however often it is called.
    """
    theirs: Any = DataStreamWriter.toTable
    if getattr(theirs, "of_spark_client", False):
        return

    @wraps(theirs)
    def to_table(writer: DataStreamWriter, tableName: str, *args: Any, **kwargs: Any) -> StreamingQuery:  # noqa: N803
        spark = writer._spark  # noqa: SLF001 - PySpark has no name for it
        if isinstance(spark, MetastoreSession):
            context = Context(spark, spark.metastore)
            if table := _own_table(context, tableName):
                return _append_to(context, writer, table, *args, **kwargs)
        return cast("StreamingQuery", theirs(writer, tableName, *args, **kwargs))

    to_table.of_spark_client = True  # type: ignore[attr-defined] # a function takes any
    DataStreamWriter.toTable = to_table  # type: ignore[method-assign,assignment] # as the docstring says


def _own_table(context: Context, name: str) -> Table | None:
    """Returns the table, None where it is Spark's or another library's matter."""
    try:
        table = context.metastore.get_table(*resolve_table(context, name))
    except NoSuchTableError:
        return None
    if is_dependent(table):
        return table  # to be refused in our words
    if own_provider(table) is None:
        is_foreign = PROVIDER in table.parameters or table.parameters.get("table_type", "").upper() == "ICEBERG"
        return None if is_foreign or table.table_type.endswith("VIEW") else table
    by_file_sink = Files(context.spark).existing([f"{(table.location or '').rstrip('/')}/{_OF_FILE_SINK}"])
    return None if by_file_sink or table.parameters.get("spark.sql.sources.schema.numBuckets") else table


def _append_to(
    context: Context,
    writer: DataStreamWriter,
    table: Table,
    format: str | None = None,  # noqa: A002 - PySpark's name
    outputMode: str | None = None,  # noqa: N803 - as above
    partitionBy: str | list[str] | None = None,  # noqa: N803 - as above
    queryName: str | None = None,  # noqa: N803 - as above
    **options: Any,
) -> StreamingQuery:
    """Starts a query that appends to the table. Raises InvalidInsertError where the rows cannot go there."""
    table = as_spark_declares(table)
    check_writable(table)
    known = {"hive", table.parameters.get(PROVIDER, "").lower(), file_format(table.storage, table.full_name)}
    if format is not None and format.lower() not in known:
        raise InvalidInsertError(f"{table.full_name} is not a table of {format}: leave the format out")
    writer.options(**options)
    if outputMode is not None:
        writer.outputMode(outputMode)
    if queryName is not None:
        writer.queryName(queryName)
    _check(writer, table, [partitionBy] if isinstance(partitionBy, str) else partitionBy)
    name, columns = table.full_name, writer._df.columns  # noqa: SLF001 - PySpark has no name for it

    def append(rows: DataFrame, _: int) -> None:
        insert_all(Context(rows.sparkSession, context.metastore), [Insert(name, rows, columns=columns)])
        refresh(rows.sparkSession, table.database, table.name)

    return writer.foreachBatch(append).start()


def _check(writer: DataStreamWriter, table: Table, partition_by: list[str] | None) -> None:
    name, settings = table.full_name, stream_settings(writer)
    if settings.mode.lower() != "append":
        raise InvalidInsertError(
            f"toTable appends to {name}, and outputMode is {settings.mode.lower()}: use foreachBatch, with INSERT "
            "OVERWRITE or MERGE INTO"
        )
    if not (settings.options.get(_CHECKPOINT.lower()) or writer._spark.conf.get(_CHECKPOINTS, None)):  # noqa: SLF001
        raise InvalidInsertError(
            f"toTable of {name} needs a place that stays, so that no batch comes twice after a restart: "
            f".option('{_CHECKPOINT}', …), or the setting {_CHECKPOINTS}"
        )
    keys = [column.name for column in table.partition_columns]
    wanted = settings.partition_by or partition_by
    if wanted and [column.lower() for column in wanted] != keys:
        raise InvalidInsertError(f"{name} is partitioned by {', '.join(keys) or 'nothing'}, not by {', '.join(wanted)}")
    known = {column.name.lower() for column in (*table.columns, *table.partition_columns)}
    given = [column.lower() for column in writer._df.columns]  # noqa: SLF001 - PySpark has no name for it
    if unknown := [column for column in given if column not in known]:
        raise InvalidInsertError(
            f"{name} has no column {unknown[0]}: rows of a stream go by the names of their columns"
        )
    if missing := [key for key in keys if key not in given]:
        raise InvalidInsertError(f"{name} is partitioned by {missing[0]}, which the rows of the stream do not have")
