"""To which directory a row goes: the number of its value in the partition's skew list, 0 for the default directory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Column, Skew, Table
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.jvm import versions
from spark_client.jvm.sql_text import quote

_CHAR = re.compile(r"char\((\d+)\)")


def directory_number(skew: Skew, columns: Sequence[Column]) -> SparkColumn:
    """1 for the first declared value and so on; comparison is typed, and null is only what declares itself null."""
    if not skew.is_list_bucketed:
        return F.lit(0)
    types = {column.name: column.type for column in columns}
    typed = [(name, types[name]) for name in map(str.lower, skew.columns)]
    if len(typed) == 1:
        return _number_of_value(*typed[0], [text for (text,) in skew.values])
    row = F.struct(F.expr("true").alias("legal"), *(F.col(quote(name)).alias(name) for name, _ in typed))
    values = [_declared(value, typed) for value in skew.values]
    return versions.array_position(F.array(*values), row).cast("int")


def _number_of_value(name: str, type_: str, texts: Sequence[str]) -> SparkColumn:
    """As `directory_number`, of one column, without a struct for each row: null and what is illegal equal nothing."""
    null_number = texts.index(DEFAULT_PARTITION) + 1 if DEFAULT_PARTITION in texts else 0
    values = F.array(*(_literal(text, type_) for text in texts))
    return F.coalesce(versions.array_position(values, F.col(quote(name))), F.lit(null_number)).cast("int")


def _declared(value: Sequence[str], typed: Sequence[tuple[str, str]]) -> SparkColumn:
    """Returns the value as a struct; not legal, so equal to no row's, where a text is none of its column's type."""
    literals = [_literal(text, type_) for text, (_, type_) in zip(value, typed, strict=True)]
    legal = [
        F.expr("true") if text == DEFAULT_PARTITION else literal.isNotNull()
        for text, literal in zip(value, literals, strict=True)
    ]
    fields = [literal.alias(name) for literal, (name, _) in zip(literals, typed, strict=True)]
    return F.struct(reduce(SparkColumn.__and__, legal).alias("legal"), *fields)


def _literal(text: str, type_: str) -> SparkColumn:
    if padded := _CHAR.fullmatch(type_):  # Spark keeps char(n) as a padded string.
        return F.rpad(_literal(text, "string"), int(padded[1]), " ")
    if text == DEFAULT_PARTITION:
        return F.lit(None).cast(type_)
    return versions.try_cast(F.lit(text), "string" if type_.startswith("varchar") else type_)


def directory_number_by_partition(
    skew: Skew, exceptions: Sequence[tuple[Skew, Sequence[tuple[str, ...]]]], table: Table
) -> SparkColumn | None:
    """Returns `directory_number`, where partitions of these values have a skew list of their own; None: none has."""
    if not any(own.is_list_bucketed for own in (skew, *(other for other, _ in exceptions))):
        return None
    number = directory_number(skew, table.columns)
    for other, partitions in exceptions:
        number = F.when(is_in(partitions, table), directory_number(other, table.columns)).otherwise(number)
    return number


def is_in(partitions: Sequence[tuple[str, ...]], table: Table) -> SparkColumn:
    """Tells whether a row belongs to one of the partitions of these values."""
    return has_key(partition_key([F.col(quote(column.name)) for column in table.partition_columns]), partitions)


def has_key(key: SparkColumn, partitions: Sequence[tuple[str, ...]]) -> SparkColumn:
    """Tells whether a `partition_key` is that of one of the partitions."""
    return key.isin(["".join(f"{len(value)}:{value}" for value in values) for values in partitions])


def partition_key(columns: Sequence[SparkColumn]) -> SparkColumn:
    """Returns one text for all values, with lengths, so that no two are alike; null and empty are the default
    partition."""
    texts = [column.cast("string") for column in columns]
    named = [F.when(text != "", text).otherwise(DEFAULT_PARTITION) for text in texts]
    return F.concat(*(part for text in named for part in (F.length(text).cast("string"), F.lit(":"), text)))
