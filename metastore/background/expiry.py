"""The timer that ends transactions, locks and writes without a heartbeat."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.timeouts import TimeoutService

_RUNS: Final = 10  # runs within one timeout
_MIN_INTERVAL: Final = 1.0  # seconds between two runs


def expiry(service: TimeoutService, timeout: timedelta) -> Timer:
    """Returns the timer, which runs ten times within each timeout. One worker at a time does the work."""
    return Timer("expiry", service.run, max(timeout.total_seconds() / _RUNS, _MIN_INTERVAL))
