"""Which keys of a join are heavy: by values that the metastore has of a table, or that are given."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

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
# Zeros of two signs are equal, and so are the many that are no number: Spark's sets of values do not know it.
_FLOATING = ("FLOAT", "DOUBLE")


@dataclass(frozen=True, slots=True)
class HeavyValues:
    """Heavy values of some columns, each a tuple of constants, None for null."""

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    def of(self, keys: Iterable[JoinKey]) -> tuple[JoinKey, ...]:
        """Returns those keys of a join that are each made of one of the columns, in the order of the join."""
        names = {name.lower() for name in self.columns}
        return tuple(key for key in keys if len(key.columns) == 1 and key.columns[0].lower() in names)

    def test(self, spark: SparkSession, keys: Sequence[JoinKey]) -> HeavyPredicate | None:
        """Tells by the keys, which are those of `of`, whether a row is heavy; None where no row can be."""
        places = [next(i for i, name in enumerate(self.columns) if _is_made_of(key, name)) for key in keys]
        values = list(dict.fromkeys(tuple(value[place] for place in places) for value in self.values))
        casts = [[_cast(part, key) for part, key in zip(value, keys, strict=True)] for value in values]
        known = [
            [None if part is None else constant for part, constant in zip(value, constants, strict=True)]
            for value, constants, is_known in zip(values, casts, _are_known(spark, values, casts), strict=True)
            if is_known
        ]
        if not known:
            return None
        if len(keys) == 1 and keys[0].type not in _FLOATING:
            return lambda columns: _is_in(columns[0], [value[0] for value in known])
        return lambda columns: reduce(SparkColumn.__or__, [_are_equal(columns, value) for value in known])


def _cast(value: Any, key: JoinKey) -> SparkColumn:
    return versions.try_cast(F.lit(value), key.type)


def _is_made_of(key: JoinKey, name: str) -> bool:
    return key.columns[0].lower() == name.lower()


def _are_known(
    spark: SparkSession, values: Sequence[Sequence[Any]], casts: Sequence[Sequence[SparkColumn]]
) -> Sequence[bool]:
    """Tells whether each value is one of the keys' types: constants, which Spark's optimizer folds, so that nothing
    runs."""
    flags = [
        reduce(
            SparkColumn.__and__, [F.lit(part is None) | cast.isNotNull() for part, cast in zip(value, row, strict=True)]
        )
        for value, row in zip(values, casts, strict=True)
    ]
    return folded_constants(spark, flags)


def _is_in(column: SparkColumn, constants: Collection[SparkColumn | None]) -> SparkColumn:
    """True or false, and in words that prune directories and row groups."""
    some = [constant for constant in constants if constant is not None]
    found = column.isNotNull() & column.isin(*some)  # in no values: false
    return found | column.isNull() if len(some) < len(constants) else found


def _are_equal(columns: Sequence[SparkColumn], constants: Sequence[SparkColumn | None]) -> SparkColumn:
    pairs = zip(columns, constants, strict=True)
    return reduce(SparkColumn.__and__, [c.isNull() if column is None else c.eqNullSafe(column) for c, column in pairs])


def given(columns: Sequence[str], values: Iterable[Any], types: Mapping[str, str]) -> HeavyValues:
    """Heavy values as a user gives them: one column's, or tuples of several columns'. `types`: as `recorded` has them.

    Raises InvalidStatementError for a tuple of another length.
    """
    tuples = [tuple(value) if isinstance(value, list | tuple) else (value,) for value in values]
    if uneven := [value for value in tuples if len(value) != len(columns)]:
        raise InvalidStatementError(f"{uneven[0]} is no value of {', '.join(columns)}: it needs {len(columns)} parts")
    kinds = [types.get(name.lower(), "") for name in columns]
    return HeavyValues(tuple(columns), tuple(tuple(map(_padded, value, kinds)) for value in tuples))


def recorded(metastore: MetastoreClient, table: Table) -> HeavyValues | None:
    """Returns what the metastore has of a table: its own list, and where loads pick theirs, those of its partitions."""
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
    """Spark keeps char(n) as a padded string."""
    char = _CHAR.fullmatch(type_)
    return value.ljust(int(char[1])) if char and isinstance(value, str) else value
