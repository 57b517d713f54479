"""The board: figures that every worker writes into memory which it shares with the process that shows them.

A worker's place outlives it: the one that replaces it counts on, so that totals never fall.
"""

from __future__ import annotations

import itertools
import json
import mmap
import operator
import struct
import threading
import zlib
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from metastore.domain.client_kinds import CLIENTS
from metastore.identity import METHODS

SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram of calls."""
BYTES: Final = (256.0, 1024.0, 4096.0, 16384.0, 65536.0, 2.0**18, 2.0**20, 2.0**22, 2.0**24, 2.0**26)
DECLARED: Final = "declared"
OUTCOMES: Final = ("ok", DECLARED, "refused", "failed")
WIRE_FORMATS: Final = ("binary", "compact", "framed binary", "framed compact", "http")
SECURITY: Final = tuple(
    "+".join(filter(None, both)) or "none" for both in itertools.product(("", "tls"), ("", *METHODS))
)
CONNECTION_KINDS: Final = tuple(itertools.product(WIRE_FORMATS, SECURITY, CLIENTS))
"""Of connections: how messages come, what protects them and proves who calls, who seems to speak."""
GAUGES: Final = (
    "pid",
    "connections",
    "calls_in_flight",
    "calls_waiting",
    "resident_bytes",
    "pool_used",
    "pool_size",
)
TOTALS: Final = ("queued_calls", "queued_seconds")
SUMS: Final = ("seconds", "database", "waiting", "statements", "partitions")  # of a method

_SLOW: Final = 50  # slow calls that are kept, of a worker
_TEXTS: Final = 2**16  # bytes for them, and as many for the calls in flight
_TEXT_HEAD: Final = struct.Struct("=II")  # length and checksum: what is read while it is written is read again
_ATTEMPTS: Final = 20


FinishedCall: TypeAlias = tuple[str, int, str, int, int, tuple[float, float, float, float, float], Sequence[float]]
"""A call that has ended: its method; the number of its outcome in OUTCOMES; the name of the exception that was
answered, if one was; bytes of request and reply; as SUMS, seconds first; seconds of each statement."""


class MethodMetrics(NamedTuple):
    """What is known of a method: counts by OUTCOMES, by exception, by SECONDS (and above); SUMS; calls in flight."""

    outcomes: list[float]
    exceptions: list[float]
    seconds: list[float]
    sums: list[float]
    active: float

    def plus(self, other: MethodMetrics) -> MethodMetrics:
        """Returns both together."""
        outcomes, exceptions, seconds, sums = (
            list(map(operator.add, ours, theirs)) for ours, theirs in zip(self[:4], other[:4], strict=True)
        )
        return MethodMetrics(outcomes, exceptions, seconds, sums, self.active + other.active)


class SharedMetrics:
    """To be made before the workers are forked."""

    def __init__(
        self, methods: Sequence[str], workers: int, exceptions: Sequence[str] = (), events: Sequence[str] = ()
    ) -> None:
        """`exceptions`: names of those that methods answer; `events`: types of events."""
        self.layout = _Layout(methods, exceptions, events)
        self._workers = workers
        self._memory = memoryview(mmap.mmap(-1, workers * self.layout.size * 8)).cast("d")
        self._texts = mmap.mmap(-1, workers * 2 * _TEXTS)

    def worker(self, worker: int) -> WorkerMetrics:
        """Returns the place of a worker, for its process alone."""
        start = worker * self.layout.size
        figures = self._memory[start : start + self.layout.size]
        return WorkerMetrics(figures, self.layout, self._texts, worker * 2 * _TEXTS)

    def workers(self) -> Iterator[WorkerMetrics]:
        return (self.worker(worker) for worker in range(self._workers))


class _Layout:
    """Where the figures of a worker are."""

    def __init__(self, methods: Sequence[str], exceptions: Sequence[str], events: Sequence[str]) -> None:
        self.methods = {name: number for number, name in enumerate(methods)}
        self.exceptions = {name: number for number, name in enumerate(exceptions)}
        self.events = {name: number for number, name in enumerate(events)}
        lengths = (len(OUTCOMES), len(exceptions), len(SECONDS) + 1, len(SUMS), 1)
        ends = itertools.accumulate(lengths)
        self.parts = [slice(end - length, end) for length, end in zip(lengths, ends, strict=True)]
        self.of_method = sum(lengths)
        # A sum beside the buckets of each histogram.
        sizes = (
            len(GAUGES),
            len(TOTALS),
            len(CONNECTION_KINDS),
            len(events),
            len(SECONDS) + 2,
            len(BYTES) + 2,
            len(BYTES) + 2,
        )
        starts = itertools.accumulate((*sizes, len(methods) * self.of_method))
        self.totals, self.kinds, self.committed, self.statements = itertools.islice(starts, 4)
        self.requests, self.replies, self.calls, self.size = starts


class WorkerMetrics:
    """What one worker has done."""

    def __init__(self, figures: Any, layout: _Layout, texts: mmap.mmap, at: int) -> None:
        self._figures: Any = figures
        self._layout = layout
        self._texts = texts
        self._text_at = at
        self._lock = threading.Lock()
        self._counted: deque[FinishedCall] = deque()
        self._events: deque[str] = deque()
        self._active = set(
            layout.methods
        )  # that had calls in flight when this was last said: of who was here before, too
        self._slow: list[dict[str, Any]] = []

    def set(self, **gauges: float) -> None:
        for name, value in gauges.items():
            self._figures[GAUGES.index(name)] = value

    def gauges(self) -> dict[str, float]:
        return {name: self._figures[number] for number, name in enumerate(GAUGES)}

    def add(self, **totals: float) -> None:
        """Adds what has come since the last time."""
        for name, value in totals.items():
            self._figures[self._layout.totals + TOTALS.index(name)] += value

    def totals(self) -> dict[str, float]:
        return {name: self._figures[self._layout.totals + number] for number, name in enumerate(TOTALS)}

    def count_connection(self, wire_format: str, security: str, client: str) -> None:
        """Counts a connection, once it is known who speaks."""
        with self._lock:
            self._figures[self._layout.kinds + CONNECTION_KINDS.index((wire_format, security, client))] += 1

    def connection_counts(self) -> dict[tuple[str, str, str], float]:
        """Counts how many there have been, by CONNECTION_KINDS."""
        return {kind: self._figures[self._layout.kinds + number] for number, kind in enumerate(CONNECTION_KINDS)}

    def count_events(self, types: Iterable[str]) -> None:
        """Counts events of the notification log; to be seen by others after `publish`."""
        self._events.extend(types)

    def event_counts(self) -> dict[str, float]:
        """Counts how many this worker has written, by type."""
        at = self._layout.committed
        return {name: self._figures[at + number] for name, number in self._layout.events.items()}

    def count_call(self, call: FinishedCall) -> None:
        """Counts a call; to be seen by others after `publish`."""
        self._counted.append(call)

    def publish(self, active: Mapping[str, int]) -> None:
        """Adds what was counted since the last time: all at once, which takes a fraction of the time.

        `active`: calls in flight, by method.
        """
        layout = self._layout
        self._publish_calls()
        while self._events:
            number = layout.events.get(self._events.popleft())
            if number is not None:
                self._figures[layout.committed + number] += 1
        for name in self._active.union(active) & layout.methods.keys():
            at = layout.calls + layout.methods[name] * layout.of_method + layout.parts[-1].start
            self._figures[at] = active.get(name, 0)
        self._active = set(active)

    def _publish_calls(self) -> None:
        layout, counted = self._layout, self._counted
        _, exceptions, seconds, sums, _ = (part.start for part in layout.parts)
        methods = defaultdict[str, list[float]](lambda: [0.0] * layout.of_method)
        statements = [0.0] * (len(SECONDS) + 2)
        requests, replies = [0.0] * (len(BYTES) + 2), [0.0] * (len(BYTES) + 2)
        while counted:
            method, outcome, exception, request, reply, of_call, of_statements = counted.popleft()
            figures = methods[method]
            figures[outcome] += 1
            if exception in layout.exceptions:
                figures[exceptions + layout.exceptions[exception]] += 1
            figures[seconds + bisect_left(SECONDS, of_call[0])] += 1
            figures[sums:-1] = map(operator.add, figures[sums:-1], of_call)
            for duration in of_statements:
                statements[bisect_left(SECONDS, duration)] += 1
                statements[-1] += duration
            requests[bisect_left(BYTES, request)] += 1
            requests[-1] += request
            replies[bisect_left(BYTES, reply)] += 1
            replies[-1] += reply
        for method in methods.keys() & layout.methods.keys():
            self._add(layout.calls + layout.methods[method] * layout.of_method, methods[method])
        self._add(layout.statements, statements)
        self._add(layout.requests, requests)
        self._add(layout.replies, replies)

    def _add(self, at: int, figures: Sequence[float]) -> None:
        for number, value in enumerate(figures, at):
            if value:
                self._figures[number] += value

    def calls(self) -> Iterator[tuple[str, MethodMetrics]]:
        """Yields what is known of each method that was called."""
        layout = self._layout
        for name, number in layout.methods.items():
            at = layout.calls + number * layout.of_method
            figures = list(self._figures[at : at + layout.of_method])
            outcomes, exceptions, seconds, sums, active = (figures[part] for part in layout.parts)
            if any(outcomes) or any(active):
                yield name, MethodMetrics(outcomes, exceptions, seconds, sums, active[0])

    def statements(self) -> list[float]:
        """Counts by SECONDS (and above), and the sum."""
        return list(self._figures[self._layout.statements : self._layout.requests])

    def sizes(self) -> tuple[list[float], list[float]]:
        """Returns sizes of requests and of replies: counts by BYTES (and above), and the sum."""
        layout = self._layout
        return (
            list(self._figures[layout.requests : layout.replies]),
            list(self._figures[layout.replies : layout.calls]),
        )

    def add_slow_call(self, call: dict[str, Any]) -> None:
        """Keeps a slow call, in place of the oldest one if there are many."""
        with self._lock:
            self._slow = [*self._slow[1 - _SLOW :], call]
            self._write(0, self._slow)

    def set_calls_in_flight(self, calls: list[dict[str, Any]]) -> None:
        """Says which calls are in flight."""
        self._write(_TEXTS, calls)

    def slow_calls(self) -> list[dict[str, Any]]:
        return self._read(0)

    def calls_in_flight(self) -> list[dict[str, Any]]:
        return self._read(_TEXTS)

    def _write(self, offset: int, calls: list[dict[str, Any]]) -> None:
        text = json.dumps(calls).encode()
        while len(text) > _TEXTS - _TEXT_HEAD.size:
            calls = calls[len(calls) // 2 + 1 :]
            text = json.dumps(calls).encode()
        at = self._text_at + offset
        self._texts[at : at + _TEXT_HEAD.size + len(text)] = _TEXT_HEAD.pack(len(text), zlib.crc32(text)) + text

    def _read(self, offset: int) -> list[dict[str, Any]]:
        at = self._text_at + offset
        for _ in range(_ATTEMPTS):
            length, checksum = _TEXT_HEAD.unpack_from(self._texts, at)
            text = self._texts[at + _TEXT_HEAD.size : at + _TEXT_HEAD.size + min(length, _TEXTS)]
            if length and zlib.crc32(text) == checksum:
                found: list[dict[str, Any]] = json.loads(text)
                return found
        return []
