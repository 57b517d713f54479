"""The memory of a worker process: how much client addresses and calls use, and the limit, checked before memory grows.

Freed memory is returned to the kernel.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_REQUEST_SHARE: Final = 0.65
"""Share of the limit for requests and replies. The rest is for small calls, and for growth between two checks."""
_TRIM_INTERVAL: Final = 0.05  # minimum seconds between two calls of malloc_trim
_IDLE_TRIM_INTERVAL: Final = 1.0  # the same while memory is not short
_COLLECT_INTERVAL: Final = 5.0  # seconds between garbage collections while much memory is used
_WORTH_TRIMMING: Final = 32 * 2**20  # bytes above the memory at start
_GC_THRESHOLDS: Final = (100_000, 20, 50)
"""Allocations before Python looks for reference cycles. Calls allocate much and hardly form cycles (default: 700)."""
_MALLOPT: Final = {-8: 1, -3: 2**20}
"""glibc: M_ARENA_MAX 1, because Python runs one thread at a time; M_MMAP_THRESHOLD, larger blocks return at once."""

_WORK_FACTOR: Final = 1.5  # memory for working on decoded objects (rows, names, SQL), as a multiple of the objects
_MESSAGE_FACTOR: Final = 12
"""Memory for decoding and executing a large request, as a multiple of its bytes: objects, statements, events, buffers.
Texts that are stored take up to 16 times; the rest of the limit covers that."""
_BLOCK: Final = 136  # bytes of a decoded object: a block of Python's allocator, and the reference to it
_LARGE_MESSAGE: Final = 2**20  # bytes; smaller requests are not estimated by their size

_SIGNIFICANT: Final = 2**18  # bytes  # of an address in buffers and calls


def decoding_memory(message: int) -> int:
    """Returns the memory in bytes that a request of so many bytes is expected to need; 0 if it is small."""
    return message * _MESSAGE_FACTOR if message > _LARGE_MESSAGE else 0


class Address:
    """The usage of one client address, or of a /64 network of IPv6 addresses. Guarded by the worker pool's lock.

    Sizes in bytes.
    """

    def __init__(self, host: str) -> None:
        self.host = host
        self.connections = 0
        self.calls = 0  # calls that are executed
        self.held = 0  # size of its requests and replies in buffers, as of the last `WorkerPool.check`
        self.reserved = 0  # memory that its executed calls are expected to use

    @property
    def uses_memory(self) -> bool:
        """Whether it uses enough memory to be counted when memory is divided between addresses."""
        return self.held + self.reserved > _SIGNIFICANT


@dataclass(slots=True)
class CallEstimate:
    """The estimated memory of the call that a connection has queued or executes.

    Attributes:
        required: bytes without which a large request cannot be decoded; 0 if it is small.
        large_reply: whether an attempt to execute the call has found that its reply is large.
        alone: whether decoding the request ran out of memory: it is repeated while no other large call runs.
        queued: monotonic time when the call was first queued; 0: never.
    """

    required: int = 0
    large_reply: bool = False
    alone: bool = False
    queued: float = 0.0

    @property
    def is_large(self) -> bool:
        """Whether the call may have to wait for memory."""
        return self.required > 0 or self.large_reply or self.alone


class OverBudgetError(Exception):
    """There is not enough memory for a request. `may_fit_alone`: whether it may fit if no other large call runs."""

    def __init__(self, text: str, *, may_fit_alone: bool) -> None:
        super().__init__(text)
        self.may_fit_alone = may_fit_alone


class Memory:
    """Compares the resident memory of this process with a limit in bytes. Linux only."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._request_limit = int(limit * _REQUEST_SHARE)
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._at_start = self.resident()
        self._reserved = 0  # bytes that executed calls will still allocate
        self._kept = 0  # bytes that an idle worker keeps, in addition to those at the start
        self.alone_from: int | None = None  # resident memory when a large call began to run alone
        self._lock = threading.Lock()
        self._trimmed = 0.0
        self._collected = 0.0
        self._trim = None
        with contextlib.suppress(AttributeError):  # a C library other than glibc
            self._trim = ctypes.CDLL(None).malloc_trim

    def resident(self) -> int:
        """Returns the resident memory in bytes (proc(5), statm)."""
        return int(os.pread(self._statm, 64, 0).split(b" ", 2)[1]) * _PAGE

    def allows(self, more: int = 0, *, alone: bool = False) -> bool:
        """Returns whether requests and replies may use this many more bytes.

        `alone`: the whole limit counts, for the only large call of the worker. While such a call runs, only the growth
        since its start counts.
        """
        more += self._reserved
        limit = self._limit if alone else min(self._limit, self._request_limit + self._kept)
        if self.alone_from is not None:
            limit = max(limit, self.alone_from + self.request_budget)
        if self.resident() + more <= limit:
            return True
        self.trim()
        return self.resident() + more <= limit

    def reserve(self, change: int) -> None:
        """Reserves this many bytes; a negative number releases them."""
        with self._lock:
            self._reserved += change

    def note_idle(self) -> None:
        """Records the memory that the idle worker keeps. The allocator reuses it, so it does not count for requests."""
        self._kept = max(0, self.resident() - self._at_start)

    @property
    def rejection(self) -> str:
        """The error text for clients."""
        return (
            f"No memory for this call now: the limit is {self._limit} bytes a worker (METASTORE_MEMORY_LIMIT); "
            "send or request less data at once, or try again later"
        )

    @property
    def request_budget(self) -> int:
        """Bytes that requests and replies may use in an idle worker, with a margin."""
        return int((self._request_limit - self._at_start) * 0.8)

    def address_budget(self, others: int) -> int:
        """Returns the bytes that one address may use in addition to so many others. A quarter is kept for one more."""
        return (self._request_limit - self._at_start) * 3 // 4 // (others + 1)

    def trim_if_due(self) -> None:
        """Returns freed memory to the kernel if it may be much. Call it periodically."""
        now = time.monotonic()
        if now - self._trimmed > _IDLE_TRIM_INTERVAL and self.resident() > self._at_start + _WORTH_TRIMMING:
            self.trim()
        if now - self._collected > _COLLECT_INTERVAL and self.resident() > self._at_start + 3 * _WORTH_TRIMMING:
            self._collected = now
            gc.collect()

    def trim(self) -> None:
        """Returns freed memory to the kernel, at most 20 times a second."""
        now = time.monotonic()
        if self._trim is not None and now - self._trimmed > _TRIM_INTERVAL:
            self._trimmed = now
            self._trim(0)


class DecodingMemory:
    """Measures how much memory the objects of one message take, piece by piece, and reserves memory for the call.

    A byte of a message may become a struct of 150 bytes or one letter of a string. Other threads hardly disturb the
    count of blocks: the C decoder holds the interpreter lock, and large results do not come from Python's allocator. A
    request that does not fit is decoded again, while no other large call runs, before it is rejected.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._blocks_before = 0  # blocks of Python's allocator before the piece
        self._blocks = 0  # blocks that decoding has allocated
        self._reserved = 0

    def start_piece(self) -> None:
        """Starts the measurement of one piece."""
        self._blocks_before = sys.getallocatedblocks()

    def finish_piece(self, decoded: int, ahead: int, left: int, text: int) -> None:
        """Ends the measurement of a piece, and reserves memory for the next one and for executing the call.

        `decoded`: bytes of the message that are objects now. `ahead`: bytes of the next piece. `left`: bytes that are
        not decoded. `text`: bytes of a large string that comes next, or 0. Raises OverBudgetError.
        """
        memory = self._memory
        self._blocks += max(0, sys.getallocatedblocks() - self._blocks_before)
        objects = decoded + self._blocks * _BLOCK
        next_objects = text or objects * ahead // max(1, decoded)
        by_size = decoding_memory(decoded + left)
        reserve = max(int((objects + next_objects) * _WORK_FACTOR), by_size - objects)
        admitted = reserve == by_size - objects  # `Admission` has checked this amount before the call began
        too_large = by_size > memory.request_budget
        if too_large or not (admitted or memory.allows(next_objects + reserve - self._reserved)):
            raise OverBudgetError(memory.rejection, may_fit_alone=not too_large)
        memory.reserve(reserve - self._reserved)
        self._reserved = reserve

    def release(self) -> None:
        """Releases the reserved memory after the call."""
        if self._reserved:
            self._memory.reserve(-self._reserved)
        self._blocks = self._reserved = 0


def prepare() -> None:
    """Configures malloc and the garbage collector for large messages. Call it before threads are started."""
    gc.collect()
    gc.freeze()  # modules stay: the collector need not look at them again
    gc.set_threshold(*_GC_THRESHOLDS)
    with contextlib.suppress(AttributeError):  # a C library other than glibc
        library = ctypes.CDLL(None)
        library.malloc_trim(0)  # compiling modules takes 40 MB where Python may not write its cache
        for parameter, value in _MALLOPT.items():
            library.mallopt(parameter, value)
