"""The journal of file operations, open writes, and drops that can be undone (docs/explanation/files.md).

Locations of operations and writes are in the form of `warehouse.paths.canonical`: all spellings of a location are one
text.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from metastore.storage.schema.base import (
    Name,
    SortKeys,
    Texts,
    encoded_column,
    id_column,
    indexed_location,
    json_column,
    metadata,
    time_column,
)

# Moves and removals that are not done: their files are still at the location.
BLOCKING = "kind = 'move' OR kind = 'remove' AND reason <> 'replaced' AND origin IS NULL"

# The journal: directories to create, move or remove after a change of the catalog.
file_operations = Table(
    "file_operations",
    metadata,
    id_column(),
    Column("kind", Text, nullable=False),  # make, move, moved, remove or held (docs/explanation/files.md)
    Column("location", Name, nullable=False),  # the directory; for several paths, the directory that contains them
    Column("target", Name),  # of a move
    # make: all directories; remove: the paths to remove, if not all; held: the drop that can restore the overwrite
    Column("places", Texts, nullable=False),
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
    # Of a replaced location whose rows were rewritten: where they are now, and the files of other programs that were
    # read, as hashes of their names.
    Column("rewritten_at", Name),
    Column("foreign_files", ARRAY(BigInteger)),
    Column("late_files", ARRAY(BigInteger)),  # the others that were there at the last look, as hashes
    time_column("look_at"),  # when a server looks for late files
    Index("file_operations_look_at_idx", "look_at", postgresql_where=text("look_at IS NOT NULL")),
    Index(
        "file_operations_rewritten_at_idx",
        "rewritten_at",
        postgresql_using="hash",
        postgresql_where=text("rewritten_at IS NOT NULL"),
    ),
    Index("file_operations_in_the_way_idx", "id", postgresql_where=text(BLOCKING)),
    # Few rows next to the rows of the trash; every call that creates directories or refers to locations reads them.
    Index("file_operations_underway_idx", "kind", postgresql_where=text("kind IN ('make', 'move', 'moved')")),
    indexed_location("file_operations"),
)

# One row for each table that our client library has written to.
write_counters = Table(
    "write_counters",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("last_number", BigInteger, nullable=False),
)

# Readers hide the files of writes that are not published.
open_writes = Table(
    "open_writes",
    metadata,
    Column("query_id", Name, primary_key=True),  # <the table's token>-<number>
    # null if the table was dropped
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="SET NULL"), index=True),
    Column("number", BigInteger, nullable=False),
    Column("roots", Texts, nullable=False),  # locations of the table since the write began, the newest first
    Column("lease_millis", Integer, nullable=False),
    time_column("lease_ends_at", nullable=False),
    time_column("aborted_at"),  # an aborted write can be neither renewed nor published
    Column("swept", Boolean, nullable=False),  # its files were removed; the writer may still create some
    time_column("begun_at", nullable=False, default=text("now()")),
    Column("user_name", Text),  # who began it; null: an anonymous user, or a server of an earlier version
    Index("open_writes_user_name_idx", text("coalesce(user_name, ''::text)")),
)

# No foreign key: it would make writers wait for a drop of the table. Rows live as long as events.
ended_writes = Table(
    "ended_writes",
    metadata,
    Column("query_id", Name, primary_key=True),
    Column("table_id", BigInteger, nullable=False, autoincrement=False),
    Column("user_name", Text),
    time_column("begun_at", nullable=False),
    time_column("ended_at", nullable=False),
    Column("outcome", Text, nullable=False),  # one of `queries.ended_writes`
    Index("ended_writes_ended_at_idx", "ended_at"),
)

open_write_locations = Table(
    "open_write_locations",
    metadata,
    Column("query_id", Name, ForeignKey("open_writes.query_id", ondelete="CASCADE"), primary_key=True),
    Column("location", Name, primary_key=True),
    Column("owned", Boolean, nullable=False),  # false if other writes use the location, too
    Index("open_write_locations_owned_idx", "location", unique=True, postgresql_where=text("owned")),
    Index("open_write_locations_location_idx", "location"),
)

open_write_renames = Table(
    "open_write_renames",
    metadata,
    Column("query_id", Name, ForeignKey("open_writes.query_id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("source", Name, nullable=False),
    Column("target", Name, nullable=False),
)

# Drops, truncations and overwrites that can be undone until their retention ends. A dropped table stays in `tables`
# with all rows that belong to it, but without a database, so that no query finds it. Dropped partitions are copied,
# because their table stays, and so are the rows of small tables.
drops = Table(
    "drops",
    metadata,
    id_column(),
    Column("kind", Text, nullable=False),  # database, table, partitions, truncated or overwritten
    Column("catalog", Name, nullable=False),
    Column("database", Name, nullable=False),
    Column("name", Name, nullable=False),  # empty for a database
    # Set if the table itself was not dropped.
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), index=True),
    Column("partitions", Integer, nullable=False),
    time_column("dropped_at", nullable=False),
    time_column("kept_until", nullable=False),
    Column("dropped_by", Text),
    Column("dropped_from", Text),  # the client's address
)

dropped_tables = Table(
    "dropped_tables",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("drop_id", BigInteger, ForeignKey("drops.id"), nullable=False, index=True),
    Column("database_id", BigInteger, nullable=False),  # may be dropped, too
)

# No foreign keys: copying a hundred thousand rows must not check each of them.
dropped_partitions = Table(
    "dropped_partitions",
    metadata,
    Column("drop_id", BigInteger, nullable=False),
    Column("id", BigInteger, nullable=False),
    Column("name", Name, nullable=False),
    Column("values", Texts, nullable=False),
    Column("keys", SortKeys, nullable=False),
    Column("location", Name),
    Column("create_time", Integer, nullable=False),
    Column("last_access_time", Integer, nullable=False),
    json_column("parameters"),
    Column("descriptor_id", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    encoded_column(),
    # Rows are inserted in the order of drops, so that a small BRIN index is enough.
    Index("dropped_partitions_drop_id_idx", "drop_id", postgresql_using="brin"),
)

dropped_rows = Table(
    "dropped_rows",
    metadata,
    Column("drop_id", BigInteger, nullable=False),
    Column("relation", Text, nullable=False),  # the name of the row's table
    Column("partition_id", BigInteger),  # the partition that the row belongs to
    Column("content", JSONB, nullable=False),
    Index("dropped_rows_drop_id_idx", "drop_id"),
)
