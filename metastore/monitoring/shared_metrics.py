"""Metrics in shared memory: each worker process writes its own slot, and the HTTP process reads all slots.

A slot outlives its worker. The worker that replaces a dead one continues with the same counters, so that no counter of
the server ever decreases.

`prometheus_client` renders these numbers but does not collect them: docs/decisions/022-metrics-in-shared-memory.md.
"""

from __future__ import annotations

import itertools
import json
import mmap
import operator
import struct
import threading
import time
import zlib
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from metastore.domain import care_record
from metastore.domain.care_record import ACTIONS
from metastore.domain.client_kinds import CLIENTS
from metastore.errors import EXHAUSTED
from metastore.identity import METHODS
from metastore.monitoring.user_names import OTHER, UserNames

SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram buckets of durations. A last bucket without a bound follows."""
BYTES: Final = (256.0, 1024.0, 4096.0, 16384.0, 65536.0, 2.0**18, 2.0**20, 2.0**22, 2.0**24, 2.0**26)
"""Upper bounds of the histogram buckets of message sizes. A last bucket without a bound follows."""
DECLARED: Final = "declared"
OUTCOMES: Final = ("ok", DECLARED, "rejected", "unavailable", "failed")
"""How a call ends. `declared`: an exception of the method's signature. `rejected`: a limit, a quota or an unknown
method. `unavailable`: the database or the file system failed. `failed`: an unexpected internal error."""
WIRE_FORMATS: Final = ("binary", "compact", "framed binary", "framed compact", "http")
SECURITY: Final = tuple(
    "+".join(filter(None, pair)) or "none" for pair in itertools.product(("", "tls"), ("", *METHODS))
)
CONNECTION_KINDS: Final = tuple(itertools.product(WIRE_FORMATS, SECURITY, CLIENTS))
"""Wire format, security (TLS and authentication method), and client program of a connection."""
GAUGES: Final = (
    "pid",
    "connections",
    "calls_in_flight",
    "calls_waiting",
    "resident_bytes",
    "pool_used",
    "pool_size",
    "memory_limit",
    "answered_at",  # time.monotonic() when a call that PostgreSQL has answered was published; the same in all processes
)
CARE: Final = {(action, outcome): f"care_{action}_{outcome}" for action in ACTIONS for outcome in care_record.OUTCOMES}
"""Names of the totals of table care: partitions by action and outcome."""
TOTALS: Final = ("queued_calls", "queued_seconds", "starts", "failed_group_lookups", *EXHAUSTED, *CARE.values())
SUMS: Final = ("seconds", "database", "waiting", "statements", "partitions")
"""Sums that are kept for each method: three durations in seconds, SQL statements, and partitions in replies."""

_ANSWERED: Final = ("ok", DECLARED)  # outcomes of a call whose statements PostgreSQL has executed
_CALLER_SIZE: Final = len(OUTCOMES) + 1  # numbers of CallerMetrics
_MAX_SLOW_CALLS: Final = 50  # slow calls kept for each worker
_TEXT_BYTES: Final = 2**16  # bytes for the slow calls of a worker, and as many for its calls in flight
_TEXT_HEADER: Final = struct.Struct("=II")  # length and checksum
_READ_ATTEMPTS: Final = 20


CallerKey: TypeAlias = tuple[str, str]
"""The client kind and the user name of a call, "" if unknown."""


class FinishedCall(NamedTuple):
    """A finished call.

    Attributes:
        outcome: index in OUTCOMES.
        exception: name of the declared exception, or "".
        request, reply: bytes of the messages.
        sums: the values of SUMS.
        statements: the duration of each SQL statement, in seconds.
    """

    caller: CallerKey
    method: str
    outcome: int
    exception: str
    request: int
    reply: int
    sums: tuple[float, float, float, float, float]
    statements: Sequence[float]


class MethodMetrics(NamedTuple):
    """Metrics of one method: counts by OUTCOMES, by exception and by bucket of SECONDS; SUMS; calls in flight."""

    outcomes: list[float]
    exceptions: list[float]
    seconds: list[float]
    sums: list[float]
    active: float

    def plus(self, other: MethodMetrics) -> MethodMetrics:
        """Returns the sum of both, number by number."""
        outcomes, exceptions, seconds, sums = (
            list(map(operator.add, mine, theirs)) for mine, theirs in zip(self[:4], other[:4], strict=True)
        )
        return MethodMetrics(outcomes, exceptions, seconds, sums, self.active + other.active)


class CallerMetrics(NamedTuple):
    """Metrics of a user or of a client kind: counts by OUTCOMES, and the seconds of all calls."""

    outcomes: list[float]
    seconds: float


class SharedMetrics:
    """The slots of all workers. Create it before the workers are forked."""

    def __init__(
        self,
        methods: Sequence[str],
        workers: int,
        exceptions: Sequence[str] = (),
        events: Sequence[str] = (),
        users: int = 0,
    ) -> None:
        """Allocates the memory.

        `methods`, `exceptions` and `events` list all label values: method names, names of declared exceptions, and
        types of notification events. `users`: the number of users with metrics of their own.
        """
        self.users = UserNames(users)
        self.layout = _Layout(methods, exceptions, events, users)
        self._workers = workers
        self._memory = memoryview(mmap.mmap(-1, workers * self.layout.size * 8)).cast("d")
        self._texts = mmap.mmap(-1, workers * 2 * _TEXT_BYTES)

    def worker(self, worker: int) -> WorkerMetrics:
        """Returns the slot of a worker. Only the process of that worker may write to it."""
        start = worker * self.layout.size
        numbers = self._memory[start : start + self.layout.size]
        return WorkerMetrics(numbers, self.layout, self._texts, worker * 2 * _TEXT_BYTES, self.users)

    def answered_at(self) -> float:
        """Returns the monotonic time of the last call that PostgreSQL has answered, 0 if there is none."""
        return max(worker.gauges()["answered_at"] for worker in self.workers())

    def workers(self) -> Iterator[WorkerMetrics]:
        """Yields the slots of all workers, for reading."""
        return (self.worker(worker) for worker in range(self._workers))


class _Layout:
    """Offsets of the metrics in a slot, which is an array of doubles."""

    def __init__(self, methods: Sequence[str], exceptions: Sequence[str], events: Sequence[str], users: int) -> None:
        self.methods = {name: index for index, name in enumerate(methods)}
        self.exceptions = {name: index for index, name in enumerate(exceptions)}
        self.events = {name: index for index, name in enumerate(events)}
        # The block of one method: a slice for each field of MethodMetrics.
        lengths = (len(OUTCOMES), len(exceptions), len(SECONDS) + 1, len(SUMS), 1)
        ends = itertools.accumulate(lengths)
        self.parts = [slice(end - length, end) for length, end in zip(lengths, ends, strict=True)]
        self.method_size = sum(lengths)
        # Each histogram has one bucket more than it has bounds, and the sum of all values behind the buckets.
        seconds, size = len(SECONDS) + 2, len(BYTES) + 2
        sizes = len(GAUGES), len(TOTALS), len(CONNECTION_KINDS), len(events), seconds, size, size
        self.users = users
        callers = len(CLIENTS) * _CALLER_SIZE, (users + 1) * _CALLER_SIZE
        starts = itertools.accumulate((*sizes, len(methods) * self.method_size, *callers))
        self.totals, self.kinds, self.committed, self.statements = itertools.islice(starts, 4)
        self.requests, self.replies, self.calls, self.client_calls, self.user_calls, self.size = starts


class WorkerMetrics:
    """The slot of one worker.

    Counting a call costs one `append`. `publish`, which runs ten times a second, adds the collected calls to the shared
    memory. Measured: 1.1 µs of processor time per call.
    """

    def __init__(self, numbers: Any, layout: _Layout, texts: mmap.mmap, text_start: int, users: UserNames) -> None:
        self._numbers: Any = numbers
        self._users = users
        self._layout = layout
        self._texts = texts
        self._text_start = text_start
        self._lock = threading.Lock()
        self._finished: deque[FinishedCall] = deque()
        self._events: deque[str] = deque()
        # Methods whose number of calls in flight may not be 0 in the shared memory. At first all of them: a worker that
        # died in this slot may have left any number.
        self._active = set(layout.methods)
        self._slow_calls: list[dict[str, Any]] = []

    def set(self, **gauges: float) -> None:
        """Sets gauges, by their names in GAUGES."""
        for name, value in gauges.items():
            self._numbers[GAUGES.index(name)] = value

    def gauges(self) -> dict[str, float]:
        """Returns the gauges, by their names in GAUGES."""
        return {name: self._numbers[index] for index, name in enumerate(GAUGES)}

    def add(self, **totals: float) -> None:
        """Adds to totals, by their names in TOTALS."""
        for name, value in totals.items():
            self._numbers[self._layout.totals + TOTALS.index(name)] += value

    def totals(self) -> dict[str, float]:
        """Returns the totals, by their names in TOTALS."""
        return {name: self._numbers[self._layout.totals + index] for index, name in enumerate(TOTALS)}

    def count_connection(self, wire_format: str, security: str, client: str) -> None:
        """Counts a connection. Its kind is known when its first call arrives."""
        with self._lock:
            self._numbers[self._layout.kinds + CONNECTION_KINDS.index((wire_format, security, client))] += 1

    def connection_counts(self) -> dict[tuple[str, str, str], float]:
        """Returns the number of connections since the start, by CONNECTION_KINDS."""
        return {kind: self._numbers[self._layout.kinds + index] for index, kind in enumerate(CONNECTION_KINDS)}

    def count_events(self, types: Iterable[str]) -> None:
        """Counts committed notification events. Readers see them after the next `publish`."""
        self._events.extend(types)

    def event_counts(self) -> dict[str, float]:
        """Returns the number of events that this worker has written, by type."""
        return {name: self._numbers[self._layout.committed + index] for name, index in self._layout.events.items()}

    def count_call(self, call: FinishedCall) -> None:
        """Counts a finished call. Readers see it after the next `publish`."""
        self._finished.append(call)

    def publish(self, active: Mapping[str, int]) -> None:
        """Adds the calls and events since the last `publish` to the shared memory.

        `active`: number of calls in flight, by method.
        """
        layout = self._layout
        self._publish_calls()
        while self._events:
            index = layout.events.get(self._events.popleft())
            if index is not None:
                self._numbers[layout.committed + index] += 1
        for name in self._active.union(active) & layout.methods.keys():
            start = layout.calls + layout.methods[name] * layout.method_size
            self._numbers[start + layout.parts[-1].start] = active.get(name, 0)
        self._active = set(active)

    def _publish_calls(self) -> None:
        answered = False
        # Sums up in lists first: adding to the shared memory takes several times as long.
        layout, finished = self._layout, self._finished
        _, exceptions, seconds, sums, _ = (part.start for part in layout.parts)
        methods = defaultdict[str, list[float]](lambda: [0.0] * layout.method_size)
        statements = [0.0] * (len(SECONDS) + 2)
        requests, replies = [0.0] * (len(BYTES) + 2), [0.0] * (len(BYTES) + 2)
        callers = defaultdict[CallerKey, list[float]](lambda: [0.0] * _CALLER_SIZE)
        while finished:
            call = finished.popleft()
            callers[call.caller][call.outcome] += 1
            callers[call.caller][-1] += call.sums[0]
            numbers = methods[call.method]
            numbers[call.outcome] += 1
            answered = answered or bool(call.statements and OUTCOMES[call.outcome] in _ANSWERED)
            if call.exception in layout.exceptions:
                numbers[exceptions + layout.exceptions[call.exception]] += 1
            numbers[seconds + bisect_left(SECONDS, call.sums[0])] += 1
            numbers[sums:-1] = map(operator.add, numbers[sums:-1], call.sums)
            for duration in call.statements:
                statements[bisect_left(SECONDS, duration)] += 1
                statements[-1] += duration
            requests[bisect_left(BYTES, call.request)] += 1
            requests[-1] += call.request
            replies[bisect_left(BYTES, call.reply)] += 1
            replies[-1] += call.reply
        for method in methods.keys() & layout.methods.keys():
            self._add(layout.calls + layout.methods[method] * layout.method_size, methods[method])
        if answered:
            self.set(answered_at=time.monotonic())
        self._publish_callers(callers)
        self._add(layout.statements, statements)
        self._add(layout.requests, requests)
        self._add(layout.replies, replies)

    def _publish_callers(self, callers: Mapping[CallerKey, Sequence[float]]) -> None:
        for (client, user), numbers in callers.items():
            self._add(self._layout.client_calls + CLIENTS.index(client) * _CALLER_SIZE, numbers)
            if self._layout.users:
                self._add(self._layout.user_calls + self._users.index(user) * _CALLER_SIZE, numbers)

    def _add(self, start: int, values: Sequence[float]) -> None:
        for index, value in enumerate(values, start):
            if value:
                self._numbers[index] += value

    def methods(self) -> Iterator[tuple[str, MethodMetrics]]:
        """Yields the name and the metrics of each method that has been called."""
        layout = self._layout
        for name, index in layout.methods.items():
            start = layout.calls + index * layout.method_size
            numbers = list(self._numbers[start : start + layout.method_size])
            outcomes, exceptions, seconds, sums, active = (numbers[part] for part in layout.parts)
            if any(outcomes) or any(active):
                yield name, MethodMetrics(outcomes, exceptions, seconds, sums, active[0])

    def clients(self) -> dict[str, CallerMetrics]:
        """Returns the metrics of each client kind."""
        return dict(zip(CLIENTS, self._callers(self._layout.client_calls, len(CLIENTS)), strict=True))

    def users(self) -> dict[str, CallerMetrics]:
        """Returns the metrics of the users that are counted separately, and of all others as OTHER."""
        names = [OTHER, *self._users.names()]
        return dict(zip(names, self._callers(self._layout.user_calls, len(names)), strict=True))

    def _callers(self, start: int, count: int) -> Iterator[CallerMetrics]:
        for first in range(start, start + count * _CALLER_SIZE, _CALLER_SIZE):
            *outcomes, seconds = self._numbers[first : first + _CALLER_SIZE]
            yield CallerMetrics(outcomes, seconds)

    def statements(self) -> list[float]:
        """Returns the histogram of SQL statement durations: the count of each bucket of SECONDS, then the sum."""
        return list(self._numbers[self._layout.statements : self._layout.requests])

    def requests(self) -> list[float]:
        """Returns the histogram of request sizes: the count of each bucket of BYTES, then the sum."""
        return list(self._numbers[self._layout.requests : self._layout.replies])

    def replies(self) -> list[float]:
        """Returns the histogram of reply sizes: the count of each bucket of BYTES, then the sum."""
        return list(self._numbers[self._layout.replies : self._layout.calls])

    def add_slow_call(self, call: dict[str, Any]) -> None:
        """Keeps a slow call. The oldest one is dropped when 50 are kept."""
        with self._lock:
            self._slow_calls = [*self._slow_calls[1 - _MAX_SLOW_CALLS :], call]
            self._write(0, self._slow_calls)

    def set_calls_in_flight(self, calls: list[dict[str, Any]]) -> None:
        """Replaces the list of calls in flight."""
        self._write(_TEXT_BYTES, calls)

    def slow_calls(self) -> list[dict[str, Any]]:
        """Returns the last slow calls of this worker."""
        return self._read(0)

    def calls_in_flight(self) -> list[dict[str, Any]]:
        """Returns the calls in flight of this worker."""
        return self._read(_TEXT_BYTES)

    def _write(self, offset: int, calls: list[dict[str, Any]]) -> None:
        text = json.dumps(calls).encode()
        while len(text) > _TEXT_BYTES - _TEXT_HEADER.size:
            calls = calls[len(calls) // 2 + 1 :]
            text = json.dumps(calls).encode()
        start = self._text_start + offset
        self._texts[start : start + _TEXT_HEADER.size + len(text)] = (
            _TEXT_HEADER.pack(len(text), zlib.crc32(text)) + text
        )

    def _read(self, offset: int) -> list[dict[str, Any]]:
        start = self._text_start + offset
        # No lock is shared with the writing process. A text that changes while it is read has a wrong checksum, and is
        # read again.
        for _ in range(_READ_ATTEMPTS):
            length, checksum = _TEXT_HEADER.unpack_from(self._texts, start)
            first = start + _TEXT_HEADER.size
            text = self._texts[first : first + min(length, _TEXT_BYTES)]
            if length and zlib.crc32(text) == checksum:
                calls: list[dict[str, Any]] = json.loads(text)
                return calls
        return []
