"""The calls of the last minutes and of this moment, from the memory that the server's processes share."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from metastore.console.activity import ActivityService
from metastore.monitoring.shared_metrics import SECONDS, MethodMetrics, SharedMetrics
from metastore.web.console.activity import with_waits
from metastore.web.console.parameters import Parameters
from metastore.web.console.site import Data, Page

_INTERVAL: Final = 30.0  # seconds between two snapshots
_SNAPSHOTS: Final = 31  # the oldest is 15 minutes old
_SLOWEST: Final = 20
_METHODS: Final = 60
_NO_SUMS: Final = frozenset(("pid", "answered_at"))  # numbers of one worker


class NowPages:
    """The page `/now`: calls and locks at this moment. A thread copies the counters every 30 seconds.

    `threshold`: seconds of a slow call.
    """

    def __init__(self, metrics: SharedMetrics, activity: ActivityService, threshold: float) -> None:
        self._metrics = metrics
        self._activity = activity
        self._threshold = threshold
        self._snapshots: deque[tuple[float, dict[str, MethodMetrics]]] = deque(maxlen=_SNAPSHOTS)
        self._remember()

    def start(self) -> None:
        """Starts the thread."""
        threading.Thread(target=self._run, name="call statistics", daemon=True).start()

    def pages(self) -> list[Page]:
        """Returns the pages."""
        return [Page("/now", "now.html", self.now, with_waits, is_live=True)]

    def now(self, _: Parameters) -> Data:
        """Calls by method and user, slow calls, running calls and waiting locks. Only administrators see all calls."""
        user, is_admin, locks = self._activity.waiting()
        began, before = self._snapshots[0]
        seconds = max(1.0, time.time() - began)
        workers = list(self._metrics.workers())
        slow = [call for worker in workers for call in worker.slow_calls()]
        running = [call for worker in workers for call in worker.calls_in_flight()]
        if not is_admin:
            slow, running = ([call for call in calls if user and call.get("user") == user] for calls in (slow, running))
        return {
            "seconds": seconds,
            "slow_milliseconds": 1000 * self._threshold,
            "methods": _methods(before, self._counters(), seconds),
            "users": _users(workers) if is_admin else [],
            "slow": sorted(slow, key=lambda call: -call["milliseconds"])[:_SLOWEST],
            "running": sorted(running, key=lambda call: -call["milliseconds"]),
            "gauges": _gauges(workers),
            "locks": locks,
            "all_users": is_admin,
        }

    def _counters(self) -> dict[str, MethodMetrics]:
        totals: dict[str, list[MethodMetrics]] = {}
        for worker in self._metrics.workers():
            for name, metrics in worker.methods():
                totals.setdefault(name, []).append(metrics)
        return {name: reduce(MethodMetrics.plus, each) for name, each in totals.items()}

    def _remember(self) -> None:
        self._snapshots.append((time.time(), self._counters()))

    def _run(self) -> None:
        while True:
            time.sleep(_INTERVAL)
            self._remember()


def _methods(before: dict[str, MethodMetrics], now: dict[str, MethodMetrics], seconds: float) -> list[dict[str, Any]]:
    """Returns the methods that were called since a snapshot, the most expensive first."""
    rows: list[dict[str, Any]] = []
    for name, metrics in now.items():
        old = before.get(name)
        histogram = _since(metrics.seconds, old.seconds if old else None)
        calls = sum(histogram)
        if not calls:
            continue
        spent = metrics.sums[0] - (old.sums[0] if old else 0.0)
        failed = sum(_since(metrics.outcomes, old.outcomes if old else None)[1:])
        p50, p99 = (_quantile(histogram, share) for share in (0.5, 0.99))
        rows.append(
            {
                "method": name,
                "calls": int(calls),
                "per_second": calls / seconds,
                "failed": int(failed),
                "p50": p50,
                "p99": p99,
                "seconds": spent,
            }
        )
    return sorted(rows, key=lambda row: -row["seconds"])[:_METHODS]


def _since(now: Sequence[float], before: Sequence[float] | None) -> list[float]:
    """Returns the difference of counters. A worker that was replaced may have begun again at zero."""
    return list(now) if before is None else [max(0.0, a - b) for a, b in zip(now, before, strict=True)]


def _quantile(histogram: Sequence[float], share: float) -> float | None:
    """Returns the upper bound in milliseconds of the bucket that has a quantile; None above the last bound."""
    wanted, count = share * sum(histogram), 0.0
    for number, bound in zip(histogram, SECONDS, strict=False):
        count += number
        if count >= wanted:
            return bound * 1000
    return None


def _users(workers: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns the calls of each user since the start of the server."""
    totals: dict[str, list[float]] = {}
    for worker in workers:
        for user, metrics in worker.users().items():
            row = totals.setdefault(user, [0.0, 0.0, 0.0])
            row[0] += sum(metrics.outcomes)
            row[1] += sum(metrics.outcomes[1:])
            row[2] += metrics.seconds
    rows: list[dict[str, Any]] = [
        {"user": user, "calls": int(n), "failed": int(bad), "seconds": spent}
        for user, (n, bad, spent) in totals.items()
    ]
    return sorted((row for row in rows if row["calls"]), key=lambda row: -row["seconds"])


def _gauges(workers: Sequence[Any]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for worker in workers:
        for name, value in worker.gauges().items():
            sums[name] = sums.get(name, 0.0) + value
    return {**{name: sums.get(name, 0.0) for name in sums.keys() - _NO_SUMS}, "workers": float(len(workers))}
