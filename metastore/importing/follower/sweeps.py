"""The schedule of sweeps. A thread with its own connection reads them, so that batches do not wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import closing
from threading import Thread
from typing import Final

from metastore.domain.names import DatabaseName
from metastore.errors import UnavailableError
from metastore.importing.copier import read_as
from metastore.importing.follower.unlogged import Sweep, read_unlogged
from metastore.importing.sources.objects import Stage
from metastore.importing.sources.source import Source
from metastore.storage.importing.imports import ImportState

_PAUSE: Final = 60.0  # seconds between two sweeps, unless an event requests one
_SHARE: Final = 10  # a sweep takes at most this fraction (1/n) of the time, even if events constantly request one


class SweepReading:
    """Reads one sweep. `state`: of the import at the beginning; `names`: the databases."""

    def __init__(self, state: ImportState, names: Collection[DatabaseName], *, whole: bool) -> None:
        """`whole`: an event has requested the sweep, so all kinds are stored."""
        self.state = state
        self.names = names
        self.whole = whole
        self.begun = time.monotonic()
        self.result: Sweep | None = None
        self.error: Exception | None = None
        self._thread: Thread | None = None

    def read(self, source: Source) -> None:
        """Reads. Raises UnavailableError."""
        read_as(source, self.state)
        with source.snapshot():
            before = source.log()
            self.result = read_unlogged(source, self.names)
            if (source.log() is None) != (before is None):
                raise UnavailableError(f"{self.state.source} answered incompletely")

    def start(self, opened: Callable[[], Source]) -> None:
        """Reads in a thread. `opened`: connects to the source."""

        def run() -> None:
            try:
                with closing(opened()) as source:
                    self.read(source)
            except Exception as error:  # noqa: BLE001 - raised again by the follower
                self.error = error

        self._thread = Thread(target=run, name="sweep", daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return self._thread is None or not self._thread.is_alive()


class Sweeps:
    """The schedule. `wanted`: an event has requested a sweep; `stored`: digests of the last one, by kind."""

    def __init__(self) -> None:
        self.wanted = True
        self.stored: dict[Stage, int] = {}
        self._due = 0.0  # unless an event requests one
        self._rests_until = 0.0

    def reset(self) -> None:
        """Discards the digests: another process may have followed the source in the meantime."""
        self.wanted = True
        self.stored.clear()

    def is_due(self) -> bool:
        """Returns whether a sweep is due."""
        now = time.monotonic()
        return now >= self._due or (self.wanted and now >= self._rests_until)

    def begin(self, state: ImportState, names: Collection[DatabaseName]) -> SweepReading:
        """Returns a reading for the caller to make. Later events request another one."""
        reading = SweepReading(state, names, whole=self.wanted)
        self.wanted = False
        return reading

    def end(self, reading: SweepReading) -> None:
        """Schedules the next sweep."""
        self.stored = reading.result.digests if reading.result else {}
        now = time.monotonic()
        rest = _SHARE * (now - reading.begun)
        self._rests_until, self._due = now + rest, now + max(_PAUSE, rest)
