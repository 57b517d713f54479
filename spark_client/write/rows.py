"""The rows of an INSERT as the table wants them: placed, cast by Spark's store assignment, partitions typed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Column, Table
from metastore.domain.partition_names import DEFAULT_PARTITION, ESCAPED, value_path
from spark_client.errors import InvalidInsertError, first_line
from spark_client.jvm import versions
from spark_client.jvm.columns import assigned
from spark_client.jvm.plans import folded_constants
from spark_client.jvm.sql_text import quote
from spark_client.table.column_defaults import collations, column_defaults, generated_columns
from spark_client.table.datasource_tables import schema_fields
from spark_client.table.directory_names import FUNCTION, MAX_NAME, has_own_names
from spark_client.table.partition_spec import PartitionSpec, place_columns

_CHAR = re.compile(r"char\((\d+)\)")
_TEXT_TYPE = re.compile(r"(string|varchar|char)\b")
# Several values have one name (an hour that clocks repeat), or are equal and have two (0.0, -0.0).
_NAMED_OTHERWISE = {"float", "double", "timestamp"}


def normalise_static(spark: SparkSession, table: Table, spec: PartitionSpec) -> dict[str, str]:
    """Static values as text of their column's type: `03` on INT is `3` (Hive's validatePartColumnType).

    Raises InvalidInsertError where a value is none of its type.
    """
    types = {column.name: column.type for column in table.partition_columns}
    values = {name: _padded(text, types[name]) for name, text in spec.static.items()}
    typed = [name for name, value in values.items() if value != DEFAULT_PARTITION and not _TEXT_TYPE.match(types[name])]
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


def _padded(text: str, type_: str) -> str:
    """Values of char(n) keep their blanks in partition names."""
    char = _CHAR.fullmatch(type_)
    return text.ljust(int(char[1])) if char and text != DEFAULT_PARTITION else text


def table_rows(
    spark: SparkSession,
    table: Table,
    data: DataFrame,
    spec: PartitionSpec,
    columns: Sequence[str] | None,
) -> DataFrame:
    """Returns the rows with the table's data columns and all its partition columns. Raises InvalidInsertError."""
    dynamic = [column for column in table.partition_columns if column.name in spec.dynamic]
    targets = [*table.columns, *dynamic]
    names = [column.name for column in targets]
    folded = [name.lower() for name in names]
    places = place_columns(table.full_name, folded, spec.static, columns, len(data.columns))
    placed = data if places == list(range(len(names))) else _placed(table, data, names, places)
    typed = with_generated(table, _store_assignment(spark, table.full_name, placed, targets))
    own = _partition_columns(table, spec.static)
    if not own:
        return typed
    names = [column.name for column in (*table.columns, *table.partition_columns)]
    return typed.select(*(own.get(name, F.col(quote(name))) for name in names))


def _placed(table: Table, data: DataFrame, names: Sequence[str], places: Sequence[int | None]) -> DataFrame:
    """Returns the columns of `data` at these places, under these names; DEFAULT or NULL where there is none."""
    defaults = {name: F.expr(text) for name, text in column_defaults(table).items()} if None in places else {}
    given = data.toDF(*(f"_{index}" for index in range(len(data.columns))))
    return given.select(
        *(
            (defaults.get(name.lower(), F.lit(None)) if place is None else given[f"_{place}"]).alias(name)
            for name, place in zip(names, places, strict=True)
        )
    )


def with_generated(table: Table, rows: DataFrame) -> DataFrame:
    """Returns the rows with the values of generated columns; one that is given and differs breaks the job off."""
    generated = generated_columns(table)
    if not generated:
        return rows
    types = {column.name.lower(): column.type for column in table.columns}
    computed = {}
    # The expressions have the case of names as they were declared, which the session may mind.
    declared = {str(field["name"]).lower(): str(field["name"]) for field in schema_fields(table)}
    named = rows.toDF(*(declared.get(name.lower(), name) for name in rows.columns))
    for name in named.columns:
        if (text := generated.get(name.lower())) is not None:
            given, value = F.col(quote(name)), F.expr(f"({text})").cast(types[name.lower()])
            message = f"{table.full_name}: {name} is GENERATED ALWAYS AS ({text}); leave it out, or give it this value"
            is_right = given.isNull() | given.eqNullSafe(value)
            computed[name] = F.when(is_right, value).otherwise(F.raise_error(F.lit(message)))
    own = collations(table)
    collated = {name: own[name.lower()] for name in named.columns if name.lower() in own}
    comparable = named.withColumns({name: F.collate(F.col(quote(name)), text) for name, text in collated.items()})
    plain = {name: F.col(quote(name)).cast("string") for name in collated}
    return comparable.withColumns(computed).withColumns(plain).toDF(*rows.columns)


def _partition_columns(table: Table, static: Mapping[str, str]) -> dict[str, SparkColumn]:
    """Returns, by name, the partition columns that are not simply those of the rows."""
    columns = {}
    for column in table.partition_columns:
        name = column.name
        if name in static:
            value = F.lit(None if static[name] == DEFAULT_PARTITION else static[name])
            columns[name] = value.cast("string").alias(name)
        elif _TEXT_TYPE.match(column.type) and not has_own_names(table):
            columns[name] = _checked_text(table, name)
        elif column.type in _NAMED_OTHERWISE:  # Spark's writer, which goes by values, would make a directory twice.
            columns[name] = F.col(quote(name)).cast("string").alias(name)
    return columns


def _checked_text(table: Table, name: str) -> SparkColumn:
    """Returns the column of the rows; a text of which no directory can be named breaks the job off before it is one.

    Most texts are short, so only long ones are escaped to see how long their names are.
    """
    given = F.col(quote(name))
    room = MAX_NAME - len(value_path([name], ["x"])) + 1
    length = F.octet_length(F.regexp_replace(given, ESCAPED, "%00"))
    message = F.concat(
        F.lit(f"{table.full_name}: the directory of {name} = '"),
        F.substring(given, 1, 40),
        F.lit(f"…' would have a longer name than the {MAX_NAME} bytes that file systems take; "),
        F.lit(f"give the table the property '{FUNCTION}' = 'short'"),
    )
    too_long = (F.octet_length(given) * 3 > room) & (length > room)
    return F.when(too_long, F.raise_error(message)).otherwise(given).alias(name)


def _store_assignment(spark: SparkSession, table: str, rows: DataFrame, targets: Sequence[Column]) -> DataFrame:
    try:
        return assigned(spark, table, rows, targets)
    except PySparkException as error:
        raise InvalidInsertError(first_line(error)) from error
