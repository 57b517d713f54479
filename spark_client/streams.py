"""writeStream.toTable of tables that this library writes: each batch is an append, once, whole, also after a restart.

Spark itself has no streaming sink for Hive's tables, and for its own kind one whose files alone are the table from then
on: rows that were there before it, or that others bring, are lost to readers.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from spark_client.write.staging import file_format
from spark_client.write.writable import check_writable, is_written_by_file_sink

_CHECKPOINT, _CHECKPOINTS = "checkpointLocation", "spark.sql.streaming.checkpointLocation"


def install() -> None:
    """Lets `DataStreamWriter.toTable` look at the table first, in sessions of this library: PySpark has no place for
    it. Done once, however often it is called.
    """
    theirs: Any = DataStreamWriter.toTable
    if getattr(theirs, "of_spark_client", False):
        return

    @wraps(theirs)
    def to_table(
        writer: DataStreamWriter,
        tableName: str,  # noqa: N803 - PySpark's names
        format: str | None = None,  # noqa: A002 - as above
        outputMode: str | None = None,  # noqa: N803 - as above
        partitionBy: str | list[str] | None = None,  # noqa: N803 - as above
        queryName: str | None = None,  # noqa: N803 - as above
        **options: Any,
    ) -> StreamingQuery:
        _say(writer, {"format": format, "outputMode": outputMode, "partitionBy": partitionBy, "queryName": queryName})
        writer.options(**options)
        spark = writer._spark  # noqa: SLF001 - PySpark has no name for it
        if isinstance(spark, MetastoreSession):
            context = Context(spark, spark.metastore)
            _make_missing(context, writer, tableName)
            if table := _own_table(context, tableName):
                return _append_to(context, writer, table, format)
        return cast("StreamingQuery", theirs(writer, tableName))

    to_table.of_spark_client = True  # type: ignore[attr-defined] # a function takes any
    DataStreamWriter.toTable = to_table  # type: ignore[method-assign,assignment] # as the docstring says


def _say(writer: DataStreamWriter, said: Mapping[str, Any]) -> None:
    for name, value in said.items():
        if value is not None:
            getattr(writer, name)(value)


def _make_missing(context: Context, writer: DataStreamWriter, name: str) -> None:
    """Makes the table that the stream is to go to, as `saveAsTable` does. One USING another format is Spark's matter.

    Spark's file sink would make one whose readers overlook what anybody else brings. Raises as `_check_stream`.
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
    """Tells whether it is a name of the session's own catalog that nothing has."""
    try:
        resolve_table(context, name)
    except NoSuchTableError:
        return False
    return not context.spark.catalog.tableExists(name)


def _own_table(context: Context, name: str) -> Table | None:
    """Returns the table, None where it is Spark's or another library's matter."""
    try:
        table = context.metastore.get_table(*resolve_table(context, name))
    except NoSuchTableError:
        return None
    if is_dependent(table):
        return table  # to be refused in our words
    if datasource_format(table) is None:
        is_foreign = PROVIDER in table.parameters or table.parameters.get("table_type", "").upper() == "ICEBERG"
        return None if is_foreign or table.table_type.endswith("VIEW") else table
    return (
        None
        if is_written_by_file_sink(context, table) or table.parameters.get("spark.sql.sources.schema.numBuckets")
        else table
    )


def _append_to(context: Context, writer: DataStreamWriter, table: Table, said: str | None) -> StreamingQuery:
    """Starts a query that appends to the table. Raises InvalidInsertError where the rows cannot go there, also where
    they are `said` to be of another format.
    """
    table, settings = with_spark_schema(table), stream_settings(writer)
    check_writable(table)
    known = {"hive", table.parameters.get(PROVIDER, "").lower(), file_format(table.storage, table.full_name)}
    if settings.format != context.spark.conf.get("spark.sql.sources.default"):
        said = settings.format
    if said is not None and said.lower() not in known:
        raise InvalidInsertError(f"{table.full_name} is not a table of {said}: leave the format out")
    _check_stream(writer, settings, table.full_name)
    _check_columns(writer, settings, table)
    name, columns = table.full_name, writer._df.columns  # noqa: SLF001 - PySpark has no name for it

    def append(rows: DataFrame, _: int) -> None:
        insert_all(Context(rows.sparkSession, context.metastore), [Insert(name, rows, columns=columns)])
        refresh(rows.sparkSession, table.database, table.name)

    return without_partitioning(writer).foreachBatch(append).start()


def _check_stream(writer: DataStreamWriter, settings: StreamSettings, name: str) -> None:
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


def _check_columns(writer: DataStreamWriter, settings: StreamSettings, table: Table) -> None:
    name, wanted = table.full_name, settings.partition_by
    keys = [column.name for column in table.partition_columns]
    if wanted and [column.lower() for column in wanted] != [key.lower() for key in keys]:
        raise InvalidInsertError(f"{name} is partitioned by {', '.join(keys) or 'nothing'}, not by {', '.join(wanted)}")
    known = {column.name.lower() for column in (*table.columns, *table.partition_columns)}
    given = [column.lower() for column in writer._df.columns]  # noqa: SLF001 - PySpark has no name for it
    if unknown := [column for column in given if column not in known]:
        raise InvalidInsertError(
            f"{name} has no column {unknown[0]}: rows of a stream go by the names of their columns"
        )
    if missing := [key for key in keys if key not in given]:
        raise InvalidInsertError(f"{name} is partitioned by {missing[0]}, which the rows of the stream do not have")
