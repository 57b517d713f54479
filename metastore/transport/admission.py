"""Admission control: limits for connections, threads and memory, and each client address's share of them."""

from __future__ import annotations

import sys
import time
from typing import Final

from metastore.transport.connection import Connection
from metastore.transport.memory import Memory
from metastore.transport.options import TransportOptions
from metastore.transport.usage import Address

_UNKNOWN_REPLY: Final = 4 * 2**20  # assumed bytes of the first reply of a method
_UNKNOWN_RESERVATION: Final = 1.0  # seconds for which memory is reserved for such a call
_COPIES: Final = 3  # copies of a reply during a call: the database's rows, its parts, the bytes to send
_COPIES_AS_OBJECTS: Final = 10  # the same where the reply is built as objects: four to five bytes for each byte
_DECAY: Final = 0.95  # factor for the largest known reply of a method, with each smaller reply
_SMALL: Final = 2**18  # bytes; smaller calls are not counted
_MAX_METHODS: Final = 1000  # methods whose reply sizes are kept
_MAX_ARGUMENTS: Final = 10_000  # arguments whose reply sizes are kept
_SWITCH_INTERVAL: Final = 0.005  # seconds of a thread's turn: Python's default, best where all calls are small
_SHORT_SWITCH_INTERVAL: Final = 0.0005


class Admission:
    """Decides which call may run. A call's memory is estimated from earlier replies. Guarded by the pool's lock."""

    def __init__(self, options: TransportOptions, memory: Memory) -> None:
        self._options = options
        self._memory = memory
        self.memory_short = False  # whether a call had to wait for memory since this was last reset
        self.calls = 0
        self.addresses_using_memory = 0
        self._reserved = 0
        self._reservations: dict[Connection, int] = {}
        self._unknown: dict[Connection, tuple[Address, float]] = {}  # calls of new methods: address, start
        self._replies: dict[bytes, float] = {}  # bytes by method, least recently called first
        self._replies_by_arguments: dict[bytes, float] = {}  # the same by arguments, for methods with large replies
        self._switch_interval = _SWITCH_INTERVAL

    def exceeded_limit(self, connections: int, address: Address) -> str:
        """Returns the limit, with its value, that one more connection would exceed; empty: none."""
        if connections >= self._options.max_connections:
            return f"max_connections={self._options.max_connections}"
        if address.connections >= self._options.max_connections_per_address:
            return f"max_connections_per_address={self._options.max_connections_per_address} of {address.host}"
        return ""

    def estimate(self, connection: Connection) -> bool:
        """Estimates the memory of a connection's next call. Returns whether it is large and may wait for memory."""
        estimate = connection.estimate
        method = connection.method
        estimate.method, estimate.arguments, estimate.expected = method or b"", b"", 0
        if method is None:
            return False
        copies = estimate.copies = _COPIES_AS_OBJECTS if connection.sends_objects else _COPIES
        known = self._replies.pop(method, None)
        if known is not None:
            self._replies[method] = known  # only called methods move to the end: invented names cannot displace them
        expected = (_UNKNOWN_REPLY if known is None else known) * copies
        if expected <= _SMALL and not estimate.required:
            return False
        if expected > _SMALL:
            estimate.arguments = connection.first_arguments
            expected = self._replies_by_arguments.get(estimate.arguments, expected / copies) * copies
        # A call must be admitted when the worker is idle, however large its estimate.
        estimate.expected = min(int(max(expected, estimate.required)), self._memory.request_budget)
        return estimate.expected > _SMALL

    def admits(self, address: Address, connection: Connection) -> bool:
        """Returns whether the call of a connection may run now."""
        if self.calls >= self._options.max_threads or address.calls >= self._options.max_calls_per_address:
            return False
        return connection.estimate.expected <= _SMALL or self._has_memory(address, connection)

    def begin(self, address: Address, connection: Connection) -> None:
        """Counts a call that begins, and reserves its expected memory."""
        self.calls += 1
        address.calls += 1
        expected = connection.estimate.expected
        if expected > _SMALL:
            if connection.estimate.method not in self._replies:
                self._unknown[connection] = address, time.monotonic()
            self._reservations[connection] = expected
            self._reserved += expected
            address.reserved += expected

    def end(self, address: Address, connection: Connection) -> None:
        """Counts a call that has ended, and learns the size of its reply."""
        self.calls -= 1
        address.calls -= 1
        if self._reservations and self._release(address, connection):
            address.held += connection.held
        estimate, reply = connection.estimate, connection.replied  # no reply: the request was incomplete or must wait
        if not estimate.expected and reply * estimate.copies <= _SMALL:
            return  # small, as expected
        if reply and estimate.method:
            _learn(self._replies, estimate.method, reply, _MAX_METHODS)
        if reply and estimate.arguments:
            _learn(self._replies_by_arguments, estimate.arguments, reply, _MAX_ARGUMENTS)

    def release_unknown(self, now: float) -> None:
        """Releases the memory of calls of new methods after a second: such a call waits for a lock and holds none."""
        for connection, (address, since) in list(self._unknown.items()):
            if now - since > _UNKNOWN_RESERVATION:
                self._release(address, connection)

    def _release(self, address: Address, connection: Connection) -> bool:
        """Releases a call's reservation. Returns whether there was one."""
        self._unknown.pop(connection, None)
        reserved = self._reservations.pop(connection, 0)
        self._reserved -= reserved
        address.reserved -= reserved
        return reserved > 0

    def adjust_switch_interval(self, largest: int) -> None:
        """Shortens the turns of threads while large calls run: a small call would wait several turns for them.

        `largest`: bytes of the largest request or reply of one connection.
        """
        interval = _SHORT_SWITCH_INTERVAL if self._reservations or largest > _SMALL else _SWITCH_INTERVAL
        if interval != self._switch_interval:
            self._switch_interval = interval
            sys.setswitchinterval(interval)

    def rejection(self, address: Address) -> str:
        """Returns the error text for a call that has waited too long."""
        options = self._options
        if address.calls >= options.max_calls_per_address:
            limit = f"max_calls_per_address={options.max_calls_per_address} calls of {address.host} are in flight"
            setting = "METASTORE_MAX_CALLS_PER_ADDRESS"
        elif self.calls >= options.max_threads:
            limit, setting = f"max_threads={options.max_threads} calls are in flight", "METASTORE_MAX_THREADS"
        else:
            return self._memory.rejection
        return (
            f"The call did not start within {options.queue_timeout:g} s: {limit} in this worker ({setting}); try again"
        )

    def _has_memory(self, address: Address, connection: Connection) -> bool:
        estimate = connection.estimate
        if estimate.required and time.monotonic() < estimate.not_before:
            return False
        # One large request may use the whole limit: else requests that have arrived could block each other for ever.
        alone = estimate.required > 0 and not self._reservations
        used = address.held + address.reserved
        others = max(0, self.addresses_using_memory - address.uses_memory)
        if not alone and used and used + estimate.expected > self._memory.address_budget(others):
            return False
        admitted = self._memory.allows(self._reserved + estimate.expected, alone=alone)
        self.memory_short |= not admitted
        return admitted


def _learn(replies: dict[bytes, float], key: bytes, reply: int, limit: int) -> None:
    """Stores the size of a reply in bytes. Of more than `limit` keys, removes the least recently called one."""
    replies[key] = max(reply, replies.pop(key, 0.0) * _DECAY)
    if len(replies) > limit:
        del replies[next(iter(replies))]
