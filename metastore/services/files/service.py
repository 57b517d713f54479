"""What all have that decide, and have the journal do, something with files."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.errors import UnavailableError
from metastore.services.files.journal import Journal
from metastore.storage.unit_of_work import Store
from metastore.warehouse.filesystem import Warehouse


class FileService:
    """The catalog, the journal and the directories."""

    def __init__(self, store: Store, journal: Journal, warehouse: Warehouse) -> None:
        self._store = store
        self._journal = journal
        self._warehouse = warehouse

    def _finish(self, ids: Sequence[int]) -> None:
        """Carries out what was decided. Raises UnavailableError where something fails, which stays in the journal."""
        if failed := self._journal.carry_out(ids):
            raise UnavailableError(next(iter(failed.values())).error)
