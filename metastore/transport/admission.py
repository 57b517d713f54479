"""Admission control: limits for connections, threads and memory, the shares of client addresses and users, the
queue of calls that wait for a thread or for memory, and the lock that guards them.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Final

from metastore.transport.connection import Connection
from metastore.transport.memory import Address, Memory
from metastore.transport.options import TransportOptions

_PAUSE: Final = 0.0001  # seconds between two attempts to take a lock
_LARGE: Final = 2**18  # bytes of a message from which all threads of the worker get short turns
_SWITCH_INTERVAL: Final = 0.005  # seconds of a thread's turn: Python's default, best if all calls are small
_SHORT_SWITCH_INTERVAL: Final = 0.0005


class Admission:
    """Decides which call may run. Guarded by the pool's lock.

    A call is large if its request or its reply is large. The size of a large request determines how much memory it
    needs. A large reply reserves memory while it grows. If no memory is left, the call is queued, and is executed again
    when half of the memory is free. A call that needs more than that runs while no other large call does.
    """

    def __init__(self, options: TransportOptions, memory: Memory) -> None:
        self._options = options
        self._memory = memory
        self.memory_short = False  # whether a call had to wait for memory since this was last reset
        self.calls = 0
        self.addresses_using_memory = 0
        self.held = 0  # bytes in the buffers of all connections, as of the last `WorkerPool.check`
        self._reserved = 0
        self._reservations: dict[Connection, int] = {}
        # Users of one address must not keep each other out, and a user with several addresses has no larger share.
        self.max_calls_of_user = max(1, options.max_calls_per_address * 3 // 4)
        self._users: dict[Connection, str] = {}  # of the calls of authenticated users that are executed
        self._calls_of: Counter[str | None] = Counter()
        self._alone: Connection | None = None  # the large call that runs alone
        self._switch_interval = _SWITCH_INTERVAL

    def exceeded_limit(self, connections: int, address: Address) -> str:
        """Returns the limit, with its value, that one more connection would exceed; empty if there is none."""
        if connections >= self._options.max_connections:
            return f"max_connections={self._options.max_connections}"
        if address.connections >= self._options.max_connections_per_address:
            return f"max_connections_per_address={self._options.max_connections_per_address} of {address.host}"
        return ""

    def has_thread(self, connection: Connection) -> bool:
        """Returns whether the limits of concurrent calls and the address's share of memory permit one more call."""
        options, calls = self._options, connection.address.calls
        if self.calls >= options.max_threads or calls >= options.max_calls_per_address:
            return False
        if self._calls_of[connection.handshake.user] >= self.max_calls_of_user:
            return False
        return not connection.estimate.is_large or self._has_share(connection)

    def has_memory(self, connection: Connection) -> bool:
        """Returns whether there is memory for the call of a connection. A small call always has it."""
        estimate = connection.estimate
        if not estimate.is_large:
            return True
        if self._alone:
            admitted = False
        elif self._reservations:
            admitted = not estimate.alone and self._memory.allows(self._reserved + self._needed(connection))
        else:
            # The only large call may use the whole limit. It always runs if no other connection holds a message: memory
            # in use is then free memory that the allocator has kept, and will use again.
            alone = estimate.required > 0  # otherwise two requests that have arrived could wait for each other forever
            others = self.held - connection.held
            admitted = others <= 0 or self._memory.allows(self._needed(connection), alone=alone)
        self.memory_short |= not admitted
        return admitted

    def admits(self, connection: Connection) -> bool:
        """Returns whether the call of a connection may run now."""
        return self.has_thread(connection) and self.has_memory(connection)

    def begin(self, connection: Connection) -> None:
        """Counts a call that begins, and reserves its memory."""
        self.calls += 1
        connection.address.calls += 1
        if user := connection.handshake.user:
            self._users[connection] = user  # a login changes the user of the connection
            self._calls_of[user] += 1
        if connection.estimate.is_large:
            self._reserve(connection, self._needed(connection))

    def claim_reply(self, connection: Connection, size: int, *, in_turn: bool) -> bool:
        """Reserves memory for a reply that has grown. Returns False if the call has to be executed again later.

        `size`: bytes that the reply needs in all, as far as is known; `in_turn`: whether no other large call waits.
        """
        estimate, reserved = connection.estimate, self._reservations.get(connection)
        size = min(size, self._memory.request_budget)
        if reserved is None:
            estimate.large_reply = True
            if self._alone or not in_turn or not self._has_share(connection):
                return False
            if not self._reservations and not self.has_memory(connection):
                return False
        elif size <= reserved or self._alone is connection:
            return True
        others = self._reserved - (reserved or 0)
        if others and not self._memory.allows(others + size):
            estimate.alone = reserved is not None
            return False
        self._reserve(connection, size)
        return True

    def end(self, connection: Connection) -> None:
        """Counts a call that has ended, and releases its memory."""
        address = connection.address
        self.calls -= 1
        address.calls -= 1
        if user := self._users.pop(connection, None):
            self._calls_of[user] -= 1
            if not self._calls_of[user]:
                del self._calls_of[user]
        reserved = self._reservations.pop(connection, None)
        if reserved is not None:
            self._reserved -= reserved
            address.reserved -= reserved
            address.held += connection.held
            self.held += connection.held
        if self._alone is connection:
            self._alone = None
            self._memory.alone_from = None

    def adjust_switch_interval(self, largest: int) -> None:
        """Shortens the turns of threads while large calls run, so that small calls do not wait for several long turns.

        `largest`: bytes of the largest request or reply of one connection.
        """
        interval = _SHORT_SWITCH_INTERVAL if self._reservations or largest > _LARGE else _SWITCH_INTERVAL
        if interval != self._switch_interval:
            self._switch_interval = interval
            sys.setswitchinterval(interval)

    def rejection(self, connection: Connection) -> str:
        """Returns the error text for a call that has waited too long."""
        options, address, user = self._options, connection.address, connection.handshake.user
        setting = "METASTORE_MAX_CALLS_PER_ADDRESS"
        if self._calls_of[user] >= self.max_calls_of_user:
            limit, setting = f"{self.max_calls_of_user} calls of user {user} are in flight", f"3/4 of {setting}"
        elif address.calls >= options.max_calls_per_address:
            limit = f"max_calls_per_address={options.max_calls_per_address} calls of {address.host} are in flight"
        elif self.calls >= options.max_threads:
            limit, setting = f"max_threads={options.max_threads} calls are in flight", "METASTORE_MAX_THREADS"
        else:
            return self._memory.rejection
        return (
            f"The call did not start within {options.queue_timeout:g} s: {limit} in this worker ({setting}); try again"
        )

    def _needed(self, connection: Connection) -> int:
        """Returns the memory in bytes that a large call is expected to use; never more than an idle worker has."""
        estimate = connection.estimate
        # A large reply reserves half of an address's budget, so that two may be made at a time.
        share = self._memory.address_budget(0) // 2 if estimate.large_reply else 0
        return min(max(estimate.required, share), self._memory.request_budget)

    def _has_share(self, connection: Connection) -> bool:
        """Returns whether an address has memory left for a large call. If no large call runs, it always has."""
        address = connection.address
        used = address.held + address.reserved
        others = max(0, self.addresses_using_memory - address.uses_memory)
        if not self._reservations or not used:
            return True
        return used + self._needed(connection) <= self._memory.address_budget(others)

    def _reserve(self, connection: Connection, size: int) -> None:
        more = size - self._reservations.get(connection, 0)
        self._reservations[connection] = size
        self._reserved += more
        connection.address.reserved += more
        if len(self._reservations) == 1 and (connection.estimate.alone or not self._memory.allows(size)):
            self._alone = connection
            self._memory.alone_from = self._memory.resident()


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
            time.sleep(_PAUSE)
        return True

    def release(self) -> None:
        """Releases the lock."""
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
