"""The journal of file operations: what is made, moved or removed because the catalog changes, until it is done.

Locations are written as `warehouse.paths.canonical` does: two spellings of one place are one text.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table, Text, text

from metastore.storage.schema.base import Name, Texts, id_column, indexed_location, metadata, time_column

# What is to be moved or removed, and is still where it was.
BLOCKING = "kind = 'move' OR kind = 'remove' AND reason <> 'replaced' AND origin IS NULL"

file_operations = Table(
    "file_operations",
    metadata,
    id_column(),
    Column("kind", Text, nullable=False),  # make, move, moved, remove or held (docs/explanation/files.md)
    Column("location", Name, nullable=False),  # what is made, moved away or removed; of many, what they lie in
    Column("target", Name),  # where it is moved to
    Column("places", Texts, nullable=False),  # all that are made; of a removal, what goes of it, if not all
    Column("origin", Text),  # where lay what has been put away since
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="SET NULL"), index=True),  # null: was dropped
    Column("root", Text, nullable=False),  # of the table
    time_column("decided_at", nullable=False),
    Column("reason", Text, nullable=False),
    Column("query_id", Text, nullable=False),  # of the write that replaced it
    time_column("lease_ends_at"),  # until then, somebody is at it
    Column("error", Text),  # why it failed, when it was tried last
    Index("file_operations_removed_idx", "location", unique=True, postgresql_where=text("kind = 'remove'")),
    # Of what can be taken back: put away, and not removed before that time is over.
    Column("drop_id", BigInteger, ForeignKey("drops.id", ondelete="SET NULL"), index=True),
    time_column("failing_since"),
    Column("parked", Boolean, nullable=False, server_default=text("false")),  # it cannot succeed as things are
    Index("file_operations_in_the_way_idx", "id", postgresql_where=text(BLOCKING)),
    # Few beside what is kept: who makes or refers to a place asks for them.
    Index("file_operations_underway_idx", "kind", postgresql_where=text("kind IN ('make', 'move', 'moved')")),
    indexed_location("file_operations"),
)
