"""Which connection may be opened, and which call may run now: threads, memory, and the share of one address in both."""

from __future__ import annotations

import sys
import time
from typing import Final

from metastore.transport.address import Address
from metastore.transport.connection import Connection
from metastore.transport.memory import Memory
from metastore.transport.options import TransportOptions

_UNKNOWN: Final = 4 * 2**20  # bytes that a method's reply is taken for before it has been seen
_GUESSED: Final = 1.0  # seconds that so much is kept for a call
_COPIES: Final = 3  # of a reply, that exist while it is made: the database's answer, its parts, what is to be sent
_COPIES_AS_OBJECTS: Final = 10  # the same of a reply that is not sent as it is stored: four to five bytes for each
_FADES: Final = 0.95  # what the largest reply of a method counts after each smaller one
_SMALL: Final = 2**18  # bytes; of replies below, nothing is counted
_MOST_METHODS: Final = 1000
_MOST_CALLS: Final = 10_000  # of which it is kept what each was answered
_FAST: Final = 0.005  # seconds that a thread goes on while others wait for it: Python's, and best for small calls alone
_FAIR: Final = 0.0005


class Admission:
    """Counts calls in flight, and what they are likely to take. Guarded by the worker pool's lock."""

    def __init__(self, options: TransportOptions, memory: Memory) -> None:
        self._options = options
        self._memory = memory
        self.starved = False  # whether a call has had to wait for memory since this was last looked at
        self.calls = 0
        self.sharing = 0  # addresses that have large messages or replies
        self._reserved = 0
        self._guesses: dict[Connection, tuple[Address, float]] = {}  # of these, those of methods not seen before
        self._interval = _FAST
        self._large: dict[Connection, int] = {}  # what was reserved for it
        self._replies: dict[bytes, float] = {}  # by method, bytes; what was called last comes last
        self._answered: dict[bytes, float] = {}  # the same by what was asked, of methods with large replies

    def connections_used_up(self, connections: int, address: Address) -> str:
        """Returns the limit that one more connection would break, with its value; empty: none."""
        if connections >= self._options.max_connections:
            return f"max_connections={self._options.max_connections}"
        if address.connections >= self._options.max_connections_per_address:
            return f"max_connections_per_address={self._options.max_connections_per_address} of {address.host}"
        return ""

    def expect(self, connection: Connection) -> bool:
        """Looks at the call that the connection has. Tells whether it is large: it may have to wait for memory."""
        called = connection.called = connection.method
        copies, known = _copies(connection), self._replies.pop(called, None)
        if known is not None:
            self._replies[called] = known  # names that nobody serves, however many, push out none that is called
        expected = (_UNKNOWN if known is None else known) * copies
        connection.asked = b""
        if expected <= _SMALL and not connection.needs:
            connection.expected = 0
            return False
        if expected > _SMALL:
            asked = connection.asked = connection.first_arguments
            expected = self._answered.get(asked, expected / copies) * copies
        # never more than there is when nothing else is going on
        connection.expected = min(int(max(expected, connection.needs)), self._memory.room)
        return connection.expected > _SMALL

    def admits(self, address: Address, connection: Connection) -> bool:
        """Tells whether the call that the connection has may run now."""
        if self.calls >= self._options.max_threads or address.calls >= self._options.max_calls_per_address:
            return False
        return connection.expected <= _SMALL or self._has_room(address, connection)

    def begin(self, address: Address, connection: Connection) -> None:
        self.calls += 1
        address.calls += 1
        expected = connection.expected
        if expected > _SMALL:
            if connection.called not in self._replies:
                self._guesses[connection] = address, time.monotonic()
            self._large[connection] = expected
            self._reserved += expected
            address.reserved += expected

    def end(self, address: Address, connection: Connection) -> None:
        self.calls -= 1
        address.calls -= 1
        if self._large and self._give_back(address, connection):
            address.held += connection.held
        reply = connection.replied  # 0: its message was not there as a whole, or has to wait for memory
        if not connection.expected and reply * _copies(connection) <= _SMALL:
            return  # as was expected
        if reply and connection.called:
            _learn(self._replies, connection.called, reply, _MOST_METHODS)
        if reply and connection.asked:
            _learn(self._answered, connection.asked, reply, _MOST_CALLS)

    def forget_old_guesses(self, now: float) -> None:
        """Gives to others what was reserved for a method that nobody knows yet: a call that takes so long waits
        for something, as for a lock, and holds no memory.
        """
        for connection, (address, since) in list(self._guesses.items()):
            if now - since > _GUESSED:
                self._give_back(address, connection)

    def _give_back(self, address: Address, connection: Connection) -> bool:
        """Tells whether anything was reserved for its call."""
        self._guesses.pop(connection, None)
        reserved = self._large.pop(connection, 0)
        self._reserved -= reserved
        address.reserved -= reserved
        return reserved > 0

    def pace(self, most_held: int) -> None:
        """Has threads give way to each other more often while some work on what is large: else small calls wait for
        them several times each. `most_held`: bytes that one connection has of a message or reply.
        """
        interval = _FAIR if self._large or most_held > _SMALL else _FAST
        if interval != self._interval:
            self._interval = interval
            sys.setswitchinterval(interval)

    def why(self, address: Address) -> str:
        """Returns what a client is told whose call has waited too long."""
        options = self._options
        if address.calls >= options.max_calls_per_address:
            limit = f"max_calls_per_address={options.max_calls_per_address} calls of {address.host} are in flight"
            setting = "METASTORE_MAX_CALLS_PER_ADDRESS"
        elif self.calls >= options.max_threads:
            limit, setting = f"max_threads={options.max_threads} calls are in flight", "METASTORE_MAX_THREADS"
        else:
            return self._memory.refusal
        return (
            f"The call was not begun within {options.queue_timeout:g} s: {limit} in this worker ({setting}); try again"
        )

    def _has_room(self, address: Address, connection: Connection) -> bool:
        if connection.needs and time.monotonic() < connection.not_before:
            return False
        expected = connection.expected
        # Else what has arrived, and waits for memory, might keep all of it from being worked on.
        alone = connection.needs > 0 and not self._large
        of_address = address.held + address.reserved
        others = max(0, self.sharing - address.is_sharing)
        if not alone and of_address and of_address + expected > self._memory.share(others):
            return False
        room = self._memory.allows(self._reserved + expected, alone=alone)
        self.starved |= not room
        return room


def _copies(connection: Connection) -> int:
    return _COPIES_AS_OBJECTS if connection.sends_objects else _COPIES


def _learn(replies: dict[bytes, float], of: bytes, reply: int, most: int) -> None:
    """Remembers a reply's size in bytes; forgets, of more than `most`, what has not been called for longest."""
    replies[of] = max(reply, replies.pop(of, 0.0) * _FADES)
    if len(replies) > most:
        del replies[next(iter(replies))]
