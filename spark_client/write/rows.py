"""The rows of an INSERT in the form of the table: columns by position or name, cast by Spark's store assignment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Column, Table
from metastore.domain.partition_names import DEFAULT_PARTITION, ESCAPED, value_path
from spark_client.errors import InvalidInsertError, first_line
from spark_client.jvm import versions
from spark_client.jvm.columns import assigned, is_like
from spark_client.jvm.plans import folded_constants, schema_of, selected
from spark_client.jvm.sql_text import exact_literal, quote
from spark_client.table.column_defaults import collations, column_defaults, generated_columns
from spark_client.table.datasource_tables import schema_fields
from spark_client.table.directory_names import FUNCTION, MAX_NAME, has_own_names
from spark_client.table.partition_spec import PartitionSpec, place_columns

_CHAR = re.compile(r"char\((\d+)\)")
_TEXT_TYPE = re.compile(r"(string|varchar|char)\b")
# Integers and their largest values. A text without leading zeros, sign or blanks is the text of its value.
_INTEGERS = {"tinyint": 2**7 - 1, "smallint": 2**15 - 1, "int": 2**31 - 1, "bigint": 2**63 - 1}
_PLAIN_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLAIN_INTEGER = re.compile(r"0|[1-9][0-9]{0,18}")
# Types whose text does not identify the value: an hour repeated when clocks are set back has one text, and the equal
# values 0.0 and -0.0 have two.
_AMBIGUOUS_TEXTS = {"float", "double", "timestamp"}


def normalise_static(spark: SparkSession, table: Table, spec: PartitionSpec) -> dict[str, str]:
    """Returns the static values as texts of their types: `03` of an INT is `3` (Hive validatePartColumnType).

    Raises InvalidInsertError if a value is not of its column's type.
    """
    types = {column.name: column.type for column in table.partition_columns}
    values = {name: _padded(text, types[name]) for name, text in spec.static.items()}
    typed = [name for name, value in values.items() if not is_normal(value, types[name])]
    if not typed:
        return values
    casts = [versions.try_cast(F.lit(values[name]), types[name]).cast("string") for name in typed]
    for name, text in zip(typed, folded_constants(spark, casts), strict=True):
        if text is None:
            raise InvalidInsertError(
                f"[Error 10248]: Cannot add partition column {name} of type string as it cannot be converted to "
                f"type {types[name]}: {values[name]!r}"
            )
        values[name] = str(text)
    return values


def is_normal(text: str, type_: str) -> bool:
    """Returns whether a text is surely the text of its own value, so that Spark need not cast it."""
    if text == DEFAULT_PARTITION or _TEXT_TYPE.match(type_):
        return True
    if type_ == "date":
        return bool(_PLAIN_DATE.fullmatch(text)) and _is_date(text)
    return bool(_PLAIN_INTEGER.fullmatch(text)) and int(text) <= _INTEGERS.get(type_, -1)


def _is_date(text: str) -> bool:
    with suppress(ValueError):
        return bool(date.fromisoformat(text))
    return False


def _padded(text: str, type_: str) -> str:
    """Returns a value as partition names have it: values of char(n) are padded with blanks."""
    char = _CHAR.fullmatch(type_)
    return text.ljust(int(char[1])) if char and text != DEFAULT_PARTITION else text


def table_rows(
    spark: SparkSession,
    table: Table,
    data: DataFrame,
    spec: PartitionSpec,
    columns: Sequence[str] | None,
    *,
    by_name: bool,
) -> DataFrame:
    """Returns the rows with the table's data and partition columns. Raises InvalidInsertError if they do not fit.

    `by_name`: fields of structs are assigned by name.
    """
    dynamic = [column for column in table.partition_columns if column.name in spec.dynamic]
    targets = [*table.columns, *dynamic]
    names = [column.name for column in targets]
    folded = [name.lower() for name in names]
    schema = schema_of(data)
    positions = place_columns(table.full_name, folded, spec.static, columns, len(schema))
    in_order = positions == list(range(len(names)))
    typed = data
    if not (in_order and is_like(schema, targets)):
        arranged = data if in_order else _arranged(table, data, names, positions)
        typed = _store_assignment(spark, table.full_name, arranged, targets, by_name=by_name)
    typed = with_generated(table, typed)
    replaced = _partition_columns(table, spec.static)
    if not replaced:
        return typed
    names = [quote(column.name) for column in (*table.columns, *table.partition_columns)]
    return selected(typed, [f"{replaced[name]} AS {name}" if name in replaced else name for name in names])


def _arranged(table: Table, data: DataFrame, names: Sequence[str], positions: Sequence[int | None]) -> DataFrame:
    """Returns the columns of `data` at these positions, with these names. Without a position: the DEFAULT or NULL."""
    defaults = {name: F.expr(text) for name, text in column_defaults(table).items()} if None in positions else {}
    numbered = data.toDF(*(f"_{index}" for index in range(len(data.columns))))  # names may occur twice
    return numbered.select(
        *(
            (defaults.get(name.lower(), F.lit(None)) if position is None else numbered[f"_{position}"]).alias(name)
            for name, position in zip(names, positions, strict=True)
        )
    )


def with_generated(table: Table, rows: DataFrame) -> DataFrame:
    """Computes generated columns. The job fails if a row has a value that differs from the expression."""
    generated = generated_columns(table)
    if not generated:
        return rows
    types = {column.name.lower(): column.type for column in table.columns}
    computed = {}
    # The expressions use the declared names, which matters with spark.sql.caseSensitive=true.
    declared = {str(field["name"]).lower(): str(field["name"]) for field in schema_fields(table)}
    named = rows.toDF(*(declared.get(name.lower(), name) for name in rows.columns))
    for name in named.columns:
        if (text := generated.get(name.lower())) is not None:
            supplied, value = F.col(quote(name)), F.expr(f"({text})").cast(types[name.lower()])
            message = (
                f"{table.full_name}: {name} is GENERATED ALWAYS AS ({text}); omit the column, or supply this value"
            )
            is_right = supplied.isNull() | supplied.eqNullSafe(value)
            computed[name] = F.when(is_right, value).otherwise(F.raise_error(F.lit(message)))
    own = collations(table)
    collated = {name: own[name.lower()] for name in named.columns if name.lower() in own}
    comparable = named.withColumns({name: F.collate(F.col(quote(name)), text) for name, text in collated.items()})
    plain = {name: F.col(quote(name)).cast("string") for name in collated}
    return comparable.withColumns(computed).withColumns(plain).toDF(*rows.columns)


def _partition_columns(table: Table, static: Mapping[str, str]) -> dict[str, str]:
    """Returns the SQL of the partition columns that replace columns of the rows, by quoted name: static, checked or
    converted ones.
    """
    columns = {}
    for column in table.partition_columns:
        name = quote(column.name)
        if (text := static.get(column.name)) is not None:
            columns[name] = "CAST(NULL AS STRING)" if text == DEFAULT_PARTITION else exact_literal(text)
        elif _TEXT_TYPE.match(column.type) and not has_own_names(table):
            columns[name] = _checked_text(table, column.name)
        elif column.type in _AMBIGUOUS_TEXTS:
            # Spark's writer compares values and would open the same directory twice.
            columns[name] = f"CAST({name} AS STRING)"
    return columns


def _checked_text(table: Table, name: str) -> str:
    """Returns the SQL of a text column. The job fails at a value whose directory name would be too long.

    Escaping shows the exact length but is slow, so only values that could be too long are escaped.
    """
    value, limit = quote(name), MAX_NAME - len(value_path([name], ["x"])) + 1
    before = f"{table.full_name}: the directory of {name} = '"
    after = (
        f"…' would have a name of more than {MAX_NAME} bytes, the limit of file systems; "
        f"set the table property '{FUNCTION}' = 'short'"
    )
    message = f"concat({exact_literal(before)}, substring({value}, 1, 40), {exact_literal(after)})"
    escaped = f"regexp_replace({value}, {exact_literal(ESCAPED)}, '%00')"
    too_long = f"octet_length({value}) * 3 > {limit} AND octet_length({escaped}) > {limit}"
    return f"CASE WHEN {too_long} THEN raise_error({message}) ELSE {value} END"


def _store_assignment(
    spark: SparkSession, table: str, rows: DataFrame, targets: Sequence[Column], *, by_name: bool
) -> DataFrame:
    try:
        return assigned(spark, table, rows, targets, by_name=by_name)
    except PySparkException as error:
        raise InvalidInsertError(first_line(error)) from error
