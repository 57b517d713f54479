"""The timers that remove what nobody needs any more: files and descriptors to which nothing refers, and
events that are too old.
"""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.cleaning import CleaningService
from metastore.services.entry.descriptor_cleaning import DescriptorCleaningService
from metastore.services.entry.notifications import NotificationService

_SHARE: Final = 10  # runs in one time to live
_SHORTEST: Final = 1.0  # seconds between two runs
_LONGEST: Final = 3600.0


def warehouse_cleaning(service: CleaningService, interval: float) -> Timer:
    """Makes the timer that cleans every `interval` seconds. Workers that do so at once share the work."""
    return Timer("cleaning the warehouse", service.run, interval)


def event_cleaning(service: NotificationService, time_to_live: float) -> Timer:
    """Makes the timer that removes events older than `time_to_live` seconds; one worker at a time does the work."""
    interval = min(max(time_to_live / _SHARE, _SHORTEST), _LONGEST)
    return Timer("cleaning the notification log", service.clean, interval)


def descriptor_cleaning(service: DescriptorCleaningService, interval: float) -> Timer:
    """Makes the timer that removes what no table and no partition is described by; one worker at a time does it."""
    return Timer("cleaning descriptors", service.run, interval)
