"""Aborts statements whose PostgreSQL host has stopped answering.

A host can fall silent while a middlebox still acknowledges the packets sent to it. Neither libpq nor statement_timeout
detects that: libpq waits without a limit, and statement_timeout is enforced by the silent server.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from pathlib import Path
from time import monotonic
from typing import Final, TypeAlias

from metastore.storage.postgres.driver import Link, links

log = logging.getLogger("metastore.postgres")

PATIENCE: Final = 5.0  # seconds that a statement may run before the server is probed
_ANSWER: Final = 3.0  # seconds that the server has to answer the probe
_GRACE: Final = 30.0  # seconds after statement_timeout in which PostgreSQL must have cancelled a statement itself
_SSL_REQUEST: Final = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # the server answers it before authentication
_Peer: TypeAlias = tuple[str, int]


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
        started = [(link, link.statement_started) for link in links()]
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
