"""Base classes of services: with the database, and with the clock or the lease timeout."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from metastore.storage.unit_of_work import Store

Clock = Callable[[], int]
"""Returns seconds since 1970."""


class Service:
    """A service that needs only the database."""

    def __init__(self, store: Store) -> None:
        self._store = store


class ClockedService(Service):
    """A service that also needs the time."""

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store)
        self._clock = clock


class LeasingService(Service):
    """A service about leases. `timeout`: how long locks and transactions live without a heartbeat."""

    def __init__(self, store: Store, timeout: timedelta) -> None:
        super().__init__(store)
        self._timeout = timeout
