"""`writeStream.toTable` into tables that this library writes: each batch is appended completely and exactly once.

This also holds after a restart. Spark itself has no streaming sink for Hive tables. Its file sink for datasource tables
makes the sink's own log the content of the table: rows that other writers add before or after are lost to readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, cast

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from metastore.client.structs import Table
from spark_client.context import Context, MetastoreSession
from spark_client.errors import InvalidInsertError, NoSuchTableError
from spark_client.jvm.catalog import refresh
from spark_client.jvm.sql_text import literal, quote
from spark_client.jvm.streams import StreamSettings, stream_settings, without_partitioning
from spark_client.statements.run.clauses import resolve_table
from spark_client.table.datasource_tables import DATASOURCE_FORMATS, datasource_format, with_spark_schema
from spark_client.table.dependent import is_dependent
from spark_client.table.settings import PROVIDER
from spark_client.write.insert import Insert, insert_all
from spark_client.write.rights import check_write
from spark_client.write.staging import file_format
from spark_client.write.writable import check_writable, is_written_by_file_sink

_CHECKPOINT, _CHECKPOINTS = "checkpointLocation", "spark.sql.streaming.checkpointLocation"


def install() -> None:
    """Makes `DataStreamWriter.toTable` check the table first in sessions of this library. Repeated calls have no
    effect.

    PySpark has no extension point for this, so the method is replaced.
    """
    original: Any = DataStreamWriter.toTable
    if getattr(original, "of_spark_client", False):
        return

    @wraps(original)
    def to_table(
        writer: DataStreamWriter,
        tableName: str,  # noqa: N803 - PySpark's names
        format: str | None = None,  # noqa: A002 - PySpark's name
        outputMode: str | None = None,  # noqa: N803 - PySpark's name
        partitionBy: str | list[str] | None = None,  # noqa: N803 - PySpark's name
        queryName: str | None = None,  # noqa: N803 - PySpark's name
        **options: Any,
    ) -> StreamingQuery:
        _apply_arguments(
            writer, {"format": format, "outputMode": outputMode, "partitionBy": partitionBy, "queryName": queryName}
        )
        writer.options(**options)
        spark = writer._spark  # noqa: SLF001 - PySpark has no public API for it
        if isinstance(spark, MetastoreSession):
            context = Context(spark, spark.metastore)
            _create_missing(context, writer, tableName)
            if table := _own_table(context, tableName):
                return _append_to(context, writer, table, format)
            _check_rights(context, tableName)
        return cast("StreamingQuery", original(writer, tableName))

    to_table.of_spark_client = True  # type: ignore[attr-defined] # functions accept any attribute
    DataStreamWriter.toTable = to_table  # type: ignore[method-assign,assignment] # see the docstring


def _apply_arguments(writer: DataStreamWriter, arguments: Mapping[str, Any]) -> None:
    for name, value in arguments.items():
        if value is not None:
            getattr(writer, name)(value)


def _create_missing(context: Context, writer: DataStreamWriter, name: str) -> None:
    """Creates the target table of the stream if it does not exist, as `saveAsTable` does. Raises as `_check_stream`.

    Spark would create a table of its file sink, whose readers ignore rows of other writers. Tables in formats other
    than Parquet and ORC are left to Spark.
    """
    settings = stream_settings(writer)
    if settings.format.lower() not in DATASOURCE_FORMATS or settings.is_clustered or not _is_free(context, name):
        return
    _check_stream(writer, settings, name)
    text = f"CREATE TABLE IF NOT EXISTS {name} ({settings.columns}) USING {settings.format}"
    options = {key: value for key, value in settings.options.items() if key not in ("path", _CHECKPOINT.lower())}
    if options:
        text += f" OPTIONS ({', '.join(f'{literal(key)} = {literal(value)}' for key, value in options.items())})"
    if settings.partition_by:
        text += f" PARTITIONED BY ({', '.join(map(quote, settings.partition_by))})"
    if "path" in settings.options:
        text += f" LOCATION {literal(settings.options['path'])}"
    context.spark.sql(text)


def _is_free(context: Context, name: str) -> bool:
    """Returns whether the name belongs to the session's own catalog and no table or view has it."""
    try:
        resolve_table(context, name)
    except NoSuchTableError:
        return False
    return not context.spark.catalog.tableExists(name)


def _own_table(context: Context, name: str) -> Table | None:
    """Returns the table if this library writes it, or None if Spark or another library does."""
    try:
        table = context.metastore.get_table(*resolve_table(context, name))
    except NoSuchTableError:
        return None
    if is_dependent(table):
        return table  # check_writable rejects it with this library's message
    if datasource_format(table) is None:
        is_foreign = PROVIDER in table.parameters or table.parameters.get("table_type", "").upper() == "ICEBERG"
        return None if is_foreign or table.table_type.endswith("VIEW") else table
    return (
        None
        if is_written_by_file_sink(context, table) or table.parameters.get("spark.sql.sources.schema.numBuckets")
        else table
    )


def _check_rights(context: Context, name: str) -> None:
    """Raises MetastoreRefusedError if the user may not append to a table: Spark's file sink would not ask."""
    with suppress(NoSuchTableError):
        table = context.metastore.get_table(*resolve_table(context, name))
        if table.table_type != "VIRTUAL_VIEW":
            check_write(context.metastore, table.database, table.name, overwrite=False)


def _append_to(context: Context, writer: DataStreamWriter, table: Table, declared_format: str | None) -> StreamingQuery:
    """Starts a query that appends to the table.

    `declared_format` is the `format` argument of toTable, if any. Raises InvalidInsertError if the rows do not fit the
    table, or if a format was declared that is not the table's.
    """
    table, settings = with_spark_schema(table), stream_settings(writer)
    check_writable(table)
    accepted = {"hive", table.parameters.get(PROVIDER, "").lower(), file_format(table.storage, table.full_name)}
    if settings.format != context.spark.conf.get("spark.sql.sources.default"):
        declared_format = settings.format
    if declared_format is not None and declared_format.lower() not in accepted:
        raise InvalidInsertError(f"{table.full_name} is not stored as {declared_format}: omit the format")
    _check_stream(writer, settings, table.full_name)
    _check_columns(writer, settings, table)
    name, columns = table.full_name, writer._df.columns  # noqa: SLF001 - PySpark has no public API for it

    def append(rows: DataFrame, _: int) -> None:
        insert = Insert(name, rows, columns=columns, fields_by_name=True)
        insert_all(Context(rows.sparkSession, context.metastore), [insert])
        refresh(rows.sparkSession, table.database, table.name)

    return without_partitioning(writer).foreachBatch(append).start()


def _check_stream(writer: DataStreamWriter, settings: StreamSettings, name: str) -> None:
    if settings.mode.lower() != "append":
        raise InvalidInsertError(
            f"toTable only appends to {name}, but outputMode is {settings.mode.lower()}: use foreachBatch with INSERT "
            "OVERWRITE or MERGE INTO"
        )
    if not (settings.options.get(_CHECKPOINT.lower()) or writer._spark.conf.get(_CHECKPOINTS, None)):  # noqa: SLF001 - PySpark has no public API for it
        raise InvalidInsertError(
            f"toTable of {name} needs a checkpoint location, so that a restart repeats no batch: set "
            f".option('{_CHECKPOINT}', …) or the setting {_CHECKPOINTS}"
        )


def _check_columns(writer: DataStreamWriter, settings: StreamSettings, table: Table) -> None:
    name, partition_by = table.full_name, settings.partition_by
    keys = [column.name for column in table.partition_columns]
    if partition_by and [column.lower() for column in partition_by] != [key.lower() for key in keys]:
        raise InvalidInsertError(
            f"{name} is partitioned by {', '.join(keys) or 'nothing'}, not by {', '.join(partition_by)}"
        )
    table_columns = {column.name.lower() for column in (*table.columns, *table.partition_columns)}
    columns = [column.lower() for column in writer._df.columns]  # noqa: SLF001 - PySpark has no public API for it
    if unknown := [column for column in columns if column not in table_columns]:
        raise InvalidInsertError(f"{name} has no column {unknown[0]}: the columns of a stream are assigned by name")
    if missing := [key for key in keys if key not in columns]:
        raise InvalidInsertError(f"{name} is partitioned by {missing[0]}, but the stream has no such column")
