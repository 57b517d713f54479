"""The timer that ends what was not renewed in time; of all workers, one at a time does the work."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.timeouts import TimeoutService

_SHARE: Final = 10  # runs in one time-out
_SHORTEST: Final = 1.0  # seconds between two runs


def expiry(service: TimeoutService, timeout: timedelta) -> Timer:
    """Runs some times within each time-out."""
    return Timer("ending what is late", service.run, max(timeout.total_seconds() / _SHARE, _SHORTEST))
