"""What DESCRIBE EXTENDED says of a skewed table, and SHOW CREATE TABLE of one in Hive's layout: Spark's words, and
Hive's for the skew. Spark itself shows USING, which would make a table of its own kind.

Hive: TextDescTableFormatter and DDLPlanUtils.
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
# What Spark and the metastore themselves write into a table's parameters.
_OWN = re.compile(
    rf"spark\.sql\..*|transient_lastDdlTime|last_modified_.*|EXTERNAL|COLUMN_STATS_ACCURATE|comment|{QUERY_ID}|{MARK}"
    rf"|{re.escape(PREFIX)}.*|{re.escape(DROPPED)}"
    "|bucketing_version|(?:num|totalS|rawDataS).*"
)
_OWN_SERDE = ("serialization.format", READ_BELOW)
_BY_INPUT_FORMAT = {"MapredParquetInputFormat": "PARQUET", "OrcInputFormat": "ORC"}


def columns(context: Context, statement: DescribeTable | ShowCreateTable) -> str | None:
    """Returns the columns of its rows, or None where the statement is Spark's."""
    try:
        table = context.metastore.get_table(*resolve_table(context, statement.table))
    except NoSuchTableError:
        return None
    if isinstance(statement, ShowCreateTable):
        return _STATEMENT if _is_hive(table) or datasource_format(table) else None
    return _DESCRIPTION if _skew(context, statement, table).columns else None


def execute(context: Context, statement: DescribeTable | ShowCreateTable, text: str) -> DataFrame:
    """Returns the rows."""
    database, name = resolve_table(context, statement.table)
    table = context.metastore.get_table(database, name)
    if isinstance(statement, ShowCreateTable):
        if not _is_hive(table):
            return _without_own(context, text)
        kind = "EXTERNAL TABLE" if table.table_type == "EXTERNAL_TABLE" else "TABLE"
        head = f"CREATE {kind} {quote(database)}.{quote(name)}"
        shown = create_statement(context, head, table, "\n".join([format_clause(table), *_place(table)]))
        return context.spark.createDataFrame([(shown,)], _STATEMENT)
    rows = [tuple(row) for row in spark_sql(context, text).collect()]
    skew = _skew(context, statement, table)
    return context.spark.createDataFrame(_inserted(rows, _skew_rows(skew, _warehouse(context))), _DESCRIPTION)


def _skew(context: Context, statement: DescribeTable, table: Table) -> Skew:
    """Returns that of the table, or of the partition that the statement names."""
    if statement.partition is None or not table.partition_columns:
        return table.skew
    values = typed_values(context, table, statement.table, statement.partition)
    partition = context.metastore.get_partition(table.database, table.name, values)
    return partition.skew if partition else Skew()


def _without_own(context: Context, text: str) -> DataFrame:
    """Returns what Spark says of a table of its own kind, without what writes leave in its properties."""
    (shown,) = spark_sql(context, text).first() or ("",)
    shown = re.sub(
        rf"\n  '(?:{QUERY_ID}|{re.escape(DROPPED)}|{re.escape(PREFIX)}[^']*)' = '[^']*'(?:,|(?=\)))", "", shown
    )
    shown = re.sub(r",(?=\))|\nTBLPROPERTIES \(\)", "", shown)
    return context.spark.createDataFrame([(shown,)], _STATEMENT)


def _is_hive(table: Table) -> bool:
    """Tells whether it is a table in Hive's layout, of which Spark would say USING."""
    is_iceberg = table.parameters.get("table_type", "").lower() == "iceberg"
    return (
        table.table_type in ("MANAGED_TABLE", "EXTERNAL_TABLE") and PROVIDER not in table.parameters and not is_iceberg
    )


def _inserted(rows: list[tuple[str, ...]], more: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Behind what is said of the storage."""
    places = [number for number, row in enumerate(rows) if row[0] == _LAST_OF_STORAGE]
    place = places[-1] + 1 if places else len(rows)
    return [*rows[:place], *more, *rows[place:]]


def _skew_rows(skew: Skew, warehouse: str) -> Iterator[tuple[str, str, str]]:
    if skew.directories:
        yield "Stored As SubDirectories", "Yes", ""
    yield "Skewed Columns", _list(sorted(skew.columns)), ""
    yield "Skewed Values", _list(map(_list, sorted(skew.values))), ""
    if skew.locations:
        places = {_list(value): place for value, place in sorted(skew.locations.items())}
        yield "Skewed Value to Path", _map(places), ""
        shortened = {value: place.removeprefix(warehouse) for value, place in places.items()}
        yield "Skewed Value to Truncated Path", _map(shortened), ""


def _warehouse(context: Context) -> str:
    """Returns what Hive leaves out of a path."""
    return context.metastore.get_database("default").location.rstrip("/")


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def _map(entries: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}={value}' for key, value in entries.items())}}}"


def create_statement(context: Context, head: str, table: Table, options: str) -> str:
    """Returns a statement that makes a table like this one, skew included. `head` is CREATE TABLE and the name;
    `options`: format, place and properties.
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
    """ROW FORMAT and STORED AS."""
    storage = table.storage
    serde = {key: value for key, value in storage.serde_parameters.items() if key not in _OWN_SERDE}
    known = _BY_INPUT_FORMAT.get(storage.input_format.rpartition(".")[2])
    if known and not serde:
        return f"STORED AS {known}"
    with_properties = f" WITH SERDEPROPERTIES ({_properties(serde)})" if serde else ""
    return (
        f"ROW FORMAT SERDE {_text(storage.serde)}{with_properties}\n"
        f"STORED AS INPUTFORMAT {_text(storage.input_format)}\n  OUTPUTFORMAT {_text(storage.output_format)}"
    )


def _place(table: Table) -> Iterator[str]:
    if table.table_type == "EXTERNAL_TABLE":
        yield f"LOCATION {_text(table_root(table.location or ''))}"
    of_buckets = {VERSION} if table.buckets.count else set[str]()
    own = {key: value for key, value in table.parameters.items() if key in of_buckets or not _OWN.fullmatch(key)}
    if own:
        yield f"TBLPROPERTIES ({_properties(own)})"


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{_text(key)} = {_text(value)}" for key, value in sorted(properties.items()))


def _literal(text: str) -> str:
    return "NULL" if text == DEFAULT_PARTITION else _text(text)


def _text(text: str) -> str:
    """Writes it as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
