"""What services are made with: the database, and where they need it the time of day, or how long leases last."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from metastore.storage.unit_of_work import Store

Clock = Callable[[], int]
"""Seconds since 1970."""


class Service:
    """Has the database alone."""

    def __init__(self, store: Store) -> None:
        self._store = store


class ClockedService(Service):
    """Also has the time of day."""

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store)
        self._clock = clock


class LeasingService(Service):
    """Also has `timeout`: how long locks and transactions live without a heartbeat."""

    def __init__(self, store: Store, timeout: timedelta) -> None:
        super().__init__(store)
        self._timeout = timeout
