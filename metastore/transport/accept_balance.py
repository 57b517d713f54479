"""How many connections each worker has, in memory that they share: who has more lets the others accept first."""

from __future__ import annotations

import mmap
import time
from typing import Final

_NOT_THERE: Final = -1
_SLACK: Final = 1  # connections, and one more of each _MANY, that a worker may have more than another
_MANY: Final = 50
_PATIENCE: Final = 0.05  # seconds that the others get to accept
_PAUSE: Final = 0.0005
_TRUST: Final = 1.0  # seconds that nobody is waited for, after it was in vain


class ConnectionCounts:
    """To be made before the workers are forked."""

    def __init__(self, workers: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, workers * 8)).cast("q")
        for worker in range(workers):
            self.gone(worker)

    def gone(self, worker: int) -> None:
        """Forgets a worker that has died: nobody waits for it."""
        self._counts[worker] = _NOT_THERE

    def of(self, worker: int) -> AcceptTurn:
        """Returns the share of one worker, for its process alone."""
        return AcceptTurn(self._counts, worker)


class AcceptTurn:
    """What one worker has of all connections."""

    def __init__(self, counts: memoryview, worker: int) -> None:
        self._counts = counts
        self._worker = worker
        self._in_vain = float("-inf")

    def tell(self, connections: int) -> None:
        """This worker has so many."""
        self._counts[self._worker] = connections

    def wait(self, connections: int) -> None:
        """Returns when it is this worker's turn to accept a connection beside those that it has."""
        self.tell(connections)
        deadline = time.monotonic() + _PATIENCE
        while self._has_most(connections) and time.monotonic() > self._in_vain + _TRUST:
            if time.monotonic() > deadline:
                self._in_vain = time.monotonic()
            time.sleep(_PAUSE)

    def _has_most(self, connections: int) -> bool:
        others = [count for worker, count in enumerate(self._counts) if worker != self._worker and count >= 0]
        return bool(others) and connections > min(others) + _SLACK + connections // _MANY
