"""Calls that wait for a thread or for memory: those of several addresses come in turn."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from metastore.transport.connection import Connection


class Address:
    """What one address has open. Guarded by the worker pool's lock."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.connections = 0
        self.calls = 0  # that threads work on
        self.held = 0  # bytes of its messages and replies, when they were last looked at
        self.reserved = 0  # bytes that its calls in flight are likely to take


class FairQueue:
    """Connections with a call that waits, by address; of each address the oldest first."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Address, deque[tuple[float, Connection]]] = OrderedDict()
        self._taken: list[float] = []

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def put(self, address: Address, connection: Connection) -> None:
        self._waiting.setdefault(address, deque()).append((time.monotonic(), connection))

    def take(self, may_run: Callable[[Address, Connection], bool]) -> tuple[Address, Connection] | None:
        """Returns the next that may run; its address comes last then. None: none may."""
        for address, calls in self._waiting.items():
            if may_run(address, calls[0][1]):
                since, connection = calls.popleft()
                self._taken.append(time.monotonic() - since)
                self._waiting.move_to_end(address)
                if not calls:
                    del self._waiting[address]
                return address, connection
        return None

    def waited(self) -> list[float]:
        """Returns how long those have waited that were taken since the last time, each."""
        taken, self._taken = self._taken, []
        return taken

    def take_late(self, before: float) -> Iterator[Connection]:
        """Takes those that have waited since then or longer."""
        for address, calls in list(self._waiting.items()):
            while calls and calls[0][0] <= before:
                since, connection = calls.popleft()
                self._taken.append(time.monotonic() - since)
                yield connection
            if not calls:
                del self._waiting[address]
