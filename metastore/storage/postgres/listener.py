"""Notifications between servers (LISTEN and NOTIFY): a commit on one server wakes calls that wait on another.

Each process has one connection and one thread for it, which start when the first call waits.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from time import monotonic
from typing import Any, Final

import psycopg2  # type: ignore[import-untyped] # it has no types; SQLAlchemy does not support LISTEN

from metastore.descriptors import readable
from metastore.settings import Settings
from metastore.settings.sections import TRANSACTION
from metastore.storage.postgres.connect import connect, parameters_of
from metastore.storage.postgres.driver import Link
from metastore.storage.postgres.engine import LIVELY

CHANNEL: Final = "metastore_partitions"
"""The channel on which new partitions are announced."""

log = logging.getLogger("metastore.postgres")

_PAUSE: Final = 1.0  # seconds before reconnecting
_POLL_INTERVAL: Final = 1.0  # seconds
_SILENCE: Final = 10.0  # seconds without a notification after which the connection is checked with a query


def make_listener(settings: Settings, url: str) -> Listener | PollingListener:
    """Returns a listener on PostgreSQL itself, or one that polls if only a pooler that shares sessions is known."""
    if settings.database_pooler == TRANSACTION and not settings.database_direct_url:
        return PollingListener()
    return Listener(settings.database_direct_url or url)


class PollingListener:
    """Wakes all waiting calls once a second, so that they look at the database themselves."""

    def __init__(self) -> None:
        self._count = 0
        self._closed = threading.Event()

    def count(self, _timeout: float) -> int:
        """Returns a number that differs after each `wait`."""
        return self._count

    def wait(self, _seen: int, timeout: float) -> None:
        """Waits for a second, or for `timeout` seconds."""
        self._closed.wait(min(timeout, _POLL_INTERVAL))
        self._count += 1

    def close(self) -> None:
        """Wakes all waiting calls."""
        self._closed.set()


class Listener:
    """Counts notifications. A waiting call compares the count with the one it saw before."""

    def __init__(self, url: str) -> None:
        """`url`: a PostgreSQL URL, as for `make_engine`. Does not connect yet."""
        self._parameters = parameters_of(url)
        self._changed = threading.Condition()
        self._count = 0
        self._listening = False
        self._thread: threading.Thread | None = None
        self._stop, self._stopper = os.pipe()

    def count(self, timeout: float) -> int:
        """Returns the number of notifications. The first call starts listening, within `timeout` seconds."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="listener", daemon=True)
                self._thread.start()
            self._changed.wait_for(lambda: self._listening, timeout)
            return self._count

    def wait(self, seen: int, timeout: float) -> None:
        """Waits until the count differs from `seen`, or for `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout)

    def close(self) -> None:
        """Stops listening, and wakes all waiting calls."""
        os.close(self._stopper)
        if self._thread is not None:
            self._thread.join()
        os.close(self._stop)
        self._announce(listening=False)

    def _listen(self) -> None:
        stopped = False
        while not stopped:
            try:
                with contextlib.closing(self._connect()) as connection:
                    self._announce(listening=True)
                    stopped = self._follow(connection)
            except psycopg2.Error as error:
                log.warning(
                    "lost the connection that listens to PostgreSQL, reconnecting: %s", " ".join(str(error).split())
                )
            # Notifications are lost without a connection: wake all waiting calls now, and again after reconnecting.
            self._announce(listening=False)
            stopped = stopped or bool(readable([self._stop], _PAUSE))

    def _connect(self) -> Link:
        parameters = LIVELY | self._parameters | {"application_name": "metastore listener", "connection_factory": Link}
        connection: Link = connect(parameters)
        connection.autocommit = True
        self._execute(connection, f"LISTEN {CHANNEL}")
        return connection

    def _follow(self, connection: Link) -> bool:
        """Counts notifications until `close` (returns True). Raises psycopg2.Error when the connection is lost."""
        both: list[Any] = [connection, self._stop]
        while True:
            ready = readable(both, _SILENCE)
            if self._stop in ready:
                return True
            if ready:
                connection.poll()
            else:
                self._execute(connection, "SELECT 1")
            if connection.notifies:
                connection.notifies.clear()
                self._announce(listening=True)

    def _execute(self, connection: Link, statement: str) -> None:
        connection.statement_started = monotonic()
        with connection.cursor() as cursor:
            cursor.execute(statement)
        connection.statement_started = 0.0

    def _announce(self, *, listening: bool) -> None:
        with self._changed:
            self._listening = listening
            self._count += 1
            self._changed.notify_all()
