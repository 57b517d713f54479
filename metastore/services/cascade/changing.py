"""What services have that change tables and, by the journal, their files."""

from __future__ import annotations

from metastore.services.cascade.dropping import Keeping
from metastore.services.files.journal import Journal
from metastore.services.files.service import FileService
from metastore.services.service import Clock
from metastore.storage.unit_of_work import Store
from metastore.warehouse.filesystem import Warehouse


class ChangingService(FileService):
    """Also the time, and for how long what is dropped is kept."""

    def __init__(self, store: Store, journal: Journal, warehouse: Warehouse, clock: Clock, keeping: Keeping) -> None:
        super().__init__(store, journal, warehouse)
        self._clock = clock
        self._keeping = keeping
