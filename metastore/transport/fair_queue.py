"""Calls that wait for a thread or for memory: those of several addresses come in turn, the small beside the large."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from metastore.transport.address import Address
from metastore.transport.connection import Connection


class FairQueue:
    """Connections with a call that waits, by address, and whether the call is large: those wait for memory, behind
    which no small one is to stand. Of each the oldest first.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[tuple[Address, bool], deque[tuple[float, Connection]]] = OrderedDict()
        self._taken: list[float] = []

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def stands_before(self, *, large: bool) -> bool:
        """Tells whether a call waits that one which comes now must not overtake."""
        waiting = self._waiting  # mostly nobody is
        return bool(waiting) and any(large or not waits_for_memory for _, waits_for_memory in waiting)

    def put(self, address: Address, connection: Connection, *, large: bool) -> None:
        self._waiting.setdefault((address, large), deque()).append((time.monotonic(), connection))

    def take(self, may_run: Callable[[Address, Connection], bool]) -> tuple[Address, Connection] | None:
        """Returns the next that may run; its like come last then. None: none may."""
        for lane, calls in self._waiting.items():
            if may_run(lane[0], calls[0][1]):
                since, connection = calls.popleft()
                self._taken.append(time.monotonic() - since)
                self._waiting.move_to_end(lane)
                if not calls:
                    del self._waiting[lane]
                return lane[0], connection
        return None

    def waited(self) -> list[float]:
        """Returns how long those have waited that were taken since the last time, each."""
        taken, self._taken = self._taken, []
        return taken

    def take_late(self, before: float) -> Iterator[Connection]:
        """Takes those that have waited since then or longer."""
        for lane, calls in list(self._waiting.items()):
            while calls and calls[0][0] <= before:
                since, connection = calls.popleft()
                self._taken.append(time.monotonic() - since)
                yield connection
            if not calls:
                del self._waiting[lane]

    def take_left(self, before: float) -> list[Connection]:
        """Takes those of the large ones that have waited since then or longer, and whose clients are gone."""
        left = []
        for lane, calls in [waiting for waiting in self._waiting.items() if waiting[0][1]]:
            kept: deque[tuple[float, Connection]] = deque()
            for since, connection in calls:
                if since <= before and connection.is_left:
                    left.append(connection)
                else:
                    kept.append((since, connection))
            self._waiting[lane] = kept
            if not kept:
                del self._waiting[lane]
        return left
