"""Transactions of query engines (Hive ACID): their users, writes, and the order of their commits."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

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
