"""Balances connections between workers: in shared memory, each worker publishes its count and lets workers with fewer
connections accept."""

from __future__ import annotations

import mmap
import time
from typing import Final

_NO_WORKER: Final = -1
_SLACK: Final = 1  # connections that a worker may have more than another …
_SLACK_DIVISOR: Final = 50  # … and one more for each 50 that it has
_MAX_WAIT: Final = 0.05  # seconds that the others get to accept
_POLL_INTERVAL: Final = 0.0005
_NO_WAIT_AFTER_TIMEOUT: Final = 1.0  # seconds without waiting, after no other worker has accepted in time


class AcceptTurn:
    """One worker's place among those that accept connections."""

    def __init__(self, counts: memoryview, worker: int) -> None:
        self._counts = counts
        self._worker = worker
        self._timed_out = float("-inf")
        self.leave()

    def leave(self) -> None:
        """Removes the worker, so that the others do not wait for it."""
        self.publish(_NO_WORKER)

    def publish(self, connections: int) -> None:
        """Publishes the number of connections of this worker."""
        self._counts[self._worker] = connections

    def wait(self, connections: int) -> None:
        """Blocks until this worker may accept one more connection; at most 50 ms."""
        self.publish(connections)
        deadline = time.monotonic() + _MAX_WAIT
        while self._has_most(connections) and time.monotonic() > self._timed_out + _NO_WAIT_AFTER_TIMEOUT:
            if time.monotonic() > deadline:
                self._timed_out = time.monotonic()
            time.sleep(_POLL_INTERVAL)

    def _has_most(self, connections: int) -> bool:
        others = [count for worker, count in enumerate(self._counts) if worker != self._worker and count >= 0]
        return bool(others) and connections > min(others) + _SLACK + connections // _SLACK_DIVISOR


def accept_turns(workers: int) -> list[AcceptTurn]:
    """Returns the turns of the workers, which share memory. Call it before the workers are forked."""
    counts = memoryview(mmap.mmap(-1, workers * 8)).cast("q")
    return [AcceptTurn(counts, worker) for worker in range(workers)]
