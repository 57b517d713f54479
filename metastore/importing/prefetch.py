"""Reading ahead: a thread reads the next batches while the present one is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Full, Queue
from threading import Event, Thread
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_AHEAD: Final = 2
"""Maximum number of batches that are read ahead. It bounds the memory of the importer."""
_PAUSE: Final = 0.1  # seconds


class _End:
    """Ends the queue; `error` is what the reader raised."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Reader(Generic[T]):
    """The thread, and the queue that it fills."""

    def __init__(self, batches: Iterator[T]) -> None:
        self._batches = batches
        self._queue: Queue[T | _End] = Queue(_AHEAD)
        self._stopped = Event()
        self._thread = Thread(target=self._read, name="reading the source", daemon=True)
        self._thread.start()

    def items(self) -> Iterator[T]:
        while not isinstance(item := self._queue.get(), _End):
            yield item
        if item.error:
            raise item.error

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _read(self) -> None:
        error: BaseException | None = None
        try:
            for batch in self._batches:
                self._put(batch)
                if self._stopped.is_set():
                    break
        except BaseException as raised:  # noqa: BLE001 - raised again by the consumer
            error = raised
        self._put(_End(error))

    def _put(self, item: T | _End) -> None:
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=_PAUSE)
            except Full:
                continue
            return


@contextmanager
def prefetched(batches: Iterator[T]) -> Iterator[Iterator[T]]:
    """Yields an iterator over the same batches. The thread ends with the block."""
    reader = _Reader(batches)
    try:
        yield reader.items()
    finally:
        reader.stop()
