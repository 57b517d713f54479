"""The compaction queue and its history: one row for each request."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text, text

from metastore.storage.schema.base import Name, id_column, metadata, time_column

compactions = Table(
    "compactions",
    metadata,
    id_column(),
    Column("catalog", Name, nullable=False),
    Column("database", Name, nullable=False),
    Column("table_name", Name, nullable=False),
    Column("partition_name", Name),
    Column("type", Integer, nullable=False),  # Hive's CompactionType
    Column("state", Text, nullable=False),  # domain.compactions
    Column("properties", Text),  # in the format of Hive's StringableMap
    Column("run_as", Text),
    Column("worker", Text),
    Column("worker_version", Text),
    Column("initiator", Text),
    Column("initiator_version", Text),
    Column("pool", Text),
    Column("bucket_count", Integer),
    Column("order_by", Text),
    Column("job", Text),
    Column("error", Text),
    Column("highest_write_id", BigInteger),
    Column("transaction_id", BigInteger),
    Column("next_transaction_id", BigInteger),
    time_column("enqueued_at", nullable=False),
    time_column("started_at"),
    time_column("committed_at"),
    time_column("ended_at"),
    Index("compactions_table_idx", "catalog", "database", "table_name"),
)

# At most one requested or running compaction of an object.
Index(
    "compactions_active_key",
    compactions.c.catalog,
    compactions.c.database,
    compactions.c.table_name,
    text("(coalesce(partition_name, ''::text))"),
    unique=True,
    postgresql_where=text("state IN ('initiated', 'working')"),
)
