"""Sessions of PostgreSQL that hold locks for which calls wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metastore.services.service import Service


class BlockingService(Service):
    """Looks up blocking sessions."""

    def sessions(self, pids: Sequence[int]) -> dict[int, list[Mapping[str, Any]]]:
        """Returns the sessions that block each of these sessions, by process id. Raises UnavailableError."""
        with self._store.read() as work:
            return work.blocking.sessions(pids)
