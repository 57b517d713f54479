"""The audit trail: changes and rejected calls, numbered in the order of the commits."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, Integer, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from metastore.storage.schema.base import Texts, metadata, time_column

# One row. A transaction that writes a line locks it until the commit.
audit_sequence = Table(
    "audit_sequence",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("last_number", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)

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
