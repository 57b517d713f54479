"""The notification log: changes of the catalog, numbered without gaps in the order of the commits."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, Table, Text

from metastore.storage.schema.base import Name, metadata

# One row. A transaction that appends events locks it until the commit, so that numbers follow the commits; a rollback
# returns its numbers.
notification_sequence = Table(
    "notification_sequence",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("last_event_id", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)

notification_log = Table(
    "notification_log",
    metadata,
    Column("event_id", BigInteger, primary_key=True, autoincrement=False),
    Column("event_time", Integer, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("catalog", Name),  # null for events of a transaction
    Column("database", Name),  # null for events of a catalog
    Column("table_name", Name),  # null for events of a database
    Column("message", Text, nullable=False),
    Column(
        "repeated", Text, nullable=False, server_default=""
    ),  # the text that replaces events.PLACEHOLDER in the message
    Column("repetitions", Integer, nullable=False, server_default="0"),
    Index("notification_log_table_name_idx", "table_name", "event_id"),
)

# The files that a transaction wrote (Hive's TXN_WRITE_NOTIFICATION_LOG), for readers of its COMMIT_TXN event.
write_notifications = Table(
    "write_notifications",
    metadata,
    Column("transaction_id", BigInteger, primary_key=True, autoincrement=False),
    Column("database", Name, primary_key=True),
    Column("table_name", Name, primary_key=True),
    Column("partition", Name, primary_key=True),  # empty for a table without partitions
    Column("write_id", BigInteger, nullable=False),
    Column("table_object", Text, nullable=False),
    Column("partition_object", Text),
    Column("files", Text, nullable=False),  # joined with "]", as Hive's ReplChangeManager
    Column("event_time", Integer, nullable=False, index=True),
)
