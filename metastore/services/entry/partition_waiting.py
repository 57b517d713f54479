"""Waiting for a partition: whoever commits one, at any server, wakes who waits; nobody looks again without a reason."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Final, Protocol

from metastore.domain.names import TableName
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.lookup import get_table_ref
from metastore.services.rules.partition_conditions import by_values
from metastore.storage.unit_of_work import Store

LONGEST: Final = 10.0
"""Seconds one call waits at most: less than clients wait for an answer, and than a server has to drain."""


class AnnouncementFeed(Protocol):
    """What tells of commits (`storage.postgres.listener`)."""

    def count(self, timeout: float) -> int: ...
    def wait(self, seen: int, timeout: float) -> None: ...


class PartitionWaitingService:
    """Who waits keeps a thread, so that only some may."""

    def __init__(self, store: Store, announced: AnnouncementFeed, *, most: int) -> None:
        """`most`: how many calls may wait at a time."""
        self._store = store
        self._announced = announced
        self._places = threading.BoundedSemaphore(most)

    def wait(self, table: TableName, values: Sequence[str], *, dependencies: bool, seconds: float) -> bool:
        """Returns true as soon as there is a partition whose first values are these; false after `seconds`, LONGEST at
        most, and at once where too many wait already.

        `dependencies`: and, for every partition that it depends on, directly or not, there is one as well.
        Raises NotFoundError, InvalidInputError.
        """
        if not values or any(not value for value in values):
            raise InvalidInputError("Name the partition to wait for: its first value at least")
        deadline = time.monotonic() + max(0.0, min(seconds, LONGEST))
        if self._is_there(table, values, dependencies=dependencies):
            return True
        if not self._places.acquire(blocking=False):
            return False
        try:
            while (left := deadline - time.monotonic()) > 0:
                seen = self._announced.count(left)
                # Where two tables swap their names, there is none for a moment.
                with contextlib.suppress(NotFoundError):
                    if self._is_there(table, values, dependencies=dependencies):
                        return True
                self._announced.wait(seen, deadline - time.monotonic())
        finally:
            self._places.release()
        return self._is_there(table, values, dependencies=dependencies)

    def _is_there(self, table: TableName, values: Sequence[str], *, dependencies: bool) -> bool:
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            there = work.partitions.ids(reference, by_values(reference, values), None if dependencies else 1)
            seen: set[int] = set()
            level = there
            while dependencies and level:
                seen |= set(level)
                edges = work.dependencies.edges(level, named=True)
                if any(not edge.total for edge in edges):
                    return False
                level = sorted({number for edge in edges for number in edge.base_partition_ids} - seen)
        return bool(there)
