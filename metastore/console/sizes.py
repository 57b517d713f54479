"""Sizes of tables over time, as they were measured."""

from __future__ import annotations

from typing import Any, Final

from metastore.console.overview import Overview
from metastore.domain.names import TableName
from metastore.storage.pages.sizes import ORDERS as ORDERS

_DAYS: Final = 400


class SizeOverview(Overview):
    """Reads the measurements of tables (`services.sizes`)."""

    def top(self, order: str, limit: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Returns the visible tables with the greatest bytes, files, small files or growth, and the sizes of the whole
        catalog by day: nothing for callers who do not see everything.
        """
        *_, seen = self._caller()
        with self._store.read() as work:
            tables = work.sizes.top(order, limit, seen)
            return tables, work.sizes.of_catalog(_DAYS) if seen.is_whole else []

    def of_table(self, name: TableName) -> list[dict[str, Any]]:
        """Returns the sizes of a table on the days on which they changed. Raises NotFoundError."""
        table = self._examine(name)
        with self._store.read() as work:
            return work.sizes.of_table(table.id, _DAYS)

    def of_catalog(self) -> list[dict[str, Any]]:
        """Returns the sizes of the whole catalog by day. Nothing for callers who do not see everything."""
        if not self._rights.grants().sees_everything:
            return []
        with self._store.read() as work:
            return work.sizes.of_catalog(_DAYS)
