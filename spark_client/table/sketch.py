"""Counting heavy values in one pass with bounded memory.

Each task counts in a sketch of fixed size (Misra and Gries' algorithm, as DataSketches and Spark's `approx_top_k` have
it), and sketches are merged: memory depends on the share that is looked for, not on the number of values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import StructField

from spark_client.errors import InvalidStatementError
from spark_client.jvm import versions
from spark_client.jvm.sql_text import quote
from spark_client.table.skew_keys import key_of, values_of

DEFAULT_SHARE, SMALLEST_SHARE = 0.01, 0.0001
# A sketch of n places counts at most 3.5 / n of all rows too many (DataSketches' ItemsSketch), and surely holds what
# has twice that. A hundred places for each value that can have the share keep it below 3 % of the share.
_PLACES, _ERROR, _LOAD = 100, 3.5, 0.75


@dataclass(frozen=True, slots=True)
class Sketch:
    """Looks for the values that have at least `share` of the rows, and keeps the heaviest `most`."""

    share: float
    most: int

    def __post_init__(self) -> None:
        if not SMALLEST_SHARE <= self.share <= 1:
            raise InvalidStatementError(f"a share of {self.share:g}: it is a part of all rows, {SMALLEST_SHARE} to 1")

    def count(
        self, rows: DataFrame, groups: Sequence[SparkColumn], keys: Sequence[Sequence[StructField]]
    ) -> Iterator[tuple[tuple[str, ...], int, list[list[tuple[str, int]]]]]:
        """Yields each group, its rows, and for each of `keys`, columns taken together, (key, rows), heaviest first.

        `groups`: texts, with names of their own. The rows are read once; before Spark 4.1, whose sketch this is, keys
        are counted one by one, all of their values.
        """
        if not versions.COUNTS_TOP_K:
            yield from self._count_all(rows, groups, keys)
            return
        tops = [F.call_function("approx_top_k", key_of(key), F.lit(self.most), F.lit(self._places)) for key in keys]
        columns = [top.alias(f"top_{number}") for number, top in enumerate(tops)]
        for row in rows.groupBy(*groups).agg(F.count(F.lit(1)), *columns).collect():
            yield tuple(row[: len(groups)]), row[len(groups)], [list(top or ()) for top in row[len(groups) + 1 :]]

    def _count_all(
        self, rows: DataFrame, groups: Sequence[SparkColumn], keys: Sequence[Sequence[StructField]]
    ) -> Iterator[tuple[tuple[str, ...], int, list[list[tuple[str, int]]]]]:
        totals = rows.groupBy(*groups).agg(F.count(F.lit(1)).alias("total"))
        names = totals.columns[:-1]
        found: dict[tuple[str, ...], tuple[int, list[list[tuple[str, int]]]]] = {
            tuple(row[:-1]): (row[-1], [[] for _ in keys]) for row in totals.collect()
        }
        enough = rows.sparkSession.createDataFrame(
            [(*group, self.share * total) for group, (total, _) in found.items()],
            ", ".join([*(f"{quote(name)} string" for name in names), "enough double"]),
        )
        for number, key in enumerate(keys):
            counted = rows.groupBy(*groups, key_of(key).alias("item")).agg(F.count(F.lit(1)).alias("total"))
            joined = counted.join(F.broadcast(enough), names) if names else counted.crossJoin(F.broadcast(enough))
            heavy = joined.where("total >= enough").select(*map(quote, names), "item", "total")
            for *group, item, total in heavy.orderBy(F.desc("total"), "item").collect():
                top = found[tuple(group)][1][number]
                if len(top) < self.most:
                    top.append((item, total))
        yield from ((group, total, tops) for group, (total, tops) in found.items())

    def heavy(
        self, counted: Iterable[tuple[str, int]], fields: Sequence[StructField], rows: int
    ) -> tuple[tuple[tuple[str, ...], int], ...]:
        """Returns the values, and the rows of each, of an aggregate over so many rows that have the share."""
        found = ((values_of(key, fields), count) for key, count in counted if count >= self.share * rows)
        return tuple((values, count) for values, count in found if values is not None)

    def error(self, rows: int) -> int:
        """Tells how many rows too many may be counted of so many."""
        if not versions.COUNTS_TOP_K:
            return 0
        places = 1 << math.ceil(math.log2(self._places / _LOAD))
        return math.floor(_ERROR * rows / places)

    @property
    def _places(self) -> int:
        return max(self.most, math.ceil(_PLACES / self.share))
