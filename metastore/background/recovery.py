"""The timer that goes on with file operations that nobody is at, because who was at them has died."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.files.journal import Journal

_INTERVAL: Final = 10.0  # seconds


def recovery(journal: Journal) -> Timer:
    """Workers that do so at once share the work."""
    return Timer("going on with file operations", journal.recover, _INTERVAL)
