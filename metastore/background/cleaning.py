"""The timer that removes files to which nothing refers any more; of all workers, one at a time does the work."""

from __future__ import annotations

from metastore.background.timer import Timer
from metastore.services.cleaning import CleaningService


def cleaning(service: CleaningService, interval: float) -> Timer:
    """`interval` in seconds."""
    return Timer("cleaning the warehouse", service.run, interval)
