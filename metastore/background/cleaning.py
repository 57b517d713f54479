"""The timer that removes files to which nothing refers any more. Workers that do so at once share the work."""

from __future__ import annotations

from metastore.background.timer import Timer
from metastore.services.entry.cleaning import CleaningService


def cleaning(service: CleaningService, interval: float) -> Timer:
    """`interval` in seconds."""
    return Timer("cleaning the warehouse", service.run, interval)
