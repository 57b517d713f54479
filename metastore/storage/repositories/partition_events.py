"""Partitions that clients marked with an event."""

from __future__ import annotations

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from metastore.storage.references import TableRef
from metastore.storage.schema import partition_events


class PartitionEvents:
    """Queries on marks. `kind` is a PartitionEventType."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def mark(self, table: TableRef, name: str, kind: int) -> None:
        row = {"table_id": table.id, "partition_name": name, "event_type": kind}
        self._connection.execute(insert(partition_events).values(row).on_conflict_do_nothing())

    def is_marked(self, table: TableRef, name: str, kind: int) -> bool:
        mine = (
            partition_events.c.table_id == table.id,
            partition_events.c.partition_name == name,
            partition_events.c.event_type == kind,
        )
        return self._connection.execute(select(partition_events.c.table_id).where(*mine)).first() is not None
