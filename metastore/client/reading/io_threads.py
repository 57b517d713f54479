"""Arrow's threads for input and output, of which a read of a dataset occupies one while it waits for others.

Arrow runs the generator of a dataset's batches on one of them. The generator reads files with Arrow, which needs such
threads, too: as many reads at once as there are threads would wait for each other for ever.

Arrow reads ahead, also for a reader that has all the rows it wants. Python kills threads that need it after it has
begun to exit; Arrow then aborts the process, or waits for them for ever. The exit therefore ends all reads first.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from typing import Final, TypeVar

import pyarrow as pa

T = TypeVar("T")
_LOCK: Final = Lock()
_QUIET: Final = 1.0  # seconds without a step, after which a read does not continue
_LAST: Final = 0.1  # seconds


@contextmanager
def one_more_io_thread() -> Iterator[None]:
    """Gives Arrow one more thread for input and output, in exchange for the one on which the caller may be running."""
    _add(1)
    try:
        yield
    finally:
        _add(-1)


def _add(count: int) -> None:
    with _LOCK:
        pa.set_io_thread_count(pa.io_thread_count() + count)


class _Reads:
    """The reads that Arrow's threads may continue, or let go of, at any time."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._alive = self._running = self._steps = 0
        self._ended = False

    def begin(self) -> None:
        with self._changed:
            self._alive += 1

    def finish(self) -> None:
        with self._changed:
            self._alive -= 1
            self._changed.notify_all()

    @contextmanager
    def step(self) -> Iterator[None]:
        with self._changed:
            self._steps += 1
            if self._ended:
                raise RuntimeError("this process is exiting: no more rows can be read")
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Rejects further steps, and waits until no thread makes one: all reads are gone, or none tries for a while,
        because Arrow has read ahead far enough.
        """
        with self._changed:
            self._ended = True
            is_used = self._alive > 0
            steps = -1
            while self._running or (self._alive and steps != self._steps):
                steps = self._steps
                self._changed.wait_for(lambda: not self._alive, _QUIET)
        if is_used:
            time.sleep(_LAST)  # the threads let go of what they have of Python


_READS: Final = _Reads()
atexit.register(_READS.end)


class UntilExit(Iterator[T]):
    """Items of a generator. Each step ends before Python exits; none begins afterwards.

    The generator is closed with this object, by whichever thread drops it last. The exit waits for that, too: closing
    takes a while, and a thread that needs Python again afterwards would abort the process.
    """

    def __init__(self, items: Generator[T, None, None]) -> None:
        """Makes no step."""
        self._items = items
        self._has_begun = False

    def __next__(self) -> T:
        if not self._has_begun:
            self._has_begun = True
            _READS.begin()
        with _READS.step():
            return next(self._items)

    def __del__(self) -> None:
        try:
            self._items.close()
            del self._items  # what the generator holds goes before the exit continues
        finally:
            if self._has_begun:
                _READS.finish()
