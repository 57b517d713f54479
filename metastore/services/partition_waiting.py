"""Waiting for partitions. A commit at any server wakes the waiting calls, so that they need not poll."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from metastore.context import caller
from metastore.domain.names import TableName
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.lookup import get_table_ref
from metastore.services.rules.partition_conditions import by_values
from metastore.storage.postgres.listener import Listener, PollingListener
from metastore.storage.unit_of_work import Store

LONGEST: Final = 10.0
"""Longest wait of a call, in seconds: less than the timeout of clients, and than a server's time to drain."""


class PartitionWaitingService:
    """Rules of waiting. A waiting call occupies a thread, so their number is limited. One user cannot take all places:
    a quarter is left for the others."""

    def __init__(self, store: Store, announcements: Listener | PollingListener, *, most: int) -> None:
        """`announcements`: of commits of partitions. `most`: how many calls may wait at a time."""
        self._store = store
        self._announcements = announcements
        self._most, self._most_of_user = most, most - most // 4
        self._waiting: Counter[str | None] = Counter()  # by user
        self._lock = threading.Lock()

    def wait(self, table: TableName, values: Sequence[str], *, dependencies: bool, seconds: float) -> bool:
        """Returns true as soon as a partition exists whose first values equal these in the types of their columns.

        Returns false after `seconds`, at most LONGEST, or at once if too many calls wait already. `dependencies`: also
        waits for all partitions that it depends on, directly or not. Raises NotFoundError, InvalidInputError.
        """
        if not values or any(not value for value in values):
            raise InvalidInputError("Waiting requires at least the first value of the partition")
        deadline = time.monotonic() + max(0.0, min(seconds, LONGEST))
        if self._exists(table, values, dependencies=dependencies):
            return True
        with self._place() as is_free:
            while is_free and (left := deadline - time.monotonic()) > 0:
                seen = self._announcements.count(left)
                # While two tables swap their names, the table does not exist for a moment.
                with contextlib.suppress(NotFoundError):
                    if self._exists(table, values, dependencies=dependencies):
                        return True
                self._announcements.wait(seen, deadline - time.monotonic())
        return is_free and self._exists(table, values, dependencies=dependencies)

    @contextlib.contextmanager
    def _place(self) -> Iterator[bool]:
        """Takes a place for the call. Yields whether one was left for its user."""
        current = caller.get()
        user = current.user if current else None
        with self._lock:
            is_free = self._waiting.total() < self._most and self._waiting[user] < self._most_of_user
            self._waiting[user] += is_free
        try:
            yield is_free
        finally:
            with self._lock:
                self._waiting[user] -= is_free
                self._waiting += Counter()  # forgets users without waiting calls

    def _exists(self, table: TableName, values: Sequence[str], *, dependencies: bool) -> bool:
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            wanted = by_values(reference, values, spelled=False)
            ids = work.partitions.ids(reference, wanted, None if dependencies else 1)
            seen: set[int] = set()
            level = ids
            while dependencies and level:
                seen |= set(level)
                edges = work.dependencies.edges(level)
                if any(not edge.total for edge in edges):
                    return False
                level = sorted({number for edge in edges for number in edge.base_partition_ids} - seen)
        return bool(ids)
