"""The heavy keys of a join, from the metastore or from the caller."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from metastore.client import MetastoreClient
from metastore.client.structs import Table
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.errors import InvalidStatementError
from spark_client.joins.split import HeavyPredicate
from spark_client.jvm import versions
from spark_client.jvm.joins import JoinKey
from spark_client.jvm.plans import folded_constants
from spark_client.table.properties import AUTO

_CHAR = re.compile(r"char\((\d+)\)")
# 0.0 equals -0.0, and NaNs equal each other. Spark's IN sets do not know that.
_FLOATING = ("FLOAT", "DOUBLE")


@dataclass(frozen=True, slots=True)
class HeavyValues:
    """The heavy values of some columns. Each value is a tuple of constants, None for NULL."""

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    def matching_keys(self, keys: Iterable[JoinKey]) -> tuple[JoinKey, ...]:
        """Returns the keys of a join that consist of one of the columns, in the join's order."""
        names = {name.lower() for name in self.columns}
        return tuple(key for key in keys if len(key.columns) == 1 and key.columns[0].lower() in names)

    def predicate(self, spark: SparkSession, keys: Sequence[JoinKey]) -> HeavyPredicate | None:
        """Returns the predicate that a row has a heavy key, or None if no row can have one.

        `keys` are the result of `matching_keys`.
        """
        positions = [next(i for i, name in enumerate(self.columns) if _is_made_of(key, name)) for key in keys]
        values = list(dict.fromkeys(tuple(value[position] for position in positions) for value in self.values))
        casts = [[_cast(part, key) for part, key in zip(value, keys, strict=True)] for value in values]
        castable = [
            [None if part is None else constant for part, constant in zip(value, constants, strict=True)]
            for value, constants, is_known in zip(values, casts, _are_known(spark, values, casts), strict=True)
            if is_known
        ]
        if not castable:
            return None
        if len(keys) == 1 and keys[0].type not in _FLOATING:
            return lambda columns: _is_in(columns[0], [value[0] for value in castable])
        return lambda columns: reduce(SparkColumn.__or__, [_are_equal(columns, value) for value in castable])


def _cast(value: Any, key: JoinKey) -> SparkColumn:
    return versions.try_cast(F.lit(value), key.type)


def _is_made_of(key: JoinKey, name: str) -> bool:
    return key.columns[0].lower() == name.lower()


def _are_known(
    spark: SparkSession, values: Sequence[Sequence[Any]], casts: Sequence[Sequence[SparkColumn]]
) -> Sequence[bool]:
    """Tells for each value whether it can be cast to the keys' types.

    Spark's optimizer folds the constants, so no job runs.
    """
    flags = [
        reduce(
            SparkColumn.__and__, [F.lit(part is None) | cast.isNotNull() for part, cast in zip(value, row, strict=True)]
        )
        for value, row in zip(values, casts, strict=True)
    ]
    return folded_constants(spark, flags)


def _is_in(column: SparkColumn, constants: Collection[SparkColumn | None]) -> SparkColumn:
    """Returns a predicate that is never NULL, in a form that prunes directories and row groups."""
    values = [constant for constant in constants if constant is not None]
    matches = column.isNotNull() & column.isin(*values)  # IN of an empty list is false
    return matches | column.isNull() if len(values) < len(constants) else matches


def _are_equal(columns: Sequence[SparkColumn], constants: Sequence[SparkColumn | None]) -> SparkColumn:
    pairs = zip(columns, constants, strict=True)
    return reduce(SparkColumn.__and__, [c.isNull() if column is None else c.eqNullSafe(column) for c, column in pairs])


def listed_values(columns: Sequence[str], values: Iterable[Any], types: Mapping[str, str]) -> HeavyValues:
    """Returns the heavy values that a caller has listed: constants of one column, or tuples of several.

    `types` are the columns' types by name in lower case. Raises InvalidStatementError for a tuple of another length.
    """
    tuples = [tuple(value) if isinstance(value, list | tuple) else (value,) for value in values]
    if uneven := [value for value in tuples if len(value) != len(columns)]:
        raise InvalidStatementError(
            f"{uneven[0]} is not a value of ({', '.join(columns)}): it needs {len(columns)} elements"
        )
    kinds = [types.get(name.lower(), "") for name in columns]
    return HeavyValues(tuple(columns), tuple(tuple(map(_padded, value, kinds)) for value in tuples))


def recorded_values(metastore: MetastoreClient, table: Table) -> HeavyValues | None:
    """Returns the heavy values that the metastore records for a table, or None.

    For a table whose loads choose heavy values (`skew.auto`), these are the values of its partitions.
    """
    skews = [table.skew]
    if table.parameters.get(AUTO, "").lower() == "true":
        partitions = metastore.get_partitions(table.database, table.name)
        skews += [partition.skew for partition in partitions]
    types = {column.name: column.type for column in table.columns}
    names = next((skew.columns for skew in skews if skew.columns), ())
    values = dict.fromkeys(value for skew in skews if skew.columns == names for value in skew.values)
    if not values:
        return None
    return HeavyValues(names, tuple(tuple(map(_constant, value, map(types.__getitem__, names))) for value in values))


def _constant(text: str, type_: str) -> Any:
    return None if text == DEFAULT_PARTITION else _padded(text, type_)


def _padded(value: Any, type_: str) -> Any:
    """Returns the value as Spark stores char(n): padded with blanks."""
    char = _CHAR.fullmatch(type_)
    return value.ljust(int(char[1])) if char and isinstance(value, str) else value
