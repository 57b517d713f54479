"""Executes DESCRIBE EXTENDED of skewed tables, and SHOW CREATE TABLE.

DESCRIBE adds Hive's rows about the skew to Spark's. Spark's SHOW CREATE TABLE has USING, which would create a
datasource table. Hive: TextDescTableFormatter and DDLPlanUtils.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pyspark.sql import DataFrame

from metastore.client.structs import Skew, Table
from metastore.domain.buckets import Buckets
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.context import Context
from spark_client.errors import NoSuchTableError
from spark_client.jvm.catalog import raw_columns
from spark_client.jvm.parser import spark_sql
from spark_client.jvm.sql_text import quote
from spark_client.statements.grammar.descriptions import DescribeTable, ShowCreateTable
from spark_client.statements.run.clauses import resolve_table, typed_values
from spark_client.statements.run.skew_rules import MARK, READ_BELOW
from spark_client.table.bucket_rules import VERSION
from spark_client.table.datasource_tables import datasource_format
from spark_client.table.properties import DROPPED
from spark_client.table.settings import PROVIDER
from spark_client.write.micro_batch import PREFIX
from spark_client.write.placement import QUERY_ID, table_root

_DESCRIPTION = "col_name string, data_type string, comment string"
_STATEMENT = "createtab_stmt string"
_LAST_OF_STORAGE = "Storage Properties"
# Table parameters that Spark, the metastore and this library set.
_INTERNAL = re.compile(
    rf"spark\.sql\..*|transient_lastDdlTime|last_modified_.*|EXTERNAL|COLUMN_STATS_ACCURATE|comment|{QUERY_ID}|{MARK}"
    rf"|{re.escape(PREFIX)}.*|{re.escape(DROPPED)}"
    "|bucketing_version|(?:num|totalS|rawDataS).*"
)
_INTERNAL_SERDE = ("serialization.format", READ_BELOW)
_BY_INPUT_FORMAT = {"MapredParquetInputFormat": "PARQUET", "OrcInputFormat": "ORC"}


def columns(context: Context, statement: DescribeTable | ShowCreateTable) -> str | None:
    """Returns the columns of the statement's rows, or None if the statement is left to Spark."""
    try:
        table = context.metastore.get_table(*resolve_table(context, statement.table))
    except NoSuchTableError:
        return None
    if isinstance(statement, ShowCreateTable):
        return _STATEMENT if _is_hive(table) or datasource_format(table) else None
    return _DESCRIPTION if _skew(context, statement, table).columns else None


def execute(context: Context, statement: DescribeTable | ShowCreateTable, text: str) -> DataFrame:
    """Returns the statement's rows."""
    database, name = resolve_table(context, statement.table)
    table = context.metastore.get_table(database, name)
    if isinstance(statement, ShowCreateTable):
        if not _is_hive(table):
            return _without_internal(context, text)
        kind = "EXTERNAL TABLE" if table.table_type == "EXTERNAL_TABLE" else "TABLE"
        head = f"CREATE {kind} {quote(database)}.{quote(name)}"
        shown = create_statement(
            context, head, table, "\n".join([format_clause(table), *_location_and_properties(table)])
        )
        return context.spark.createDataFrame([(shown,)], _STATEMENT)
    rows = [tuple(row) for row in spark_sql(context, text).collect()]
    skew = _skew(context, statement, table)
    return context.spark.createDataFrame(_inserted(rows, _skew_rows(skew, _warehouse(context))), _DESCRIPTION)


def _skew(context: Context, statement: DescribeTable, table: Table) -> Skew:
    """Returns the skew of the partition that the statement names, or of the table."""
    if statement.partition is None or not table.partition_columns:
        return table.skew
    values = typed_values(context, table, statement.table, statement.partition)
    partition = context.metastore.get_partition(table.database, table.name, values)
    return partition.skew if partition else Skew()


def _without_internal(context: Context, text: str) -> DataFrame:
    """Returns Spark's statement for a datasource table, without the properties that writes have added."""
    (shown,) = spark_sql(context, text).first() or ("",)
    shown = re.sub(
        rf"\n  '(?:{QUERY_ID}|{re.escape(DROPPED)}|{re.escape(PREFIX)}[^']*)' = '[^']*'(?:,|(?=\)))", "", shown
    )
    shown = re.sub(r",(?=\))|\nTBLPROPERTIES \(\)", "", shown)
    return context.spark.createDataFrame([(shown,)], _STATEMENT)


def _is_hive(table: Table) -> bool:
    """Returns whether a table is in Hive's format. Spark's statement would have USING."""
    is_iceberg = table.parameters.get("table_type", "").lower() == "iceberg"
    return (
        table.table_type in ("MANAGED_TABLE", "EXTERNAL_TABLE") and PROVIDER not in table.parameters and not is_iceberg
    )


def _inserted(rows: list[tuple[str, ...]], more: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Inserts rows after the last one about the storage."""
    positions = [number for number, row in enumerate(rows) if row[0] == _LAST_OF_STORAGE]
    position = positions[-1] + 1 if positions else len(rows)
    return [*rows[:position], *more, *rows[position:]]


def _skew_rows(skew: Skew, warehouse: str) -> Iterator[tuple[str, str, str]]:
    if skew.directories:
        yield "Stored As SubDirectories", "Yes", ""
    yield "Skewed Columns", _list(sorted(skew.columns)), ""
    yield "Skewed Values", _list(map(_list, sorted(skew.values))), ""
    if skew.locations:
        locations = {_list(value): location for value, location in sorted(skew.locations.items())}
        yield "Skewed Value to Path", _map(locations), ""
        shortened = {value: location.removeprefix(warehouse) for value, location in locations.items()}
        yield "Skewed Value to Truncated Path", _map(shortened), ""


def _warehouse(context: Context) -> str:
    """Returns the warehouse directory, which Hive omits in truncated paths."""
    return context.metastore.get_database("default").location.rstrip("/")


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def _map(entries: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}={value}' for key, value in entries.items())}}}"


def create_statement(context: Context, head: str, table: Table, options: str) -> str:
    """Returns a CREATE TABLE statement with the columns, buckets and skew of a table.

    `head` is CREATE TABLE with the name. `options` has the format, location and properties.
    """
    keys = {column.name for column in table.partition_columns}
    fields = raw_columns(context, table)
    lines = [f"{head} (", ",\n".join(f"  {text}" for column, text in fields if column not in keys) + ")"]
    if "comment" in table.parameters:
        lines.append(f"COMMENT {_text(table.parameters['comment'])}")
    if keys:
        lines.append(f"PARTITIONED BY ({', '.join(text for column, text in fields if column in keys)})")
    lines += _clustered(table.buckets)
    lines += _skewed(table.skew)
    return "\n".join([*lines, options])


def _clustered(buckets: Buckets) -> list[str]:
    if not buckets.count:
        return []
    order = ", ".join(f"{quote(name)} {'ASC' if ascends else 'DESC'}" for name, ascends in buckets.order)
    columns = ", ".join(map(quote, buckets.columns))
    return [f"CLUSTERED BY ({columns}){f' SORTED BY ({order})' if order else ''} INTO {buckets.count} BUCKETS"]


def _skewed(skew: Skew) -> list[str]:
    if not skew.columns:
        return []
    values = ", ".join(f"({', '.join(map(_literal, value))})" for value in skew.values)
    lines = [f"SKEWED BY ({', '.join(map(quote, skew.columns))})", f"  ON ({values})"]
    return [*lines, "  STORED AS DIRECTORIES"] if skew.directories else lines


def format_clause(table: Table) -> str:
    """Returns ROW FORMAT and STORED AS."""
    storage = table.storage
    serde = {key: value for key, value in storage.serde_parameters.items() if key not in _INTERNAL_SERDE}
    known = _BY_INPUT_FORMAT.get(storage.input_format.rpartition(".")[2])
    if known and not serde:
        return f"STORED AS {known}"
    with_properties = f" WITH SERDEPROPERTIES ({_properties(serde)})" if serde else ""
    return (
        f"ROW FORMAT SERDE {_text(storage.serde)}{with_properties}\n"
        f"STORED AS INPUTFORMAT {_text(storage.input_format)}\n  OUTPUTFORMAT {_text(storage.output_format)}"
    )


def _location_and_properties(table: Table) -> Iterator[str]:
    if table.table_type == "EXTERNAL_TABLE":
        yield f"LOCATION {_text(table_root(table.location or ''))}"
    kept = {VERSION} if table.buckets.count else set[str]()
    own = {key: value for key, value in table.parameters.items() if key in kept or not _INTERNAL.fullmatch(key)}
    if own:
        yield f"TBLPROPERTIES ({_properties(own)})"


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{_text(key)} = {_text(value)}" for key, value in sorted(properties.items()))


def _literal(text: str) -> str:
    return "NULL" if text == DEFAULT_PARTITION else _text(text)


def _text(text: str) -> str:
    """Returns a text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
