"""How long dropped objects can be undropped (docs/explanation/files.md)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from metastore.context import caller
from metastore.domain.names import TableName
from metastore.services.rules.table_data import auto_purged
from metastore.storage.references import StoredTable
from metastore.storage.unit_of_work import UnitOfWork


class Retention:
    """How long dropped objects can be undropped."""

    def __init__(self, period: timedelta) -> None:
        """`period`: zero if nothing can be undropped."""
        self._period = period

    def begin(
        self,
        work: UnitOfWork,
        kind: str,
        name: TableName,
        table: StoredTable | None = None,
        *,
        purge: bool = False,
        partitions: int = 0,
        hidden: Sequence[int] = (),
    ) -> int | None:
        """Registers a drop of a kind of `repositories.drops`. Returns its id, or None if it cannot be undropped.

        `table`: the table that stays, if only its partitions or its rows are dropped. `hidden`: ids of the tables that
        are dropped; if the drop can be undone, they are hidden.
        """
        if purge or not self._period or (table and auto_purged(table.encoded.decode())):
            return None
        client = caller.get()
        by = (client.user, client.peer) if client else (None, None)
        table_id = table.ref.id if table else None
        return work.drops.begin(kind, name, self._period, by, table_id=table_id, partitions=partitions, hidden=hidden)
