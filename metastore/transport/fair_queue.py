"""The queue of calls that wait for a thread or for memory, fair between client addresses."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from metastore.transport.connection import Connection
from metastore.transport.usage import Address


class FairQueue:
    """Round-robin over lanes; within a lane, first in, first out.

    Each address has two lanes, for small and for large calls: a small call must not wait behind a large one that waits
    for memory. Guarded by the worker pool's lock.
    """

    def __init__(self) -> None:
        self._lanes: OrderedDict[tuple[Address, bool], deque[tuple[float, Connection]]] = OrderedDict()
        self._wait_times: list[float] = []  # seconds, of calls taken since `wait_times` was called

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def blocks(self, *, large: bool) -> bool:
        """Returns whether a new call must queue behind others. A small call may overtake large ones."""
        lanes = self._lanes  # empty for most calls
        return bool(lanes) and any(large or not lane_is_large for _, lane_is_large in lanes)

    def put(self, address: Address, connection: Connection, *, large: bool) -> None:
        """Queues the call of a connection."""
        self._lanes.setdefault((address, large), deque()).append((time.monotonic(), connection))

    def take(self, admits: Callable[[Address, Connection], bool]) -> tuple[Address, Connection] | None:
        """Takes the next call that `admits` accepts and moves its lane to the end. Returns None if it accepts none."""
        for lane, calls in self._lanes.items():
            if admits(lane[0], calls[0][1]):
                since, connection = calls.popleft()
                self._wait_times.append(time.monotonic() - since)
                self._lanes.move_to_end(lane)
                if not calls:
                    del self._lanes[lane]
                return lane[0], connection
        return None

    def wait_times(self) -> list[float]:
        """Returns how many seconds each call has waited that was taken since the last call of this method."""
        wait_times, self._wait_times = self._wait_times, []
        return wait_times

    def take_expired(self, before: float) -> Iterator[Connection]:
        """Takes the calls that were queued at or before this monotonic time."""
        for lane, calls in list(self._lanes.items()):
            while calls and calls[0][0] <= before:
                since, connection = calls.popleft()
                self._wait_times.append(time.monotonic() - since)
                yield connection
            if not calls:
                del self._lanes[lane]

    def take_abandoned(self, before: float) -> list[Connection]:
        """Takes the large calls that were queued at or before this monotonic time and whose clients have closed."""
        abandoned = []
        for lane, calls in [item for item in self._lanes.items() if item[0][1]]:
            kept: deque[tuple[float, Connection]] = deque()
            for since, connection in calls:
                if since <= before and connection.peer_closed:
                    abandoned.append(connection)
                else:
                    kept.append((since, connection))
            self._lanes[lane] = kept
            if not kept:
                del self._lanes[lane]
        return abandoned
