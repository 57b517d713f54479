"""Short outages of PostgreSQL: calls wait for the end of a fail-over or of a restart instead of failing."""

from __future__ import annotations

import time
from typing import Final

PATIENCE: Final = 10.0
"""Seconds of an outage for which calls wait. Later calls fail at once, and so do background jobs."""
_PAUSE: Final = 0.1  # seconds between two attempts


class Outage:
    """Limits how long callers wait for an unusable database, counted from the first failure.

    A caller may wait only if the database has executed nothing for it.
    """

    def __init__(self, patience: float) -> None:
        """`patience`: seconds; 0 to never wait."""
        self._patience = patience
        self._began: float | None = None

    def waited(self) -> bool:
        """Records a failure and sleeps a moment. Returns False, without sleeping, if the outage is too long."""
        now = time.monotonic()
        began = self._began  # read once: another thread may call `ended` at any time
        if began is None:
            began = self._began = now
        if now - began >= self._patience:
            return False
        time.sleep(_PAUSE)
        return True

    def ended(self) -> None:
        """Records that the database can be used."""
        self._began = None
