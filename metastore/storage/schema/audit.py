"""The audit trail: what was changed and refused, numbered in the order of the commits."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, Integer, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from metastore.storage.schema.base import Texts, metadata, time_column

# One row. Who writes to the trail locks it until the commit.
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
    Column("request", Text, nullable=False),  # as the log names the call
    Column("user_name", Text),
    Column("for_user", Text),  # whom the user acted for
    Column("address", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("objects", Texts, nullable=False),
    Column("outcome", Text, nullable=False),  # done or refused
    Column("detail", JSONB, nullable=False),  # a refusal's text, or parameters, those with secret names without values
    Column("told", Boolean, nullable=False),  # written to the log
    Index("audit_log_at_idx", "at"),
    Index("audit_log_objects_idx", "objects", postgresql_using="gin"),
)
Index("audit_log_untold_idx", audit_log.c.number, postgresql_where=~audit_log.c.told)
