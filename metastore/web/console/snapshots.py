"""Pages that refreshes share: fifty open tabs of one user cost one query per interval."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, NamedTuple

_MOST: Final = 64  # snapshots that are kept
_OLDEST: Final = 5.0  # seconds
_MAX_AGE: Final = re.compile(r"(?:^|[,\s])max-age=(\d{1,9})(?:$|[,\s])")


class Snapshot(NamedTuple):
    """The body of a page, and its entity tag (RFC 9110, section 8.8.3)."""

    body: bytes
    tag: str


def snapshot(body: bytes) -> Snapshot:
    """Returns the snapshot of a body."""
    return Snapshot(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


class Snapshots:
    """The last snapshot of each page and user. Use it from one event loop only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[Hashable, tuple[float, asyncio.Future[Snapshot]]] = {}  # the oldest first

    async def get(self, key: Hashable, max_age: float, make: Callable[[], Awaitable[Snapshot]]) -> Snapshot:
        """Returns a snapshot that was begun at most `max_age` seconds ago, or makes a new one.

        `key` must contain everything that the page depends on, above all the user. Raises the errors of `make`.
        """
        now = self._clock()
        begun, known = self._known.get(key, (0.0, None))
        if known and max_age > 0 and now - begun <= min(max_age, _OLDEST) and not _has_failed(known):
            return await asyncio.shield(known)
        new = asyncio.ensure_future(make())
        self._known.pop(key, None)
        self._known[key] = now, new
        self._forget(now)
        return await asyncio.shield(new)

    def _forget(self, now: float) -> None:
        for key, (begun, _) in list(self._known.items()):
            if len(self._known) <= _MOST and now - begun <= _OLDEST:
                return
            del self._known[key]


def max_age(cache_control: str) -> float:
    """Returns the age in seconds that a request accepts (RFC 9111, section 5.2.1.1); 0 if it states none."""
    match = _MAX_AGE.search(cache_control.lower())
    return float(match[1]) if match else 0.0


def _has_failed(future: asyncio.Future[Snapshot]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
