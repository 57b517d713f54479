"""Where watchers begin: the position up to which Airflow has stored what they fired, kept beyond the process."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from metastore.airflow.hub import Event, Hub, TableKey
from metastore.domain.event_stream import REWOUND

log = logging.getLogger(__name__)

GRACE: Final = 120.0
"""Seconds that a watcher goes back which another process had: Airflow notices after 30 seconds that one is gone."""
_LOOK: Final = 5.0  # seconds between two looks at the position
_QUIET: Final = 60.0  # seconds between two writes while nothing fires

Load = Callable[[], Awaitable[Any]]
Save = Callable[[dict[str, Any]], Awaitable[None]]


class Keeper:
    """The position of all watchers of a process: one value, because requests to Airflow's supervisor take their turn.

    It is behind all events that a watcher may have to fire again after a kill.
    """

    def __init__(
        self,
        hub: Hub,
        writer: str,
        newest: Callable[[], Awaitable[int]],
        load: Load,
        save: Save,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Reads nothing.

        Args:
            hub: the hub of the watchers.
            writer: the name of this host: another one goes back by `GRACE`.
            newest: returns the number of the newest event.
            load: returns what was saved, or None.
            save: keeps an object.
            clock: seconds.
        """
        self.hub, self._writer, self._newest, self._load, self._save = hub, writer, newest, load, save
        self._clock = clock
        self._lock = asyncio.Lock()
        self._samples: deque[tuple[float, int]] = deque()
        self._open: dict[Any, tuple[int, int]] = {}  # first and last event of a table that may not be stored
        self._failed: dict[TableKey, int] = {}
        self._begin: int | None = None
        self._is_starting = True
        self._latest = self._saved_at = clock()
        self._saved: int | None = None
        self._has_fired = False
        self._task: asyncio.Task[None] | None = None

    async def first(self, table: TableKey) -> int:
        """Returns the number of the event after which a watcher that starts now begins.

        Those that start with the process continue where the last one stopped. Later ones may come from another process.
        """
        async with self._lock:
            if self._begin is None:
                self._begin = await self._stored()
                self._latest = self._clock()
                self._samples.append((self._clock(), self._begin))
                self._task = asyncio.ensure_future(self._keep())
        now = self._clock()
        self._is_starting = self._is_starting and now - self._latest < GRACE
        self._latest = now
        begin = self._begin if self._is_starting else self._samples[0][1]
        return min(begin, self._failed.pop(table, begin))

    def note(self, producer: Any, event: Event) -> None:
        """Records that an event of a table is on its way to watchers."""
        number = event["id"]
        first, _ = self._open.get(producer, (number, number))
        if event["type"] == REWOUND:
            first, self._begin = number, min(number, self._begin or 0)
            self._samples = deque((moment, min(number, position)) for moment, position in self._samples)
        self._open[producer] = (first, number)

    def stored(self, producer: Any, last: int, failed: tuple[TableKey, int] | None) -> None:
        """Records that Airflow has stored everything up to an event. `failed`: what a watcher must be given again."""
        self._has_fired = True
        if failed:
            table, number = failed
            self._failed[table] = min(number - 1, self._failed.get(table, number - 1))
        if producer in self._open:
            if last >= self._open[producer][1]:
                del self._open[producer]
            else:
                self._open[producer] = (last + 1, self._open[producer][1])

    def closed(self, producer: Any) -> None:
        """Records that a table has no watchers any more."""
        self._open.pop(producer, None)

    @property
    def position(self) -> int | None:
        """The number up to which all is stored."""
        if self.hub.position is None:
            return None
        return min([self.hub.position, *(first - 1 for first, _ in self._open.values())])

    async def _stored(self) -> int:
        saved = await self._load()
        if isinstance(saved, dict) and {"position", "before", "writer"} <= saved.keys():
            return int(saved["position"] if saved["writer"] == self._writer else saved["before"])
        position = await self._newest()
        await self._write(position, position)
        return position

    async def _keep(self) -> None:
        while self.hub.error is None:  # watchers that start again have another hub
            await asyncio.sleep(_LOOK)
            await self.look()

    async def look(self) -> None:
        """Saves the position if it is time. Called every five seconds."""
        position, now = self.position, self._clock()
        if position is None:
            return
        self._samples.append((now, position))
        while len(self._samples) > 1 and now - self._samples[1][0] >= GRACE:
            self._samples.popleft()
        if position != self._saved and (self._has_fired or now - self._saved_at >= _QUIET):
            await self._write(position, min(position, self._samples[0][1]))

    async def _write(self, position: int, before: int) -> None:
        self._has_fired, self._saved_at = False, self._clock()
        try:
            await self._save({"position": position, "before": before, "writer": self._writer})
            self._saved = position
        except Exception as error:  # noqa: BLE001 - of Airflow: the next look tries again
            log.warning("The position of the watchers is not stored: %s", error)
