"""Transactions of engines (Hive's ACID tables): who opened them, what they wrote, and the order they ended in."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

from metastore.storage.schema.base import Name, id_column, metadata, time_column

# One row. Who opens or commits changes or locks it, so ids have no gaps, and a snapshot taken after an opening sees
# every commit that was before it.
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
    Column("type", Integer, nullable=False),  # the wire's TxnType
    Column("user_name", Text, nullable=False),
    Column("host_name", Text, nullable=False),
    Column("agent", Text, nullable=False),
    time_column("started_at", nullable=False),
    time_column("heartbeat_at", nullable=False),
    Column("heartbeat_count", Integer, nullable=False),
    time_column("ended_at"),
    Column("commit_id", BigInteger),  # the last id that was open when this one committed
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
    Column("partition_name", Name, nullable=False),  # empty: any of the table
    Column("operation", Integer, nullable=False),  # domain.transactions.Operation
    Index("transaction_components_table_idx", "catalog", "database", "table_name", "partition_name"),
)
