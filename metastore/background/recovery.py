"""The timers that keep file operations that last, go on with those that nobody is at, and end the time to take back."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.undrop import UndropService
from metastore.services.files.journal import Journal

_INTERVAL: Final = 10.0  # seconds
_RENEWAL: Final = 20.0  # a third of a lease


def journal_recovery(journal: Journal) -> Timer:
    """Workers that do so at once share the work."""
    return Timer("going on with file operations", journal.recover, _INTERVAL)


def lease_renewal(journal: Journal) -> Timer:
    """Each worker renews what it is at itself."""
    return Timer("keeping file operations", journal.renew, _RENEWAL)


def drop_purging(undrop: UndropService) -> Timer:
    """Workers that do so at once share the work; files go with the next recovery."""
    return Timer("purging what was dropped", undrop.purge, _INTERVAL)
