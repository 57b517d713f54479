"""The board: figures that every worker writes into memory which it shares with the process that shows them.

A worker's place outlives it: the one that replaces it counts on, so that totals never fall.
"""

from __future__ import annotations

import json
import mmap
import struct
import threading
import zlib
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram of calls."""
BYTES: Final = (256.0, 1024.0, 4096.0, 16384.0, 65536.0, 2.0**18, 2.0**20, 2.0**22, 2.0**24, 2.0**26)
OUTCOMES: Final = ("ok", "declared", "refused", "failed")
CLIENTS: Final = ("java", "pyiceberg", "other")
GAUGES: Final = (
    "pid",
    "connections",
    "calls_in_flight",
    "calls_waiting",
    "resident_bytes",
    "pool_used",
    "pool_size",
)
SUMS: Final = ("seconds", "database", "waiting", "statements", "partitions")  # of a method

_SLOW: Final = 50  # slow calls that are kept, of a worker
_TEXTS: Final = 2**16  # bytes for them, and as many for the calls in flight
_TEXT_HEAD: Final = struct.Struct("=II")  # length and checksum: what is read while it is written is read again
_ATTEMPTS: Final = 20


class Board:
    """To be made before the workers are forked."""

    def __init__(self, methods: Sequence[str], workers: int) -> None:
        self.methods = tuple(methods)
        self._numbers = {name: number for number, name in enumerate(self.methods)}
        self._of_method = len(OUTCOMES) + len(SECONDS) + 1 + len(SUMS)
        self._of_worker = (
            len(GAUGES) + len(CLIENTS) + 2 * (len(BYTES) + 2) + len(self.methods) * self._of_method
        )  # of bytes, a sum beside the buckets
        self._workers = workers
        self._memory = memoryview(mmap.mmap(-1, workers * self._of_worker * 8)).cast("d")
        self._texts = mmap.mmap(-1, workers * 2 * _TEXTS)

    def place(self, worker: int) -> Place:
        """Returns the place of a worker, for its process alone."""
        start = worker * self._of_worker
        figures = self._memory[start : start + self._of_worker]
        return Place(figures, self._numbers, self._of_method, self._texts, worker * 2 * _TEXTS)

    def places(self) -> Iterator[Place]:
        return (self.place(worker) for worker in range(self._workers))


class Place:
    """What one worker has done."""

    def __init__(self, figures: Any, numbers: dict[str, int], of_method: int, texts: mmap.mmap, at: int) -> None:
        self._figures: Any = figures
        self._numbers = numbers
        self._of_method = of_method
        self._texts = texts
        self._text_at = at
        self._lock = threading.Lock()
        self._counted: deque[tuple[str, int, int, int, Sequence[float]]] = deque()
        self._slow: list[dict[str, Any]] = []
        self._clients = len(GAUGES)
        self._requests = self._clients + len(CLIENTS)
        self._replies = self._requests + len(BYTES) + 2
        self._methods = self._replies + len(BYTES) + 2

    def set(self, **gauges: float) -> None:
        for name, value in gauges.items():
            self._figures[GAUGES.index(name)] = value

    def gauges(self) -> dict[str, float]:
        return {name: self._figures[number] for number, name in enumerate(GAUGES)}

    def connected(self, client: str) -> None:
        """Counts a connection, once it is known who speaks."""
        with self._lock:
            self._figures[self._clients + CLIENTS.index(client)] += 1

    def clients(self) -> dict[str, float]:
        return {name: self._figures[self._clients + number] for number, name in enumerate(CLIENTS)}

    def count(self, method: str, outcome: int, request: int, reply: int, sums: Sequence[float]) -> None:
        """Counts a call; to be seen by others after `publish`.

        `outcome`: its number in OUTCOMES; sizes in bytes; `sums`: as SUMS, seconds first.
        """
        self._counted.append((method, outcome, request, reply, sums))

    def publish(self) -> None:
        """Adds what was counted since the last time: all at once, which takes a fraction of the time."""
        methods: dict[str, list[float]] = {}
        sizes = [[0.0] * (len(BYTES) + 2) for _ in range(2)]
        while self._counted:
            method, outcome, request, reply, sums = self._counted.popleft()
            figures = methods.get(method)
            if figures is None:
                figures = methods[method] = [0.0] * self._of_method
            figures[outcome] += 1
            figures[len(OUTCOMES) + bisect_left(SECONDS, sums[0])] += 1
            for number, value in enumerate(sums, len(OUTCOMES) + len(SECONDS) + 1):
                figures[number] += value
            for of_one, size in zip(sizes, (request, reply), strict=True):
                of_one[bisect_left(BYTES, size)] += 1
                of_one[-1] += size
        for method, figures in methods.items():
            if method in self._numbers:
                self._add(self._methods + self._numbers[method] * self._of_method, figures)
        self._add(self._requests, sizes[0])
        self._add(self._replies, sizes[1])

    def _add(self, at: int, figures: Sequence[float]) -> None:
        for number, value in enumerate(figures, at):
            if value:
                self._figures[number] += value

    def calls(self) -> Iterator[tuple[str, list[float], list[float], list[float]]]:
        """Of each method that was called: its name, counts by OUTCOMES, by SECONDS (and above), and SUMS."""
        for name, number in self._numbers.items():
            at = self._methods + number * self._of_method
            figures = list(self._figures[at : at + self._of_method])
            outcomes, rest = figures[: len(OUTCOMES)], figures[len(OUTCOMES) :]
            if any(outcomes):
                yield name, outcomes, rest[: len(SECONDS) + 1], rest[len(SECONDS) + 1 :]

    def sizes(self) -> tuple[list[float], list[float]]:
        """Of requests and of replies: counts by BYTES (and above), and the sum."""
        of_one = len(BYTES) + 2
        return (
            list(self._figures[self._requests : self._requests + of_one]),
            list(self._figures[self._replies : self._replies + of_one]),
        )

    def note_slow(self, call: dict[str, Any]) -> None:
        """Keeps a slow call, in place of the oldest one if there are many."""
        with self._lock:
            self._slow = [*self._slow[1 - _SLOW :], call]
            self._write(0, self._slow)

    def note_now(self, calls: list[dict[str, Any]]) -> None:
        """Says which calls are in flight."""
        self._write(_TEXTS, calls)

    def slow(self) -> list[dict[str, Any]]:
        return self._read(0)

    def now(self) -> list[dict[str, Any]]:
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
