"""Ends waiting for a PostgreSQL that says nothing any more, though somebody on the way acknowledges what is sent to it.

Neither libpq nor statement_timeout does: the one waits for ever, the other is counted by who is silent.
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

PATIENCE: Final = 5.0  # seconds that a statement may take before it is asked whether PostgreSQL is there
_ANSWER: Final = 3.0  # seconds that it may take to say so
_GRACE: Final = 30.0  # seconds beside statement_timeout, after which PostgreSQL must have ended a statement itself
_ASK_FOR_TLS: Final = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # SSLRequest: answered before anybody says who they are
_Peer: TypeAlias = tuple[str, int]

_lock: Final = Lock()
_links: WeakSet[Link] = WeakSet()  # of this process


class Link(extensions.connection):  # type: ignore[misc]
    """psycopg2's connection, which knows since when a statement is under way.

    `begun`: as `monotonic` counts; 0: none is, or it ended with an error. `is_swollen`: whether it keeps much memory,
    as libpq does as long as a connection lives: the room of the largest message that it has sent or got.
    """

    begun = 0.0
    is_swollen = False

    def __init__(self, *arguments: Any, **parameters: Any) -> None:
        super().__init__(*arguments, **parameters)
        with _lock:
            _links.add(self)

    def waits(self) -> bool:
        """Tells whether an answer is awaited."""
        active: bool = not self.closed and self.info.transaction_status == extensions.TRANSACTION_STATUS_ACTIVE
        return active

    def cut(self, begun: float) -> bool:
        """Has who waits for the answer to the statement that began then be told that the connection is lost; false
        where nobody does."""
        with contextlib.suppress(OSError, Error), socket.socket(fileno=os.dup(self.fileno())) as found:
            # It is this one's socket only if nobody closed that meanwhile, and opened another by its number.
            if self.begun == begun and self.waits():
                found.shutdown(socket.SHUT_RDWR)
                return True
        return False


class Watch:
    """Of all links of a process."""

    def __init__(self, statement_timeout: float) -> None:
        """`statement_timeout`: of PostgreSQL, in seconds."""
        self._longest = statement_timeout + _GRACE

    def look(self) -> None:
        """Gives up statements that PostgreSQL should have ended, and where it does not answer, those that wait for it.

        To be called about once a second.
        """
        now = monotonic()
        with _lock:
            links = list(_links)
        waiting = [(link, link.begun) for link in links if link.begun and now - link.begun > PATIENCE and link.waits()]
        _give_up((link, begun) for link, begun in waiting if now - begun > self._longest)
        for peer in {_peer(link) for link, _ in waiting}:
            if not _answers(peer):
                _give_up((link, begun) for link, begun in waiting if _peer(link) == peer)


def _give_up(statements: Iterable[tuple[Link, float]]) -> None:
    ages = [monotonic() - begun for link, begun in statements if link.cut(begun)]
    if ages:
        log.warning("PostgreSQL is silent: %d statements are given up, the oldest after %.0f s", len(ages), max(ages))


def _peer(link: Link) -> _Peer:
    return link.info.host or "", int(link.info.port or 0)


def _answers(peer: _Peer) -> bool:
    """Tells whether anything is heard from a PostgreSQL. What it says does not matter, nor that it refuses."""
    host, port = peer
    try:
        if host.startswith(("/", "@")):
            link = socket.socket(socket.AF_UNIX)
            link.settimeout(_ANSWER)
            link.connect(str(Path(host) / f".s.PGSQL.{port}"))
        else:
            link = socket.create_connection(peer, _ANSWER)
        with link:
            link.sendall(_ASK_FOR_TLS)
            link.recv(1)
    except TimeoutError:
        return False
    except OSError:
        return True
    return True
