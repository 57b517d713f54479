"""Databases that belong to the source of an import."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.names import DatabaseName
from metastore.storage.unit_of_work import Store


class FollowedDatabases:
    """Returns which databases were imported and are not switched. Queries the database at each call: no server may
    accept a change after another one has read that the database belongs to its source."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def sources(self, names: Iterable[DatabaseName]) -> dict[DatabaseName, str]:
        """Returns the addresses of the sources of those databases that belong to one."""
        with self._store.read() as work:
            sources = work.imports.borrowed_databases()
        return {name: sources[name] for name in names if name in sources}
