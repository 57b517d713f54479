"""Base classes of services: with the database, the clock, the lease timeout, and the journal of file operations."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from metastore.services.cascade.dropping import TableDropping
from metastore.services.cascade.retention import Retention
from metastore.services.files.change_loop import ChangeLoop
from metastore.services.files.journal import Journal
from metastore.storage.unit_of_work import Store

Clock = Callable[[], int]
"""Returns seconds since 1970."""


def current_time() -> int:
    """Returns seconds since 1970."""
    return int(time.time())


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


class FileService(Service):
    """A service that also needs the files."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal.store)
        self._journal = journal
        self._warehouse = journal.warehouse
        self._loop = ChangeLoop(journal)


class ChangingService(FileService):
    """A service that changes objects of the catalog and their files."""

    def __init__(self, journal: Journal, clock: Clock, retention: Retention) -> None:
        super().__init__(journal)
        self._clock = clock
        self._retention = retention
        self._dropping = TableDropping(journal.warehouse, retention)
