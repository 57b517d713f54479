"""Maps rows to partitions, whose values are texts in the metastore."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Column as TableColumn
from metastore.client.structs import Table
from metastore.domain.expression import And, Expression, In, IsNull, Or
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.errors import InvalidInsertError
from spark_client.jvm import versions
from spark_client.jvm.sql_text import literal, quote
from spark_client.write.skewed_directory import has_key, partition_key
from spark_client.write.snapshot import PartNumbers, Snapshot, Values


def partition_columns(table: Table) -> list[Column]:
    """Returns the partition columns of rows whose columns have the table's names."""
    return [F.col(quote(column.name)) for column in table.partition_columns]


def partition_texts(columns: Sequence[Column]) -> list[Column]:
    """Returns the partition values as texts. Null and the empty text are the default partition."""
    texts = [column.cast("string") for column in columns]
    return [F.when(text != "", text).otherwise(DEFAULT_PARTITION).alias(f"_{n}") for n, text in enumerate(texts)]


def partitions_of(table: Table, rows: DataFrame) -> set[Values]:
    """Returns the partitions of rows whose columns have the table's names."""
    if not table.partition_columns:
        return set() if rows.isEmpty() else {()}
    return {tuple(row) for row in rows.select(*partition_texts(partition_columns(table))).distinct().collect()}


def in_partitions(table: Table, columns: Sequence[Column], partitions: Collection[Values]) -> Column:
    """Returns the condition that a row belongs to one of the partitions.

    The exact test compares all values at once, which no scan can prune by. So each column is compared too.
    `columns` are the partition columns of the row.
    """
    if not table.partition_columns:
        return F.expr("true" if partitions else "false")
    conditions = [has_key(partition_key(columns), sorted(partitions))]
    for number, (name, column) in enumerate(zip(columns, table.partition_columns, strict=True)):
        texts = sorted({values[number] for values in partitions})
        known = [F.lit(text).cast(_type(column)) for text in texts if text != DEFAULT_PARTITION]
        parts = [name.isin(*known)] if known else []
        if DEFAULT_PARTITION in texts:
            parts += [name.isNull(), *([name == ""] if _is_text(column) else [])]
        conditions.append(F.coalesce(reduce(Column.__or__, parts), F.expr("false")))
    return reduce(Column.__and__, conditions)


def typed(table: Table, partitions: Collection[Values]) -> Expression | None:
    """Returns a predicate on partitions that is true for these, for all whose values Spark takes for theirs, such as 01
    of an INT for 1, and perhaps for others. None for a table without partition columns.
    """
    conditions: list[Expression] = []
    for number, column in enumerate(table.partition_columns):
        texts = {values[number] for values in partitions}
        parts: list[Expression] = [IsNull(column.name)] if DEFAULT_PARTITION in texts else []
        if known := tuple(sorted(texts - {DEFAULT_PARTITION})):
            parts.append(In(column.name, known))
        conditions.append(Or(tuple(parts)))
    return And(tuple(conditions)) if conditions else None


def in_directories(columns: Sequence[Column], number: Column, directories: PartNumbers) -> Column:
    """Returns the condition that a row is in one of these parts, or in a partition that `directories` does not list.

    `columns` are the partition columns of the row, `number` is the number of its skew directory or bucket.
    """
    key, wanted = partition_key(columns) if columns else F.lit(""), F.expr("true")
    for values, numbers in directories.items():
        is_in_partition = has_key(key, [values])
        wanted = wanted & (~is_in_partition | number.isin(*sorted(numbers)))
    return wanted


def _type(column: TableColumn) -> str:
    return "string" if _is_text(column) else column.type


def _is_text(column: TableColumn) -> bool:
    return column.type.startswith(("string", "varchar", "char"))


def check_names(spark: SparkSession, table: Table, seen: Snapshot) -> None:
    """Raises InvalidInsertError for a partition that is not named as Spark writes its value, such as 01 of an INT.

    Rows of such a partition cannot be distinguished from rows of partition 1.
    """
    for number, column in enumerate(table.partition_columns):
        if _is_text(column):
            continue
        texts = sorted({values[number] for values in seen} - {DEFAULT_PARTITION})
        if not texts:
            continue
        rows = ", ".join(f"({literal(text)})" for text in texts)
        listed = spark.sql(f"SELECT * FROM VALUES {rows} AS given (text)")  # noqa: S608 - constants: nothing runs for them
        written = versions.try_cast(F.col("text"), column.type).cast("string")
        odd = listed.filter(~written.eqNullSafe(F.col("text"))).limit(1).collect()
        if odd:
            raise InvalidInsertError(
                f"{table.full_name} has a partition {column.name}={odd[0][0]}, which is not the canonical text of a "
                f"value of type {column.type}: rename it first, with ALTER TABLE … PARTITION … RENAME TO PARTITION …"
            )
