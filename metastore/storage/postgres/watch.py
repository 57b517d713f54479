"""Aborts statements whose PostgreSQL host has stopped answering.

A host can fall silent while a middlebox still acknowledges the packets sent to it. Neither libpq nor statement_timeout
detects that: libpq waits without a limit, and statement_timeout is enforced by the silent server.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Final, TypeAlias
from weakref import WeakSet

from psycopg2 import Error, extensions  # type: ignore[import-untyped] # it has no types

log = logging.getLogger("metastore.postgres")

PATIENCE: Final = 5.0  # seconds that a statement may run before the server is probed
_ANSWER: Final = 3.0  # seconds that the server has to answer the probe
_GRACE: Final = 30.0  # seconds after statement_timeout in which PostgreSQL must have cancelled a statement itself
_SSL_REQUEST: Final = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # the server answers it before authentication
_Peer: TypeAlias = tuple[str, int]

_lock: Final = Lock()
_links: WeakSet[Link] = WeakSet()  # all connections of this process


class Link(extensions.connection):  # type: ignore[misc]
    """A psycopg2 connection that records when its current statement started.

    Attributes:
        begin: statements that begin a transaction.
        shares_session: whether a pooler may run each transaction in another session of PostgreSQL.
        pooled_process: the process id of PostgreSQL's session behind a pooler, 0 if it is not known; None without one.
        statement_started: start of the running statement (`time.monotonic`); 0 if none runs or it failed.
        has_large_buffers: whether the connection holds much memory. libpq never shrinks its buffers, so a connection
            keeps the size of the largest message that it sent or received.
        prepared: names of the statements that were prepared on the connection (`driver.Prepared`).
    """

    statement_started = 0.0
    begin = "BEGIN"
    shares_session = False
    pooled_process: int | None = None
    has_large_buffers = False

    def __init__(self, *arguments: Any, **parameters: Any) -> None:
        super().__init__(*arguments, **parameters)
        self.prepared: set[str] = set()
        with _lock:
            _links.add(self)

    def session_process(self) -> int:
        """Returns the process id of the session of PostgreSQL that executes the statements, or 0."""
        return int(self.get_backend_pid()) if self.pooled_process is None else self.pooled_process

    def is_waiting(self) -> bool:
        """Returns whether a statement was sent and its reply has not arrived."""
        active: bool = not self.closed and self.info.transaction_status == extensions.TRANSACTION_STATUS_ACTIVE
        return active

    def interrupt(self, started: float) -> bool:
        """Shuts the socket down, so that the waiting thread gets a connection error.

        Returns False, and does nothing, unless the statement that started at `started` is still running.
        """
        with contextlib.suppress(OSError, Error), socket.socket(fileno=os.dup(self.fileno())) as duplicate:
            # Another thread may have closed the connection, and a new socket may have got the same descriptor number.
            # Checking after dup() is safe: the duplicate keeps referring to the socket that was open at that moment.
            if self.statement_started == started and self.is_waiting():
                duplicate.shutdown(socket.SHUT_RDWR)
                return True
        return False


class Watch:
    """Watches all connections of this process."""

    def __init__(self, statement_timeout: float) -> None:
        """`statement_timeout`: PostgreSQL's setting, in seconds."""
        self._longest = statement_timeout + _GRACE

    def check(self) -> None:
        """Aborts statements that outlived statement_timeout, and all statements on servers that do not answer a probe.

        Call it about once a second.
        """
        now = monotonic()
        with _lock:
            started = [(link, link.statement_started) for link in _links]
        waiting = [(link, since) for link, since in started if since and now - since > PATIENCE and link.is_waiting()]
        _abort((link, since) for link, since in waiting if now - since > self._longest)
        for peer in {_peer(link) for link, _ in waiting}:
            if not _responds(peer):
                _abort((link, since) for link, since in waiting if _peer(link) == peer)


def _abort(statements: Iterable[tuple[Link, float]]) -> None:
    ages = [monotonic() - since for link, since in statements if link.interrupt(since)]
    if ages:
        log.warning("PostgreSQL does not answer: aborted %d statements, the oldest ran %.0f s", len(ages), max(ages))


def _peer(link: Link) -> _Peer:
    return link.info.host or "", int(link.info.port or 0)


def _responds(peer: _Peer) -> bool:
    """Returns whether a server responds at all. Any reply counts, also a refused connection."""
    host, port = peer
    try:
        if host.startswith(("/", "@")):
            probe = socket.socket(socket.AF_UNIX)
            probe.settimeout(_ANSWER)
            probe.connect(str(Path(host) / f".s.PGSQL.{port}"))
        else:
            probe = socket.create_connection(peer, _ANSWER)
        with probe:
            probe.sendall(_SSL_REQUEST)
            probe.recv(1)
    except TimeoutError:
        return False
    except OSError:
        return True
    return True
