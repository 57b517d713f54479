"""Databases that belong to the source of an import."""

from __future__ import annotations

from metastore.domain.names import DatabaseName
from metastore.storage.unit_of_work import Store


class FollowedDatabases:
    """Knows which databases were imported and are not switched. Queries the database at each call: no server may
    accept a change after another one has read that the database belongs to its source."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def sources(self) -> dict[DatabaseName, str]:
        """Returns the databases that belong to a source, with its address."""
        with self._store.read() as work:
            return work.imports.borrowed_databases()
