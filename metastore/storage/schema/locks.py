"""Hive locks: one row for a request, and one for each object that it names. A lock without heartbeats is void."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, text

from metastore.storage.schema.base import Name, id_column, metadata, time_column

locks = Table(
    "locks",
    metadata,
    id_column(),  # also the order in which conflicting locks are granted
    Column("transaction_id", BigInteger, ForeignKey("transactions.id", ondelete="CASCADE"), index=True),
    Column("user_name", Text, nullable=False),
    Column("host_name", Text, nullable=False),
    Column("agent", Text, nullable=False),
    time_column("acquired_at"),  # null while it waits
    time_column("heartbeat_at", nullable=False),  # for a lock of a transaction, that one's heartbeat counts instead
    Column("heartbeat_count", Integer, nullable=False),
    Column("blocked_by", BigInteger),
    Column("blocked_by_position", Integer),
    Index("locks_user_name_idx", "user_name"),
    Index("locks_heartbeat_at_idx", "heartbeat_at", postgresql_where=text("transaction_id IS NULL")),
)

lock_components = Table(
    "lock_components",
    metadata,
    Column("lock_id", BigInteger, ForeignKey("locks.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("type", Integer, nullable=False),  # Hive's LockType
    Column("catalog", Name, nullable=False),
    Column("database", Name, nullable=False),
    Column("table_name", Name),  # null for the whole database
    Column("partition_name", Name),  # null for the whole table
    Index("lock_components_table_idx", "catalog", "database", "table_name"),
)
