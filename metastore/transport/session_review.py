"""Ends the connections of users whose credentials are no longer valid, and connections that are too old."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from metastore.transport.connection import Connection
from metastore.transport.listener import Authenticator
from metastore.transport.worker_pool import WorkerPool

logger = logging.getLogger("metastore.transport")

_INTERVAL: Final = 5.0  # seconds
_GRACE: Final = 30.0  # seconds for a running call to end before its connection is closed


class SessionReview:
    """Reviews the connections of a worker every five seconds."""

    def __init__(
        self,
        pool: WorkerPool,
        authenticator: Authenticator,
        max_age: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`max_age`: seconds; 0: no limit."""
        self._pool = pool
        self._authenticator = authenticator
        self._max_age = max_age
        self._clock = clock
        self._noticed: dict[int, float] = {}  # when a connection was first found to be invalid, by its object's id

    def run(self, stop: threading.Event) -> None:
        """Reviews until `stop` is set."""
        while not stop.wait(_INTERVAL):
            try:
                self.review()
            except Exception:  # the next review may succeed
                logger.exception("sessions could not be reviewed")

    def review(self) -> None:
        """Closes invalid connections: idle ones at once, others when their call has ended or after a grace time."""
        now = self._clock()
        sessions = self._pool.sessions()
        reasons = self._authenticator.ended([identity for _, identity in sessions])
        noticed = {}
        for (connection, _), ended in zip(sessions, reasons, strict=True):
            reason = ended or self._reason(connection, now)
            if reason:
                since = noticed[id(connection)] = self._noticed.get(id(connection), now)
                self._pool.end_session(connection, reason, cut=now - since >= _GRACE)
        self._noticed = noticed

    def _reason(self, connection: Connection, now: float) -> str:
        """Returns the reason why a connection with a valid credential has to end, or an empty text."""
        if self._max_age and now - connection.opened > self._max_age:
            return f"it is older than {self._max_age:g} s (METASTORE_SESSION_MAX_AGE)"
        if connection.handshake.must_verify_again:
            return "the files of certificates have changed, so the client's must be verified again"
        return ""
