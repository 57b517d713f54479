"""The journal of file operations: directories to create, move or remove after a change of the catalog.

Locations are in the form of `warehouse.paths.canonical`: all spellings of a location are one text.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table, Text, text

from metastore.storage.schema.base import Name, Texts, id_column, indexed_location, metadata, time_column

# Moves and removals that are not done: their files are still at the location.
BLOCKING = "kind = 'move' OR kind = 'remove' AND reason <> 'replaced' AND origin IS NULL"

file_operations = Table(
    "file_operations",
    metadata,
    id_column(),
    Column("kind", Text, nullable=False),  # make, move, moved, remove or held (docs/explanation/files.md)
    Column("location", Name, nullable=False),  # the directory; for several paths, the directory that contains them
    Column("target", Name),  # of a move
    Column("places", Texts, nullable=False),  # make: all directories; remove: the paths to remove, if not all
    Column("origin", Text),  # where the directory was before it was moved to the trash
    # null if the table is dropped
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="SET NULL"), index=True),
    Column("root", Text, nullable=False),  # location of the table
    time_column("decided_at", nullable=False),
    Column("reason", Text, nullable=False),
    Column("query_id", Text, nullable=False),  # of the write that replaced the location
    time_column("lease_ends_at"),  # until then one server works on it
    Column("error", Text),  # of the last attempt
    Index("file_operations_removed_idx", "location", unique=True, postgresql_where=text("kind = 'remove'")),
    # The drop that can restore the location: it is in the trash until the retention ends.
    Column("drop_id", BigInteger, ForeignKey("drops.id", ondelete="SET NULL"), index=True),
    time_column("failing_since"),
    Column("parked", Boolean, nullable=False, server_default=text("false")),  # not retried until an operator acts
    # The name in the trash: random, because ids recur after a restore. Null in rows of earlier versions: it is the id.
    Column("token", Text),
    Column("owner", Text),  # write token of the table that the files belong to
    Index("file_operations_in_the_way_idx", "id", postgresql_where=text(BLOCKING)),
    # Few rows next to the rows of the trash; every call that creates directories or refers to locations reads them.
    Index("file_operations_underway_idx", "kind", postgresql_where=text("kind IN ('make', 'move', 'moved')")),
    indexed_location("file_operations"),
)
