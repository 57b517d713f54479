"""The notification log, its sequence, and the files that transactions wrote."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

NAME = sa.Text(collation="C")


def upgrade() -> None:
    """Creates an empty log. The first event has number 1."""
    op.create_table(
        "notification_log",
        sa.Column("event_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("event_time", sa.Integer, nullable=False),
        sa.Column("event_type", sa.Text, nullable=False),
        sa.Column("catalog", NAME),
        sa.Column("database", NAME),
        sa.Column("table_name", NAME),
        sa.Column("message", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("event_id", name="notification_log_pkey"),
    )
    _sequence()
    _write_notifications()


def _sequence() -> None:
    sequence = op.create_table(
        "notification_sequence",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("last_event_id", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name="notification_sequence_one_row_check"),
        sa.PrimaryKeyConstraint("id", name="notification_sequence_pkey"),
    )
    op.bulk_insert(sequence, [{"id": 1, "last_event_id": 0}])


def _write_notifications() -> None:
    op.create_table(
        "write_notifications",
        sa.Column("transaction_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("database", NAME, nullable=False),
        sa.Column("table_name", NAME, nullable=False),
        sa.Column("partition", NAME, nullable=False),
        sa.Column("write_id", sa.BigInteger, nullable=False),
        sa.Column("table_object", sa.Text, nullable=False),
        sa.Column("partition_object", sa.Text),
        sa.Column("files", sa.Text, nullable=False),
        sa.Column("event_time", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint(
            "transaction_id", "database", "table_name", "partition", name="write_notifications_pkey"
        ),
    )
    op.create_index("write_notifications_event_time_idx", "write_notifications", ["event_time"])
