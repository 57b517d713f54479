"""Tables or partitions that a truncation empties or an undrop restores, handled alike."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain import events
from metastore.services.rules.events import alter_partitions, befores, table_text
from metastore.storage.references import TABLE_ITSELF, StoredPartition, StoredTable
from metastore.storage.repositories.partitions_write import as_changed
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table

Owner = Table | Partition


class ChangedObjects:
    """The table, or its locked `partitions`. Callers change `structs` in place, then call `write`."""

    def __init__(self, work: UnitOfWork, stored: StoredTable, partitions: Sequence[StoredPartition] | None) -> None:
        """`partitions`: None for the table itself."""
        self._work = work
        self._stored = stored
        self._partitions = partitions
        self._table: Table = stored.encoded.decode()
        self._befores = befores(partitions or ())
        self._before = table_text(self._table)
        self.partition_ids = None if partitions is None else [partition.id for partition in partitions]
        self.structs: list[Owner] = [self._table] if partitions is None else [one.partition for one in partitions]

    def write(self, *, truncated: bool = False) -> None:
        """Stores the changed structs with their events, and deletes their column statistics."""
        work, stored = self._work, self._stored
        if self._partitions is None:
            work.tables.update(stored.ref.id, stored.ref.database_id, self._table)
            after = table_text(self._table)
            work.record(events.alter_table(self._before, after, truncated=truncated))
        else:
            changed = as_changed(self._partitions)
            work.partitions_write.update(stored.ref, changed)
            work.record(*alter_partitions(self._before, self._befores, changed, truncated=truncated))
        ids = [TABLE_ITSELF] if self.partition_ids is None else self.partition_ids
        work.column_statistics.delete(stored.ref.id, ids, None, None)
