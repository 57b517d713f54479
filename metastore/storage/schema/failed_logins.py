"""Failed logins of all servers. PostgreSQL empties the table after a crash; that only ends delays."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, Table, Text

from metastore.storage.schema.base import metadata, time_column

failed_logins = Table(
    "failed_logins",
    metadata,
    Column("key", Text, primary_key=True),  # hash of a user and an address, or of a user
    Column("count", Integer, nullable=False),
    time_column("last_at", nullable=False),
    Index("failed_logins_last_at_idx", "last_at"),
    prefixes=["UNLOGGED"],
)
