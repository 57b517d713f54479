"""Transactions of query engines (Hive ACID), their write ids and locks, and compactions."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, text

from metastore.storage.schema.base import Name, id_column, metadata, time_column

# One row. A transaction locks it to be opened or committed: ids have no gaps, and a snapshot that is taken after an
# opening contains every commit before that.
transaction_counter = Table(
    "transaction_counter",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("last", BigInteger, nullable=False),
)

transactions = Table(
    "transactions",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),  # domain.transactions: open, aborted, committed
    Column("type", Integer, nullable=False),  # Hive's TxnType
    Column("user_name", Text, nullable=False),
    Column("host_name", Text, nullable=False),
    Column("agent", Text, nullable=False),
    time_column("started_at", nullable=False),
    time_column("heartbeat_at", nullable=False),
    Column("heartbeat_count", Integer, nullable=False),
    time_column("ended_at"),
    Column("commit_id", BigInteger),  # the last id given out when this transaction committed
    Index("transactions_state_id_idx", "state", "id"),
)

transaction_components = Table(
    "transaction_components",
    metadata,
    id_column(),
    Column("transaction_id", BigInteger, ForeignKey("transactions.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("catalog", Name, nullable=False),
    Column("database", Name, nullable=False),
    Column("table_name", Name, nullable=False),
    Column("partition_name", Name, nullable=False),  # empty for the whole table
    Column("operation", Integer, nullable=False),  # domain.transactions.Operation
    Index("transaction_components_table_idx", "catalog", "database", "table_name", "partition_name"),
)

# A write id numbers the write of a transaction in a table. The key is the table's name, because CTAS gets a write id
# before its table exists.
write_id_counters = Table(
    "write_id_counters",
    metadata,
    Column("catalog", Name, primary_key=True),
    Column("database", Name, primary_key=True),
    Column("table_name", Name, primary_key=True),
    Column("last", BigInteger, nullable=False),
)

write_ids = Table(
    "write_ids",
    metadata,
    Column("transaction_id", BigInteger, ForeignKey("transactions.id", ondelete="CASCADE"), primary_key=True),
    Column("catalog", Name, primary_key=True),
    Column("database", Name, primary_key=True),
    Column("table_name", Name, primary_key=True),
    Column("write_id", BigInteger, nullable=False),
    Index("write_ids_table_idx", "catalog", "database", "table_name", "write_id", unique=True),
)

# Hive locks: one row for each request, and one for each object that it names. A lock without heartbeats is void.
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

# The compaction queue and its history: one row for each request.
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
