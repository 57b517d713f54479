"""The queue of calls that wait for a thread or for memory, fair between client addresses and users."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable

from metastore.transport.connection import Connection
from metastore.transport.usage import Address


class FairQueue:
    """Round-robin over lanes; within a lane, first in, first out.

    Each user of an address has two lanes, for small and for large calls: a small call must not wait behind a large one
    that waits for memory. Guarded by the worker pool's lock.
    """

    def __init__(self) -> None:
        self._lanes: OrderedDict[tuple[Address, str | None, bool], deque[tuple[float, Connection]]] = OrderedDict()
        self._wait_times: list[float] = []  # seconds, of calls taken since `wait_times` was called

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def blocks(self, *, large: bool) -> bool:
        """Returns whether a new call must queue behind others. A small call may overtake large ones."""
        lanes = self._lanes  # empty for most calls
        return bool(lanes) and any(large or not lane_is_large for _, _, lane_is_large in lanes)

    @property
    def has_large(self) -> bool:
        """Whether a large call waits."""
        return bool(self._lanes) and any(large for _, _, large in self._lanes)

    def put(self, connection: Connection) -> None:
        """Queues the call of a connection. A call that is queued again keeps its time."""
        estimate = connection.estimate
        estimate.queued = estimate.queued or time.monotonic()
        lane = connection.address, connection.handshake.user, estimate.is_large
        self._lanes.setdefault(lane, deque()).append((estimate.queued, connection))

    def take(
        self, has_thread: Callable[[Connection], bool], has_memory: Callable[[Connection], bool]
    ) -> Connection | None:
        """Takes the next call that both functions accept and moves its lane to the end. Returns None if there is none.

        Large calls of all addresses take turns: one that waits for memory is not overtaken by those behind it.
        """
        memory_short = False
        for lane, calls in self._lanes.items():
            since, connection = calls[0]
            *_, is_large = lane
            if (is_large and memory_short) or not has_thread(connection):
                continue
            if has_memory(connection):
                calls.popleft()
                self._wait_times.append(time.monotonic() - since)
                self._lanes.move_to_end(lane)
                if not calls:
                    del self._lanes[lane]
                return connection
            memory_short = True
        return None

    def wait_times(self) -> list[float]:
        """Returns the waiting time in seconds of each call that was taken since this method was last called."""
        wait_times, self._wait_times = self._wait_times, []
        return wait_times

    def take_expired(self, before: float) -> list[Connection]:
        """Takes the calls that were queued at or before this monotonic time."""
        return self._take_all(lambda _large, since, _connection: since <= before)

    def take_abandoned(self, before: float) -> list[Connection]:
        """Takes the large calls that were queued at or before this monotonic time and whose clients have closed."""
        return self._take_all(lambda large, since, connection: large and since <= before and connection.peer_closed)

    def _take_all(self, chosen: Callable[[bool, float, Connection], bool]) -> list[Connection]:
        taken = []
        for lane, calls in list(self._lanes.items()):
            leaving = [call for call in calls if chosen(lane[-1], *call)]
            for call in leaving:
                calls.remove(call)
            if not calls:
                del self._lanes[lane]
            taken += leaving
        self._wait_times += [time.monotonic() - since for since, _ in taken]
        return [connection for _, connection in taken]
