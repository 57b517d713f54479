"""Detects that the database has lost commits, after a fail-over to a standby that lagged (decision 023)."""

from __future__ import annotations

import threading
from mmap import mmap
from typing import Final

_SIZE: Final = 8  # bytes of a number


def shared_history(workers: int) -> mmap:
    """Returns memory for the history of all workers of a server. Create it before they are forked."""
    return mmap(-1, (1 + workers) * _SIZE)


class CommitHistory:
    """The greatest number of a transaction that has changed the catalog, of any worker of this server.

    PostgreSQL numbers transactions in ascending order, and acknowledges a commit that changes something when it is on
    the disk. If a later transaction gets a smaller number, its database lacks that commit.
    """

    def __init__(self, shared: mmap | None = None, worker: int = 0) -> None:
        """`shared`: of `shared_history`; None for a single worker."""
        self._numbers = memoryview(shared or shared_history(1)).cast("Q")  # losses, then the number of each worker
        self._own = 1 + (worker if shared else 0)
        self._lock = threading.Lock()

    @property
    def losses(self) -> int:
        """Number of losses of commits that this server has detected."""
        return self._numbers[0]

    def latest(self) -> int:
        """Returns a number below that of every later transaction."""
        return max(self._numbers[1:])

    def committed(self, number: int) -> None:
        """Records the number of a transaction that has changed data, after its commit."""
        with self._lock:
            self._numbers[self._own] = max(number, self._numbers[self._own])

    def lost(self) -> None:
        """Forgets all numbers. Call it when the loss is recorded in the database."""
        with self._lock:
            for worker in range(1, len(self._numbers)):
                self._numbers[worker] = 0
            self._numbers[0] += 1
