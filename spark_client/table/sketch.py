"""Counts heavy values in one pass with bounded memory.

Each task counts in a sketch of fixed size, and the sketches are merged: the algorithm of Misra and Gries, as in
DataSketches and Spark's `approx_top_k`. The memory depends on the share that is searched for, not on the number of
values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import StructField

from spark_client.errors import InvalidStatementError
from spark_client.jvm import versions
from spark_client.jvm.sql_text import quote
from spark_client.table.properties import SMALLEST_SHARE
from spark_client.table.skew_keys import key_of, values_of

# A sketch with n entries counts at most 3.5 / n of all rows too many, and certainly contains every value with twice
# that share (DataSketches' ItemsSketch). 100 entries for each value that can have the share keep the error below 3 % of
# it.
_ENTRIES, _ERROR, _LOAD = 100, 3.5, 0.75


@dataclass(frozen=True, slots=True)
class Sketch:
    """Finds the values that have at least `share` of the rows, and keeps at most the `most` heaviest of them."""

    share: float
    most: int

    def __post_init__(self) -> None:
        if not SMALLEST_SHARE <= self.share <= 1:
            raise InvalidStatementError(f"the share is {self.share:g}; it must be from {SMALLEST_SHARE} to 1")

    def count(
        self, rows: DataFrame, groups: Sequence[SparkColumn], keys: Sequence[Sequence[StructField]]
    ) -> Iterator[tuple[tuple[str, ...], int, list[list[tuple[str, int]]]]]:
        """Yields, for each group, its values, its number of rows, and for each of `keys` its heaviest (key, rows)
        pairs.

        Args:
            rows: The rows to count.
            groups: Named text columns to group by.
            keys: Lists of columns. The columns of a list are counted in combination.

        The rows are read once with Spark 4.1 or newer, which has `approx_top_k`. Older Sparks count all values of one
        key after the other.
        """
        if not versions.COUNTS_TOP_K:
            yield from self._count_all(rows, groups, keys)
            return
        tops = [F.call_function("approx_top_k", key_of(key), F.lit(self.most), F.lit(self._entries)) for key in keys]
        columns = [top.alias(f"top_{number}") for number, top in enumerate(tops)]
        for row in rows.groupBy(*groups).agg(F.count(F.lit(1)), *columns).collect():
            yield tuple(row[: len(groups)]), row[len(groups)], [list(top or ()) for top in row[len(groups) + 1 :]]

    def _count_all(
        self, rows: DataFrame, groups: Sequence[SparkColumn], keys: Sequence[Sequence[StructField]]
    ) -> Iterator[tuple[tuple[str, ...], int, list[list[tuple[str, int]]]]]:
        totals = rows.groupBy(*groups).agg(F.count(F.lit(1)).alias("total"))
        names = totals.columns[:-1]
        results: dict[tuple[str, ...], tuple[int, list[list[tuple[str, int]]]]] = {
            tuple(row[:-1]): (row[-1], [[] for _ in keys]) for row in totals.collect()
        }
        thresholds = rows.sparkSession.createDataFrame(
            [(*group, self.share * total) for group, (total, _) in results.items()],
            ", ".join([*(f"{quote(name)} string" for name in names), "threshold double"]),
        )
        for number, key in enumerate(keys):
            counted = rows.groupBy(*groups, key_of(key).alias("item")).agg(F.count(F.lit(1)).alias("total"))
            joined = (
                counted.join(F.broadcast(thresholds), names) if names else counted.crossJoin(F.broadcast(thresholds))
            )
            heavy = joined.where("total >= threshold").select(*map(quote, names), "item", "total")
            for *group, item, total in heavy.orderBy(F.desc("total"), "item").collect():
                top = results[tuple(group)][1][number]
                if len(top) < self.most:
                    top.append((item, total))
        yield from ((group, total, tops) for group, (total, tops) in results.items())

    def heavy(
        self, counted: Iterable[tuple[str, int]], fields: Sequence[StructField], rows: int
    ) -> tuple[tuple[tuple[str, ...], int], ...]:
        """Returns the values whose count is at least the share of `rows`, and their counts."""
        candidates = ((values_of(key, fields), count) for key, count in counted if count >= self.share * rows)
        return tuple((values, count) for values, count in candidates if values is not None)

    def error(self, rows: int) -> int:
        """Returns the largest number of rows by which a count of so many rows can be too high."""
        if not versions.COUNTS_TOP_K:
            return 0
        entries = 1 << math.ceil(math.log2(self._entries / _LOAD))
        return math.floor(_ERROR * rows / entries)

    @property
    def _entries(self) -> int:
        return max(self.most, math.ceil(_ENTRIES / self.share))
