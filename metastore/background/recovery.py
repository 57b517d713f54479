"""The timers that go on with file operations that nobody is at, and end the time in which drops can be taken back."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.undrop import UndropService
from metastore.services.files.journal import Journal

_INTERVAL: Final = 10.0  # seconds


def recovery(journal: Journal) -> Timer:
    """Workers that do so at once share the work."""
    return Timer("going on with file operations", journal.recover, _INTERVAL)


def purging(undrop: UndropService) -> Timer:
    """Workers that do so at once share the work; files go with the next recovery."""
    return Timer("purging what was dropped", undrop.purge, _INTERVAL)
