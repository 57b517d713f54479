"""The base classes of units of work and repositories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Executable

from metastore.storage.queries.caches import Caches
from metastore.storage.queries.changed_lists import ChangedLists
from metastore.storage.queries.descriptors import Descriptors


class Session:
    """A connection, and the state that the repositories of a unit of work share.

    Attributes:
        descriptors: the shared storage descriptors.
        names: cached partition names; None if rows may be uncommitted.
        references: cached identities of tables; None if rows may be uncommitted.
        changed_lists: the partition lists that the transaction changes.
    """

    def __init__(self, connection: Connection, caches: Caches | None = None, *, uncommitted: bool = False) -> None:
        """`uncommitted`: rows may be uncommitted, so they are not cached, except for immutable ones."""
        caches = caches or Caches()
        self.connection = connection
        self.descriptors = Descriptors(connection, caches.tails)
        self.names = None if uncommitted else caches.names
        self.references = None if uncommitted else caches.references
        self.changed_lists = ChangedLists()


class Repository:
    """Queries on the connection of a session, within its transaction."""

    def __init__(self, session: Session) -> None:
        # No reference to the session itself, which refers to its repositories: a cycle would outlive the call.
        self._connection = session.connection
        self._descriptors = session.descriptors
        self._names = session.names
        self._references = session.references
        self._changed_lists = session.changed_lists

    def _dicts(self, query: Executable, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns the rows of a query, as values by column name."""
        return [dict(row) for row in self._connection.execute(query, values).mappings()]
