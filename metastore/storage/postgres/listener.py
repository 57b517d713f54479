"""Listener between servers: what one commits wakes those who wait at another (PostgreSQL's LISTEN and NOTIFY).

One connection and one thread a process, from the first who waits.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import threading
from time import monotonic
from typing import Any, Final

import psycopg2  # type: ignore[import-untyped] # it has no types, and SQLAlchemy no LISTEN
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.engine import make_url

from metastore.storage.postgres.engine import LIVELY
from metastore.storage.postgres.watch import Link

CHANNEL: Final = "metastore_partitions"
"""On which it is announced that there are new partitions."""

log = logging.getLogger("metastore.postgres")

_PAUSE: Final = 1.0  # seconds before a lost connection is tried again
_SILENCE: Final = 10.0  # seconds after which PostgreSQL is asked for a word, so that it is noticed if it has none


class Listener:
    """Counts what was announced: who waits compares the count with the one that it has seen."""

    def __init__(self, url: str) -> None:
        """`url`: a PostgreSQL URL, as `make_engine` takes it. Nothing is connected yet."""
        # As SQLAlchemy reads it: hosts with their ports may be several parameters, which libpq does not know.
        _, self._parameters = PGDialect_psycopg2().create_connect_args(make_url(url))  # type: ignore[no-untyped-call]
        self._changed = threading.Condition()
        self._count = 0
        self._listening = False
        self._thread: threading.Thread | None = None
        self._stop, self._stopper = os.pipe()

    def count(self, timeout: float) -> int:
        """Returns what was announced up to now. The first call begins to listen, and waits `timeout` seconds at most
        for it."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="listener", daemon=True)
                self._thread.start()
            self._changed.wait_for(lambda: self._listening, timeout)
            return self._count

    def wait(self, seen: int, timeout: float) -> None:
        """Returns when something was announced after `seen`, or after `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout)

    def close(self) -> None:
        """Stops listening, and wakes who waits."""
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
                log.warning("not listening to PostgreSQL, it is tried again: %s", " ".join(str(error).split()))
            # Whatever was announced meanwhile is lost: everybody looks again, and again when there is a connection.
            self._announce(listening=False)
            stopped = stopped or bool(select.select([self._stop], [], [], _PAUSE)[0])

    def _connect(self) -> Link:
        parameters = LIVELY | self._parameters | {"application_name": "metastore listener"}
        connection: Link = psycopg2.connect(**parameters, connection_factory=Link)
        connection.autocommit = True
        self._say(connection, f"LISTEN {CHANNEL}")
        return connection

    def _follow(self, connection: Link) -> bool:
        """Until the end of the process (true); raises when the connection is lost."""
        both: list[Any] = [connection, self._stop]
        while True:
            ready = select.select(both, [], [], _SILENCE)[0]
            if self._stop in ready:
                return True
            if ready:
                connection.poll()
            else:
                self._say(connection, "SELECT 1")
            if connection.notifies:
                connection.notifies.clear()
                self._announce(listening=True)

    def _say(self, connection: Link, statement: str) -> None:
        connection.statement_started = monotonic()
        with connection.cursor() as cursor:
            cursor.execute(statement)
        connection.statement_started = 0.0

    def _announce(self, *, listening: bool) -> None:
        with self._changed:
            self._listening = listening
            self._count += 1
            self._changed.notify_all()
