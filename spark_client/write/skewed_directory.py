"""The skew directory of a row: the position of its value in the partition's skew list; 0 is the default directory."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Column, Skew, Table
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.jvm.sql_text import exact_literal, quote

_CHAR = re.compile(r"char\((\d+)\)")


def directory_number(skew: Skew, columns: Sequence[Column]) -> SparkColumn:
    """Returns the directory number of a row: 1 for the first declared value, 0 for values that are not declared.

    Values are compared by type. Null has a directory only if the list declares null.
    """
    if not skew.is_list_bucketed:
        return F.lit(0)
    types = {column.name: column.type for column in columns}
    typed = [(name, types[name]) for name in map(str.lower, skew.columns)]
    return F.expr(_number_of_value(*typed[0], skew) if len(typed) == 1 else _number_of_values(typed, skew))


def _number_of_value(name: str, type_: str, skew: Skew) -> str:
    """Returns the SQL for one column, without a struct for each row. Declared values that are illegal match nothing."""
    texts = [text for (text,) in skew.values]
    null_number = texts.index(DEFAULT_PARTITION) + 1 if DEFAULT_PARTITION in texts else 0
    values = ", ".join(_literal(text, type_) for text in texts)
    return f"CAST(coalesce(array_position(array({values}), {quote(name)}), {null_number}) AS INT)"


def _number_of_values(typed: Sequence[tuple[str, str]], skew: Skew) -> str:
    """Returns the SQL for several columns. A declared value matches only if each of its texts is legal."""
    row = _struct(["true", *(quote(name) for name, _ in typed)])
    values = []
    for value in skew.values:
        literals = [_literal(text, type_) for text, (_, type_) in zip(value, typed, strict=True)]
        not_null = [literal for text, literal in zip(value, literals, strict=True) if text != DEFAULT_PARTITION]
        is_legal = " AND ".join(["true", *(f"{literal} IS NOT NULL" for literal in not_null)])
        values.append(_struct([is_legal, *literals]))
    return f"CAST(array_position(array({', '.join(values)}), {row}) AS INT)"


def _struct(values: Sequence[str]) -> str:
    return "named_struct(" + ", ".join(f"'{number}', {value}" for number, value in enumerate(values)) + ")"


def _literal(text: str, type_: str) -> str:
    """Returns a value of the type in SQL, or SQL that yields null if the text is illegal."""
    if padded := _CHAR.fullmatch(type_):  # Spark keeps char(n) as a padded string.
        return f"rpad({_literal(text, 'string')}, {padded[1]}, ' ')"
    to = "string" if type_.startswith("varchar") else type_
    if text == DEFAULT_PARTITION:
        return f"CAST(NULL AS {to})"
    return f"try_cast({exact_literal(text)} AS {to})"


def directory_number_by_partition(
    skew: Skew, exceptions: Sequence[tuple[Skew, Sequence[tuple[str, ...]]]], table: Table
) -> SparkColumn | None:
    """Returns `directory_number` for a table in which some partitions have another skew list than the table.

    `exceptions`: each such skew with its partitions. Returns None if no partition has skew directories.
    """
    if not any(own.is_list_bucketed for own in (skew, *(other for other, _ in exceptions))):
        return None
    number = directory_number(skew, table.columns)
    for other, partitions in exceptions:
        number = F.when(is_in(partitions, table), directory_number(other, table.columns)).otherwise(number)
    return number


def is_in(partitions: Sequence[tuple[str, ...]], table: Table) -> SparkColumn:
    """Returns the condition that a row belongs to one of these partitions."""
    return has_key(partition_key([F.col(quote(column.name)) for column in table.partition_columns]), partitions)


def has_key(key: SparkColumn, partitions: Sequence[tuple[str, ...]]) -> SparkColumn:
    """Returns the condition that a `partition_key` is the key of one of these partitions."""
    return key.isin(["".join(f"{len(value)}:{value}" for value in values) for values in partitions])


def partition_key(columns: Sequence[SparkColumn]) -> SparkColumn:
    """Returns one text for all partition values. Each has its length as a prefix, so that keys are unique.

    Null and the empty text are the default partition.
    """
    texts = [column.cast("string") for column in columns]
    named = [F.when(text != "", text).otherwise(DEFAULT_PARTITION) for text in texts]
    return F.concat(*(part for text in named for part in (F.length(text).cast("string"), F.lit(":"), text)))
