"""Counting heavy values in one pass with bounded memory.

Each task counts in a sketch of fixed size (Misra and Gries' algorithm, as DataSketches and Spark's `approx_top_k` have
it), and sketches are merged: memory depends on the share that is looked for, not on the number of values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import StructField

from spark_client.errors import InvalidStatementError
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

    def aggregate(self, fields: Sequence[StructField]) -> SparkColumn:
        """Counts the values of these columns: (key, rows), heaviest first."""
        return F.call_function("approx_top_k", key_of(fields), F.lit(self.most), F.lit(self._places))

    def heavy(
        self, counted: Iterable[tuple[str, int]], fields: Sequence[StructField], rows: int
    ) -> tuple[tuple[tuple[str, ...], int], ...]:
        """Returns the values, and the rows of each, of an aggregate over so many rows that have the share."""
        found = ((values_of(key, fields), count) for key, count in counted if count >= self.share * rows)
        return tuple((values, count) for values, count in found if values is not None)

    def error(self, rows: int) -> int:
        """How many rows too many may be counted of so many."""
        places = 1 << math.ceil(math.log2(self._places / _LOAD))
        return math.floor(_ERROR * rows / places)

    @property
    def _places(self) -> int:
        return max(self.most, math.ceil(_PLACES / self.share))
