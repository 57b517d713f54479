"""Waiting for a connection: in which share of the places, and how long during a short outage of PostgreSQL.

Calls wait for the end of a fail-over or of a restart instead of failing.
"""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import Final
from weakref import WeakValueDictionary

from metastore.context import caller

PATIENCE: Final = 10.0
"""Seconds of an outage for which calls wait. Later calls fail at once, and so do background jobs."""
_PAUSE: Final = 0.1  # seconds between two attempts
_FOR_OTHERS: Final = 4  # one place in four, and at least one, is left for other users


class Outage:
    """Limits how long callers wait for an unusable database, counted from the first failure.

    A caller may wait only if the database has executed nothing for it.
    """

    def __init__(self, patience: float) -> None:
        """`patience`: seconds; 0 to never wait."""
        self._patience = patience
        self._began: float | None = None

    def waited(self) -> bool:
        """Records a failure and sleeps a moment. Returns False, without sleeping, if the outage is too long."""
        now = time.monotonic()
        began = self._began  # read once: another thread may call `ended` at any time
        if began is None:
            began = self._began = now
        if now - began >= self._patience:
            return False
        time.sleep(_PAUSE)
        return True

    def ended(self) -> None:
        """Records that the database can be used."""
        self._began = None


class Share(SimpleQueue[None]):
    """A counting semaphore: a queue wakes waiting threads in order, and is faster than threading.Semaphore."""

    def __init__(self, count: int) -> None:
        for _ in range(count):
            self.put(None)


class Places:
    """A counting semaphore with a share for each authenticated user.

    Timers, which have no caller, may take all places. So may users who are not authenticated: without authentication,
    all clients often have one name, and anybody can have several.
    """

    def __init__(self, count: int) -> None:
        self._free = Share(count)
        self._of_user = max(1, count - max(1, count // _FOR_OTHERS))
        self._shares: WeakValueDictionary[str | None, Share] = WeakValueDictionary()  # of users with calls
        self._lock = threading.Lock()

    @property
    def free(self) -> int:
        """Number of free places."""
        return self._free.qsize()

    def take(self, timeout: float) -> Share | None:
        """Takes a place. Returns what `give_back` needs. Raises queue.Empty after `timeout` seconds."""
        current = caller.get()
        share = self._share(current.user) if current and current.authentication else None
        ends_at = time.monotonic() + timeout
        if share is not None:  # first: a user's further calls must not hold a place while they wait
            share.get(timeout=timeout)
        try:
            self._free.get(timeout=max(0, ends_at - time.monotonic()))
        except BaseException:
            if share is not None:
                share.put(None)
            raise
        return share

    def give_back(self, share: Share | None) -> None:
        """Gives a place back. `share`: the result of `take`."""
        self._free.put(None)
        if share is not None:
            share.put(None)

    def _share(self, user: str | None) -> Share:
        with self._lock:
            share = self._shares.get(user)
            if share is None:
                self._shares[user] = share = Share(self._of_user)
            return share
