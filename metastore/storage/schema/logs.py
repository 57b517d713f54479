"""The notification log and the audit trail. Both are numbered in the order of the commits."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

from metastore.storage.schema.base import Name, Texts, counter_table, metadata, time_column

# A rollback returns its numbers, so that event ids have no gaps.
notification_sequence = counter_table("notification_sequence", "last_event_id")

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
    # The text that replaces events.PLACEHOLDER in the message.
    Column("repeated", Text, nullable=False, server_default=""),
    Column("repetitions", Integer, nullable=False, server_default="0"),
    Column("renamed", Boolean, nullable=False, server_default="false"),  # the table had another name before
    Index("notification_log_table_name_idx", "table_name", "event_id"),
    Index(  # for `queries.name_changes`
        "notification_log_names_idx",
        "database",
        text("(coalesce(table_name, ''::text))"),
        "event_id",
        postgresql_where=text(
            "event_type IN ('CREATE_DATABASE', 'CREATE_TABLE', 'DROP_DATABASE', 'DROP_TABLE') OR renamed"
        ),
    ),
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
    Column("catalog", Name, primary_key=True, server_default="hive"),
    Column("after_event", BigInteger, nullable=False, server_default="0"),  # the last event when it was stored
)

audit_sequence = counter_table("audit_sequence", "last_number")

# Changes and rejected calls.
audit_log = Table(
    "audit_log",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    time_column("at", nullable=False),
    Column("request", Text, nullable=False),  # the call's id in the log
    Column("user_name", Text),
    Column("for_user", Text),  # the user on whose behalf the user acted
    Column("address", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("objects", Texts, nullable=False),
    Column("outcome", Text, nullable=False),  # done or refused
    Column("detail", JSONB, nullable=False),  # the error, or the parameters with secrets redacted
    Column("told", Boolean, nullable=False),  # whether the line was written to the log file
    Index("audit_log_at_idx", "at"),
    Index("audit_log_objects_idx", "objects", postgresql_using="gin"),
)
Index("audit_log_untold_idx", audit_log.c.number, postgresql_where=~audit_log.c.told)
