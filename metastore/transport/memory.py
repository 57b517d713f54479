"""What a worker process may take of memory: looked at where it grows, given back where it has."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import threading
import time
from typing import Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_SHARE: Final = 0.65
"""Of the limit, what requests and replies may fill: the rest is for small calls, and for what is allocated between
two looks."""
_SECONDS_BETWEEN_TRIMS: Final = 0.05
_SECONDS_BETWEEN_CLEANINGS: Final = 1.0
_SECONDS_BETWEEN_COLLECTIONS: Final = 5.0
_MUCH: Final = 32 * 2**20  # bytes more than at the start, which are worth to be looked through
_COLLECTED_AFTER: Final = (100_000, 20, 50)
"""Objects made before Python looks for cycles: requests make many and hardly any cycle (by default after 700)."""
_MALLOC: Final = {-8: 1, -3: 2**20}
"""glibc's M_ARENA_MAX: one for all threads, of which one runs at a time; M_MMAP_THRESHOLD (bytes): larger goes back."""


_WORK: Final = 1.5
"""Of what the objects of a message take, what working on them takes beside: rows, names, what is written of them."""
_COPIES: Final = 12
"""Of a large message, how many times its bytes working on it takes in all: objects, statements, events, buffers. Texts
that are stored take up to sixteen, which the rest of the limit is for."""
_LARGE: Final = 2**20  # bytes of a message, below which that is not counted
_SEEN: Final = 16 * 2**20  # bytes of objects, before which what all will take is not known


def work_on(message: int) -> int:
    """Returns the bytes that working on a message of so many is taken for; 0: it is small."""
    return message * _COPIES if message > _LARGE else 0


class OverBudgetError(Exception):
    """There is no memory for this now. The text names the limit; `needs`: bytes; `may_come`: whether so much is ever
    there."""

    def __init__(self, text: str, needs: int, *, may_come: bool) -> None:
        super().__init__(text)
        self.needs, self.may_come = needs, may_come


class Memory:
    """The resident memory of this process, against a limit in bytes. Linux only."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._most = int(limit * _SHARE)
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._idle = self.resident()
        self._claimed = 0  # bytes that will be taken by what is worked on
        self._claiming = threading.Lock()
        self._trimmed = 0.0
        self._collected = 0.0
        self._trim = None
        with contextlib.suppress(AttributeError):  # another C library than glibc
            self._trim = ctypes.CDLL(None).malloc_trim

    def resident(self) -> int:
        """Bytes (proc(5), statm)."""
        return int(os.pread(self._statm, 64, 0).split(b" ", 2)[1]) * _PAGE

    def allows(self, more: int = 0, *, alone: bool = False) -> bool:
        """Tells whether so many bytes more are within what requests and replies may take. `alone`: for the one large
        call that is worked on, all of the limit."""
        more += self._claimed
        most = self._limit if alone else self._most
        if self.resident() + more <= most:
            return True
        self.give_back()
        return self.resident() + more <= most

    def claim(self, change: int) -> None:
        """Keeps so many bytes for what will take them; negative: they are open to others again."""
        with self._claiming:
            self._claimed += change

    def is_claimed_beside(self, claimed: int) -> bool:
        """Tells whether others than who has claimed so many bytes are at work: this process grows by them, too."""
        return self._claimed > claimed

    @property
    def refusal(self) -> str:
        """What a client is told."""
        return (
            f"No memory for this call now: the limit is {self._limit} bytes a worker (METASTORE_MEMORY_LIMIT); "
            "send or ask for less at once, or try again later"
        )

    @property
    def room(self) -> int:
        """Bytes that requests and replies may take when all else is as it was at the start, and a little more."""
        return int((self._most - self._idle) * 0.8)

    def share(self, others: int) -> int:
        """Bytes of messages and replies that one address may have, when it has any, beside so many others: a quarter of
        all is left for one more."""
        return (self._most - self._idle) * 3 // 4 // (others + 1)

    def give_back_what_is_free(self) -> None:
        """Gives back what is free where there may be much; to be called again and again."""
        now = time.monotonic()
        if now - self._trimmed > _SECONDS_BETWEEN_CLEANINGS and self.resident() > self._idle + _MUCH:
            self.give_back()
        if now - self._collected > _SECONDS_BETWEEN_COLLECTIONS and self.resident() > self._idle + 3 * _MUCH:
            self._collected = now
            gc.collect()

    def give_back(self) -> None:
        """Gives the kernel back what is free; not more often than makes sense."""
        now = time.monotonic()
        if self._trim is not None and now - self._trimmed > _SECONDS_BETWEEN_TRIMS:
            self._trimmed = now
            self._trim(0)

    def close(self) -> None:
        os.close(self._statm)


class DecodingMemory:
    """What the objects of one message take: measured piece by piece, and claimed for the work on them.

    A byte of a message may be a struct of 150 bytes, or a letter of a text. Other threads seldom grow meanwhile: the
    decoder lets none of them run.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._before = 0
        self._made = 0
        self._claimed = 0

    def begin(self) -> None:
        """Begins to count: a piece is decoded from now on."""
        self._before = self._memory.resident()

    def end(self, decoded: int, ahead: int, left: int, text: int) -> None:
        """It has been. `decoded` bytes are objects now, `ahead` come next, out of `left`, or a text of `text` bytes.

        Raises OverBudgetError where there is no memory for these.
        """
        self._made += max(0, self._memory.resident() - self._before)
        each = self._made / max(1, decoded)
        next_made = text or int(each * ahead)
        memory, work = self._memory, work_on(decoded + left)
        claim = max(int((self._made + next_made) * _WORK), work - self._made)
        kept = claim == work - self._made  # before it was begun
        if work > memory.room or not (kept or memory.allows(next_made + claim - self._claimed)):
            needs = text + int(each * (decoded + left - text) * (1 + _WORK))
            guessed = not text and (self._made < _SEEN or memory.is_claimed_beside(self._claimed))
            may_come = work <= memory.room and (guessed or max(needs, text + claim) <= memory.room)
            raise OverBudgetError(memory.refusal, max(needs, work), may_come=may_come)
        self._memory.claim(claim - self._claimed)
        self._claimed = claim

    def forget(self) -> None:
        """Forgets the message, which has been worked on."""
        if self._claimed:
            self._memory.claim(-self._claimed)
        self._made = self._claimed = 0


def prepare() -> None:
    """Before there are threads: so that memory of large messages is given back, and objects are not looked at often."""
    gc.collect()
    gc.freeze()  # what is there now stays
    gc.set_threshold(*_COLLECTED_AFTER)
    with contextlib.suppress(AttributeError):  # another C library than glibc
        library = ctypes.CDLL(None)
        library.malloc_trim(0)  # what compiling the modules took: 40 MB where Python may not write them compiled
        for parameter, value in _MALLOC.items():
            library.mallopt(parameter, value)
