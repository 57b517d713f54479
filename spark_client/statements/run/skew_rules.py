"""Checks a skew clause against its table, with Hive's messages, and converts its values to the column types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException

from metastore.client.structs import Column, Skew, Table
from metastore.domain.partition_names import DEFAULT_PARTITION, value_path
from metastore.domain.skew import DEFAULT_MAX_VALUES, MAX_VALUES
from metastore.domain.skew_values import canonical_text
from spark_client.context import Context
from spark_client.errors import InvalidStatementError, first_line
from spark_client.statements.grammar.skew_clause import SkewedBy
from spark_client.table.directory_names import MAX_NAME
from spark_client.table.skew_layout import layout_problem
from spark_client.table.skew_limits import MAX_VALUES_SETTING, check_count, max_values

# Spark's ALTER TABLE drops the skew of a table but keeps parameters, and partitions keep their skew directories. So
# this parameter permanently tells ResolveHiveTables.java that the table may have skew directories.
MARK = "skewed.directories"
# A SerDe property of unpartitioned tables that Spark's readers take as an option: Spark without this library then
# reads skew directories too. For partitioned tables there is no such option (see MARK in spark_client/jvm/files.py).
READ_BELOW = "recursiveFileLookup"
# The key of the default directory in Hive's pruner. It cannot be a heavy value.
DEFAULT_KEY = "HIVE_DEFAULT_LIST_BUCKETING_KEY"

_PROVIDER = "spark.sql.sources.provider"
_FORMATS = re.compile("parquet|orc", re.IGNORECASE)
_TEXT = re.compile(r"string\b|(?:var)?char\((\d+)\)")
_COMPLEX = re.compile(r"(array|map|struct|uniontype|binary|interval|void)\b")


def with_skew(context: Context, table: Table, skewed_by: SkewedBy) -> Table:
    """Returns the table with this skew. Raises InvalidStatementError if the table cannot have it."""
    types = {column.name: column.type for column in table.columns}
    invalid = [name for name in skewed_by.columns if name not in types]
    if invalid:
        keys = {column.name for column in table.partition_columns} & set(invalid)
        hint = f" ({', '.join(sorted(keys))} is a partition column)" if keys else ""
        raise InvalidStatementError(
            f"[Error 10203]: Invalid skewed column name: {', '.join(invalid)}{hint}; data columns of "
            f"{table.full_name} are {', '.join(types)}"
        )
    for name in skewed_by.columns:
        if _COMPLEX.match(types[name]):
            raise InvalidStatementError(f"{table.full_name} cannot be skewed by {name}, which is of type {types[name]}")
    check_own_format(table)
    parameters = dict(table.parameters)
    if skewed_by.directories:
        _check_list_bucketing(table, skewed_by)
        parameters[MARK] = "true"
        if not table.partition_columns:
            serde = {**table.storage.serde_parameters, READ_BELOW: "true"}
            table = replace(table, storage=replace(table.storage, serde_parameters=serde))
    values = typed(context, table.full_name, table.columns, skewed_by.columns, skewed_by.values)
    if any(DEFAULT_KEY in value for value in values):
        raise InvalidStatementError(
            f"SKEWED BY of {table.full_name}: remove {DEFAULT_KEY}, which Hive reserves for values that are not listed"
        )
    distinct = tuple(dict.fromkeys(values))
    if skewed_by.directories:
        _check_names(table, skewed_by.columns, distinct)
    limit = max_values(table.parameters, context.spark.conf.get(MAX_VALUES_SETTING, None))
    check_count(f"{table.full_name}, skewed by {', '.join(skewed_by.columns)},", len(distinct), limit)
    if len(distinct) > DEFAULT_MAX_VALUES:  # the metastore does not see the session's limit
        parameters.setdefault(MAX_VALUES, str(limit))
    skew = Skew(skewed_by.columns, distinct, {}, skewed_by.directories)
    return replace(table, skew=skew, parameters=parameters)


def check_own_format(table: Table) -> None:
    """Raises InvalidStatementError for tables that cannot have a skew: views, datasource tables, Iceberg."""
    provider = table.parameters.get(_PROVIDER, "hive")
    if table.table_type.endswith("VIEW"):
        raise InvalidStatementError(
            f"{table.full_name} is a view and cannot have a skew: change the table that it reads"
        )
    if provider != "hive" or table.parameters.get("table_type", "").upper() == "ICEBERG":
        raise InvalidStatementError(
            f"{table.full_name} is a table USING {provider if provider != 'hive' else 'iceberg'}, which cannot have "
            "a skew; create one STORED AS PARQUET or STORED AS ORC"
        )


def _check_list_bucketing(table: Table, skewed_by: SkewedBy) -> None:
    """Checks the rules of Hive's "List Bucketing Validation" that apply here (docs/explanation/list-bucketing.md)."""
    where = f"{table.full_name} (skewed by {', '.join(skewed_by.columns)})"
    if table.bucket_columns:
        raise InvalidStatementError(
            f"{where} is CLUSTERED BY {', '.join(table.bucket_columns)}, which STORED AS DIRECTORIES excludes"
        )
    if problem := layout_problem(table.parameters):
        raise InvalidStatementError(f"{where}: {problem}")
    if not _FORMATS.search(table.storage.serde):
        raise InvalidStatementError(f"{where}: STORED AS DIRECTORIES needs STORED AS PARQUET or ORC")
    if table.parameters.get("transactional", "").lower() == "true":
        raise InvalidStatementError(f"{where} is transactional, which STORED AS DIRECTORIES excludes")


def _check_names(table: Table, columns: Sequence[str], values: Sequence[Sequence[str]]) -> None:
    """Raises InvalidStatementError for a value too long for a directory name, as INSERTs of it would fail."""
    for value in values:
        longest = max(len(name.encode()) for name in value_path(columns, value).split("/"))
        if longest > MAX_NAME:
            raise InvalidStatementError(
                f"{table.full_name}, skewed by {', '.join(columns)}: the directory of {', '.join(value)[:40]}… would "
                f"have a name of {longest} bytes; the limit of file systems is {MAX_NAME}"
            )


def typed(
    context: Context, table: str, columns: Sequence[Column], names: Sequence[str], values: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    """Converts SQL literals to texts of their columns' types: 1, 01 and '1' of an INT are 1.

    Raises InvalidStatementError if a literal is not of its column's type.
    """
    types = {column.name: column.type for column in columns}
    literals = dict.fromkeys((text, name) for value in values for text, name in zip(value, names, strict=True))
    texts = dict(zip(literals, _cast(context, [(text, types[name]) for text, name in literals]), strict=True))
    for (literal, name), text in texts.items():
        if text is None:
            raise InvalidStatementError(f"{table}, skewed by {name}: {literal} is not a value of type {types[name]}")
    return tuple(tuple(str(texts[text, name]) for text, name in zip(value, names, strict=True)) for value in values)


def _cast(context: Context, literals: Sequence[tuple[str, str]]) -> list[str | None]:
    columns = [
        f"IF({literal} IS NULL, '{DEFAULT_PARTITION}', {_as_text(f'CAST({literal} AS STRING)', type_)}) AS c{number}"
        for number, (literal, type_) in enumerate(literals)
    ]
    try:
        row = context.spark.sql(f"SELECT {', '.join(columns)}").first()
    except AnalysisException as error:
        raise InvalidStatementError(f"SKEWED BY: {first_line(error)}") from error
    texts = zip(row or (), literals, strict=True)
    return [text if text in (None, DEFAULT_PARTITION) else canonical_text(type_, text) for text, (_, type_) in texts]


def _as_text(text: str, type_: str) -> str:
    """Returns SQL that converts a text to the text of a value of the type, or to null if it is not one."""
    match = _TEXT.match(type_)
    if match is None:
        return f"CAST(TRY_CAST({text} AS {type_}) AS STRING)"
    if match[1] is None:
        return text
    # Spark's writers remove blanks that exceed the length.
    cut = f"IF(LENGTH(RTRIM({text})) > {match[1]}, NULL, LEFT({text}, {match[1]}))"
    return f"RTRIM({cut})" if type_.startswith("char") else cut
