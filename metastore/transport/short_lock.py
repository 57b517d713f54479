"""A lock for the short critical sections of many threads."""

from __future__ import annotations

import threading
from time import sleep
from typing import Final

_PAUSE: Final = 0.0001  # seconds


class ShortLock:
    """A lock that no thread holds while it waits for the interpreter (GIL). `threading.Condition` can use it.

    A thread that waits for a `threading.Lock` gets the lock first, and the interpreter later. If other threads compute,
    that takes milliseconds, and the next thread in the queue waits for as long again: the last of many waits for
    seconds. Here, a thread takes the lock while it has the interpreter. A critical section is shorter than its turn.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def acquire(self, blocking: bool = True) -> bool:
        """Takes the lock. Returns False if it is held and `blocking` is not set."""
        while not self._lock.acquire(blocking=False):
            if not blocking:
                return False
            sleep(_PAUSE)
        return True

    def release(self) -> None:
        """Releases the lock."""
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
