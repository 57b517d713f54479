"""Column statistics: which are accurate (Hive's StatsSetupConst), and what many partitions' ones amount to together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import Final

ACCURATE: Final = "COLUMN_STATS_ACCURATE"
"""The parameter of a table or partition that says what may be trusted, as JSON."""

COUNTS: Final = ("numFiles", "numRows", "totalSize", "rawDataSize", "numFilesErasureCoded")
"""Hive's parameters that count what a table or partition holds."""

ANALYZED: Final = "spark.sql.statistics."
"""What the parameters begin with that Spark's ANALYZE sets."""

_BASIC, _COLUMNS, _TRUE = "BASIC_STATS", "COLUMN_STATS", "true"

Number = int | Fraction | float
_VALUE = itemgetter(1)


def is_count(parameter: str) -> bool:
    """Tells whether a parameter says how much there is, or what may be trusted of that."""
    return parameter in (*COUNTS, ACCURATE) or parameter.startswith(ANALYZED)


def is_accurate(parameters: dict[str, str], column: str) -> bool:
    """Tells whether the column's statistics describe all of the data."""
    return column in _read(parameters)[1]


def with_accurate(parameters: dict[str, str], columns: Iterable[str]) -> dict[str, str]:
    """Returns the parameters, which now say so of these columns too (StatsSetupConst.setColumnStatsState)."""
    basic, accurate = _read(parameters)
    more = accurate.union(columns)
    return parameters if more == accurate else parameters | {ACCURATE: _text(basic, more)}


def without_accurate(parameters: dict[str, str], columns: Iterable[str] | None = None) -> dict[str, str]:
    """Returns the parameters, which no longer say so of these columns, or of any."""
    basic, accurate = _read(parameters)
    kept = set() if columns is None else accurate.difference(columns)
    return parameters if kept == accurate else parameters | {ACCURATE: _text(basic, kept)}


def total(values: Sequence[int], asked: int) -> int:
    """Returns the sum over `asked` partitions of which some are known: scaled up, as in Hive's extrapolation."""
    return sum(values) * asked // len(values) if len(values) > 1 else sum(values)


def greatest(points: Sequence[tuple[int, Number]], asked: int) -> Number:
    """Returns the greatest value over `asked` partitions, of which some are known by their position and value.

    When all are known, or one, the greatest of them. Otherwise Hive's linear extrapolation: a line through the smallest
    and the greatest, drawn to that border of the partitions to which it rises.
    """
    high_at, high = max(points, key=_VALUE)
    if len(points) in (1, asked):
        return high
    low_at, low = min(points, key=_VALUE)
    if low_at == high_at:
        return high
    steps = asked - low_at if low_at < high_at else low_at
    rise = (high - low) * steps
    return low + (rise if isinstance(rise, float) else Fraction(rise)) / abs(high_at - low_at)


def least(points: Sequence[tuple[int, Number]], asked: int) -> Number:
    """Returns what `greatest` does, downwards."""
    return -greatest([(position, -value) for position, value in points], asked)


def _read(parameters: dict[str, str]) -> tuple[bool, set[str]]:
    """Tells whether basic statistics are accurate, and of which columns. Old clients wrote a plain true or false."""
    text = parameters.get(ACCURATE) or "{}"
    try:
        state = json.loads(text)
    except (ValueError, RecursionError):
        state = None
    if not isinstance(state, dict):
        return text.lower() == _TRUE, set()
    columns = state.get(_COLUMNS)
    return str(state.get(_BASIC)).lower() == _TRUE, set(columns) if isinstance(columns, dict) else set()


def _text(basic: bool, columns: set[str]) -> str:
    state: dict[str, object] = {_BASIC: _TRUE} if basic else {}
    if columns:
        state[_COLUMNS] = dict.fromkeys(sorted(columns), _TRUE)
    return json.dumps(state, separators=(",", ":"), ensure_ascii=False)
