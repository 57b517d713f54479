"""The timer that measures tables."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.sizes import SizeService

_INTERVAL: Final = 3.0  # seconds


def size_measurement(service: SizeService) -> Timer:
    """Returns the timer. It runs in every worker; the service lets one worker of all servers do the work."""
    return Timer("measurement of tables", service.measure, _INTERVAL)
