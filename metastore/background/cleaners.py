"""The timer that removes what is too old from the notification log; of all workers, one at a time does the work."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.notifications import NotificationService

_SHARE: Final = 10  # runs in one time to live
_SHORTEST: Final = 1.0  # seconds between two runs
_LONGEST: Final = 3600.0


def cleaner(service: NotificationService, time_to_live: float) -> Timer:
    """`time_to_live` of events, seconds."""
    return Timer("cleaning the notification log", service.clean, min(max(time_to_live / _SHARE, _SHORTEST), _LONGEST))
