"""Follows a source until it is stopped: reconnects, and waits while another process follows."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from threading import Event
from typing import Final

from metastore.errors import ConflictError, MetastoreError
from metastore.importing.follower.follower import Follower
from metastore.importing.sources.opening import open_source
from metastore.storage.unit_of_work import Store

_PAUSE: Final = 0.1  # seconds between two readings of a log without new events
_RETRY: Final = 1.0  # seconds after a failure, and between two attempts to get the lock
_REPEAT: Final = 600.0  # seconds after which the same line is reported again
_PROGRESS: Final = 10.0  # seconds between two lines about the position

Report = Callable[[str], object]


class _Reports:
    """Passes lines on, and suppresses repetitions of the same line."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._last = ("", 0.0)

    def __call__(self, line: str) -> None:
        if line != self._last[0] or time.monotonic() - self._last[1] > _REPEAT:
            self._last = line, time.monotonic()
            self._report(line)


def follow(store: Store, address: str, stopped: Event, report: Report) -> None:
    """Follows a source until `stopped` is set. Failures of the source or the database are reported, and retried.

    `report`: receives lines of text.
    """
    say = _Reports(report)
    while not stopped.is_set():
        try:
            with closing(open_source(address)) as source:
                _follow(Follower(source, store, say, lasting=True, another=partial(open_source, address)), stopped, say)
        except ConflictError:
            continue
        except MetastoreError as error:
            say(str(error))
        stopped.wait(_RETRY)


def _follow(follower: Follower, stopped: Event, say: Report) -> None:
    """Follows as long as this process has the lock. Returns if another one has it, or the import is unfinished."""
    with follower.lock() as is_held:
        if not is_held:
            say("another process follows this source, or its import is unfinished: waiting")
            return
        say("this process applies its changes")
        applied, reported, since = 0, 0, time.monotonic()
        while not stopped.is_set():
            step = follower.step()
            applied += step.events
            if applied > reported and time.monotonic() - since > _PROGRESS:
                say(f"at event {step.position}, {applied} events applied")
                reported, since = applied, time.monotonic()
            if not step.events and not step.compared:
                stopped.wait(_PAUSE)
