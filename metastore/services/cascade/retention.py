"""How long dropped objects can be undropped (docs/explanation/files.md)."""

from __future__ import annotations

from datetime import timedelta

from metastore.context import caller
from metastore.services.rules.table_data import auto_purged
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import NewDrop
from metastore.storage.unit_of_work import UnitOfWork


class Retention:
    """How long dropped objects can be undropped."""

    def __init__(self, period: timedelta) -> None:
        """`period`: zero if nothing can be undropped."""
        self._period = period

    def begin(
        self, work: UnitOfWork, drop: NewDrop, table: StoredTable | None = None, *, purge: bool = False
    ) -> int | None:
        """Registers a drop. Returns its id, or None if it cannot be undropped.

        `table`: the table that stays, if only its partitions or its rows are dropped. The tables that are dropped are
        hidden if the drop can be undone.
        """
        if purge or not self._period or (table and auto_purged(table.encoded.decode())):
            return None
        client = caller.get()
        by = (client.user, client.peer) if client else (None, None)
        return work.drops.begin(drop, self._period, by, table.ref.id if table else None)
