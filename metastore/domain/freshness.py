"""Whether a table whose partitions are days gets them as usual."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from metastore.domain.partition_calendar import day_of

_LEAST: Final = 4  # days from which an interval is usual
_STOPPED: Final = 30  # days after which a table counts as finished, unless its interval is long
_STOPPED_INTERVALS: Final = 10
_COVERED: Final = 2 / 3  # share of days that exist from which an absent day is missing


class Freshness(NamedTuple):
    """The newest day of a table, the usual number of days between two, and what is wrong.

    `late`: days since the newest one, if they are more than usual. `missing`: absent days between others.
    """

    newest: date
    interval: int
    late: int | None
    missing: list[date]


def freshness(values: Iterable[str], today: date) -> Freshness | None:
    """Judges a table by its newest values of a date key. Returns None if they are too few, or no days.

    A table is late after more than twice its interval and one day, as a partition is in the calendar. One that has had
    no partition for much longer is finished.
    """
    days = sorted({day for value in values if (day := day_of(value)) is not None})
    if len(days) < _LEAST:
        return None
    interval = max(1, round(median((after - before).days for before, after in pairwise(days))))
    newest = days[-1]
    since = (today - newest).days
    is_late = 2 * interval + 1 < since <= max(_STOPPED, _STOPPED_INTERVALS * interval)
    span = (newest - days[0]).days + 1
    missing = []
    if interval == 1 and len(days) >= _COVERED * span:
        missing = [each for each in (days[0] + timedelta(number) for number in range(span)) if each not in set(days)]
    return Freshness(newest, interval, since if is_late else None, missing)
