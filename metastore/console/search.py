"""Finding databases and tables. Objects that the caller may not see are left out."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

from metastore.console.overview import Overview
from metastore.domain.names import DEFAULT_CATALOG, DatabaseName
from metastore.services.rules.lookup import missing_database

_NEAR: Final = 5


class SearchService(Overview):
    """Finds databases and tables."""

    def tables(self, query: str, limit: int) -> list[dict[str, Any]]:
        """Returns the tables that match a text best (`Search.tables`)."""
        *_, seen = self._caller()
        with self._store.read() as work:
            return work.search.tables(query, limit, seen)

    def tables_of(self, database: DatabaseName, after: str, limit: int) -> list[dict[str, Any]]:
        """Lists the tables of a database after one. Raises NotFoundError for an unknown or hidden database."""
        *_, seen = self._caller()
        with self._store.read() as work:
            tables = work.search.tables_of(database, after, limit, seen)
        if tables is None:
            raise missing_database(database)
        return tables

    def tables_near(self, database: DatabaseName, name: str) -> list[dict[str, Any]]:
        """Returns a few tables whose names are like a wrong one: of the same name, or with a similar one."""
        *_, seen = self._caller()
        with self._store.read() as work:
            rows = work.attention.tables_near(database, name, seen)
        home = [row for row in rows if (row["catalog"], row["database"]) == (database.catalog, database.name)]
        same = [row for row in rows if row["table"] == name]
        found = [*same, *_closest(name, home, "table"), *_closest(name, rows, "table")]
        return list({tuple(row.items()): row for row in found}.values())[:_NEAR]

    def databases_near(self, database: DatabaseName) -> list[dict[str, Any]]:
        """Returns a few databases whose names are like a wrong one."""
        *_, seen = self._caller()
        with self._store.read() as work:
            rows = work.attention.database_names(seen)
        return _closest(database.name, rows, "database")

    def near(self, query: str) -> list[dict[str, Any]]:
        """Returns a few tables whose names are like a text without matches."""
        database, _, name = query.lower().rpartition(".")
        return self.tables_near(DatabaseName(DEFAULT_CATALOG, database), name)


def _closest(name: str, rows: Sequence[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Returns the rows whose names are most similar, the best first."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_name.setdefault(row[key], []).append(row)
    return [row for near in get_close_matches(name, by_name, _NEAR) for row in by_name[near]]
