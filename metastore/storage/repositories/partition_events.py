"""Marks that clients set on partitions (markPartitionForEvent)."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from metastore.storage.queries.repository import Repository
from metastore.storage.references import TableRef
from metastore.storage.schema.partitions import partition_events


class PartitionEvents(Repository):
    """Queries on marks. `kind`: a PartitionEventType."""

    def mark(self, table: TableRef, name: str, kind: int) -> None:
        """Marks a partition, which need not exist."""
        row = {"table_id": table.id, "partition_name": name, "event_type": kind}
        self._connection.execute(insert(partition_events).values(row).on_conflict_do_nothing())

    def is_marked(self, table: TableRef, name: str, kind: int) -> bool:
        """Returns whether a client has marked the partition."""
        matches = (
            partition_events.c.table_id == table.id,
            partition_events.c.partition_name == name,
            partition_events.c.event_type == kind,
        )
        return self._connection.execute(select(partition_events.c.table_id).where(*matches)).first() is not None
