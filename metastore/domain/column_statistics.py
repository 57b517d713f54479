"""Column statistics: accuracy flags (Hive's StatsSetupConst), and aggregation over partitions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import Final

ACCURATE: Final = "COLUMN_STATS_ACCURATE"
"""Parameter of a table or partition with the accuracy of its statistics, as JSON."""

COUNTS: Final = ("numFiles", "numRows", "totalSize", "rawDataSize", "numFilesErasureCoded")
"""Hive's parameters with counts of files, rows and bytes."""

ANALYZED: Final = "spark.sql.statistics."
"""Prefix of the parameters that Spark's ANALYZE TABLE sets."""

NOT_UPDATED: Final = "DO_NOT_UPDATE_STATS"
"""Property of a client's context, and parameter of a table: the server does not count files."""

_GENERATED, _BY_TASK, _BY_USER = "STATS_GENERATED", "TASK", "USER"
_BASIC, _COLUMNS, _TRUE = "BASIC_STATS", "COLUMN_STATS", "true"

Number = int | Fraction | float
_VALUE = itemgetter(1)


def is_count(parameter: str) -> bool:
    """Returns whether a parameter is a statistic or the accuracy of statistics."""
    return parameter in (*COUNTS, ACCURATE) or parameter.startswith(ANALYZED)


def is_accurate(parameters: dict[str, str], column: str) -> bool:
    """Returns whether the statistics of the column cover all rows."""
    return column in _read(parameters)[1]


def with_accurate(parameters: dict[str, str], columns: Iterable[str]) -> dict[str, str]:
    """Returns the parameters with `columns` added to the accurate ones (StatsSetupConst.setColumnStatsState)."""
    basic, accurate = _read(parameters)
    more = accurate.union(columns)
    return parameters if more == accurate else parameters | {ACCURATE: _text(basic, more)}


def with_accurate_again(parameters: dict[str, str], columns: Iterable[str]) -> dict[str, str]:
    """Does the same as `with_accurate`, and writes the parameter again if it lists the columns in another way, such as
    with escapes.
    """
    again = set(columns)
    return with_accurate(without_accurate(parameters, again), again)


def without_accurate(parameters: dict[str, str], columns: Iterable[str] | None = None) -> dict[str, str]:
    """Returns the parameters with `columns` (None: all) removed from the accurate ones."""
    basic, accurate = _read(parameters)
    kept = set() if columns is None else accurate.difference(columns)
    return parameters if kept == accurate else parameters | {ACCURATE: _text(basic, kept)}


def updates_statistics(context: Mapping[str, str]) -> bool:
    """Returns whether statistics are updated: unless the client's context says DO_NOT_UPDATE_STATS."""
    return context.get(NOT_UPDATED) != _TRUE


def restated(parameters: Mapping[str, str], context: Mapping[str, str]) -> dict[str, str]:
    """Returns the parameters after the server has counted files (MetaStoreUtils.updateBasicState).

    The statistics are accurate if the client's `context` says that the task that wrote the rows has counted them.
    Otherwise nobody knows what the files hold, and no statistics are accurate.
    """
    if context.get(_GENERATED) != _BY_TASK:
        return {name: value for name, value in parameters.items() if name != ACCURATE}
    return {**parameters, ACCURATE: _text(basic=True, columns=_read(parameters)[1])}


def claims_rows(parameters: Mapping[str, str]) -> bool:
    """Returns whether the basic statistics, such as the number of rows, are marked as accurate."""
    return _read(parameters)[0]


def states_accuracy(context: Mapping[str, str]) -> bool:
    """Returns whether the client's context says who made the statistics of partitions."""
    return context.get(_GENERATED) in (_BY_TASK, _BY_USER)


def total(values: Sequence[int], partitions: int) -> int:
    """Returns the sum over `partitions` partitions, scaled up from the known `values` as in Hive's extrapolation."""
    return sum(values) * partitions // len(values) if len(values) > 1 else sum(values)


def greatest(points: Sequence[tuple[int, Number]], partitions: int) -> Number:
    """Returns the (estimated) maximum over `partitions` partitions. `points` are the known (position, value) pairs.

    If all partitions or only one are known, the result is their maximum. Otherwise Hive extrapolates linearly: it draws
    a line through the smallest and the greatest value, and takes its value at the end to which it rises.
    """
    high_at, high = max(points, key=_VALUE)
    if len(points) in (1, partitions):
        return high
    low_at, low = min(points, key=_VALUE)
    if low_at == high_at:
        return high
    steps = partitions - low_at if low_at < high_at else low_at
    rise = (high - low) * steps
    return low + (rise if isinstance(rise, float) else Fraction(rise)) / abs(high_at - low_at)


def least(points: Sequence[tuple[int, Number]], partitions: int) -> Number:
    """Returns the (estimated) minimum. See `greatest`."""
    return -greatest([(position, -value) for position, value in points], partitions)


def _read(parameters: Mapping[str, str]) -> tuple[bool, set[str]]:
    """Returns whether the basic statistics are accurate, and the columns with accurate statistics.

    Old clients wrote a plain true or false instead of JSON.
    """
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
