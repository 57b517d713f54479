"""Finding databases and tables. Objects that the caller may not see are left out."""

from __future__ import annotations

from typing import Any

from metastore.console.overview import Overview
from metastore.domain.names import DatabaseName
from metastore.services.rules.lookup import missing_database


class SearchService(Overview):
    """Finds databases and tables."""

    def tables(self, query: str, limit: int) -> list[dict[str, Any]]:
        """Returns the tables that match a text best (`Search.tables`)."""
        *_, seen = self._caller()
        with self._store.read() as work:
            return work.search.tables(query, limit, seen)

    def databases(self, catalog: str, after: str, limit: int) -> list[dict[str, Any]]:
        """Lists databases after one, with the number of their tables."""
        *_, seen = self._caller()
        with self._store.read() as work:
            return work.search.databases(catalog, after, limit, seen)

    def tables_of(self, database: DatabaseName, after: str, limit: int) -> list[dict[str, Any]]:
        """Lists the tables of a database after one. Raises NotFoundError for an unknown or hidden database."""
        *_, seen = self._caller()
        with self._store.read() as work:
            tables = work.search.tables_of(database, after, limit, seen)
        if tables is None:
            raise missing_database(database)
        return tables
