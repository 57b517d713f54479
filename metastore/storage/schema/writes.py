"""Open writes: readers hide the files of writes that are not published. Ended writes are kept for a while.

Locations are in the form of `warehouse.paths.canonical`: all spellings of a location are one text.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, text

from metastore.storage.schema.base import Name, Texts, metadata, time_column

# One row for each table that our client library has written to.
write_counters = Table(
    "write_counters",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("last_number", BigInteger, nullable=False),
)

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
