"""The timers that remove unreferenced files and descriptors, and old notification events."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.cleaning import CleaningService
from metastore.services.entry.descriptor_cleaning import DescriptorCleaningService
from metastore.services.entry.notifications import NotificationService

_RUNS: Final = 10  # runs within the time for which events are kept
_MIN_INTERVAL: Final = 1.0  # seconds between two runs
_MAX_INTERVAL: Final = 3600.0


def warehouse_cleaning(service: CleaningService, interval: float) -> Timer:
    """Returns the timer that removes unreferenced files every `interval` seconds. Concurrent workers share the work."""
    return Timer("warehouse cleaning", service.run, interval)


def event_cleaning(service: NotificationService, retention: float) -> Timer:
    """Returns the timer that removes events older than `retention` seconds. One worker at a time does the work."""
    interval = min(max(retention / _RUNS, _MIN_INTERVAL), _MAX_INTERVAL)
    return Timer("notification log cleaning", service.clean, interval)


def descriptor_cleaning(service: DescriptorCleaningService, interval: float) -> Timer:
    """Returns the timer that removes descriptors without a table or partition. One worker at a time does the work."""
    return Timer("descriptor cleaning", service.run, interval)
