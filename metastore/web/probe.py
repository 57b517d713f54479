"""Reads the gauges of the database for HTTP requests, so that a silent database blocks no request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from metastore.monitoring.gauges import Gauges

_MAX_AGE: Final = 5.0  # seconds for which a successful reading is reused
_TIMEOUT: Final = 2.0  # seconds that a request waits for the database


class ProbeError(Exception):
    """The database does not answer, or its schema has another version. The text is one line."""


class OverloadError(ProbeError):
    """The probe has got no connection or not enough time. This says nothing about the calls of clients."""


class DatabaseState(NamedTuple):
    """The last gauges, and the reason why the database cannot be used ("" if it can)."""

    gauges: Gauges
    error: str = ""
    overload: bool = False  # the error may concern the probe only


class DatabaseProbe:
    """Reads the gauges in a thread, one reading at a time. Use it from one event loop only."""

    def __init__(self, read: Callable[[], Gauges], answered_at: Callable[[], float] = lambda: 0.0) -> None:
        """`read` queries the database. It raises ProbeError.

        `answered_at` returns the monotonic time at which the database has last answered a call. An overloaded database
        keeps the probe waiting while it answers calls: such a server must stay in its load balancer.
        """
        self._read, self._answered_at = read, answered_at
        self._executor = ThreadPoolExecutor(1, "database probe")
        self._reading: asyncio.Future[DatabaseState] | None = None
        self._state = DatabaseState({})
        self._read_at = float("-inf")

    async def state(self) -> DatabaseState:
        """Returns a state that is at most 5 seconds old. An error is never reused: the next request reads again.

        Waits at most 2 seconds. A reading that takes longer continues, and later requests wait for the same one.
        """
        state = await self._current()
        if state.overload and time.monotonic() - self._answered_at() <= _TIMEOUT:
            return DatabaseState(state.gauges)
        return state

    async def _current(self) -> DatabaseState:
        if not self._state.error and time.monotonic() - self._read_at <= _MAX_AGE:
            return self._state
        if self._reading is None:
            self._reading = asyncio.get_running_loop().run_in_executor(self._executor, self._query)
        reading = self._reading
        done, _ = await asyncio.wait({reading}, timeout=_TIMEOUT)
        if not done:
            return DatabaseState({}, f"the database has not answered for {_TIMEOUT:g} s", overload=True)
        if self._reading is reading:
            self._reading, self._state, self._read_at = None, reading.result(), time.monotonic()
        return self._state

    def _query(self) -> DatabaseState:
        try:
            return DatabaseState(self._read())
        except ProbeError as error:
            return DatabaseState({}, str(error), isinstance(error, OverloadError))
