"""Sums of a large table's partitions by their first two keys; an index for the history of a table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# `partition_sums` replaces the column of 0029, which could only be read as a whole.
FINISH = ("ALTER TABLE table_sizes DROP COLUMN IF EXISTS cells",)


def upgrade() -> None:
    """Creates an empty table, which servers fill in the background, and the index."""
    op.create_table(
        "partition_sums",
        sa.Column("table_id", sa.BigInteger, nullable=False),
        sa.Column("first_key", sa.Text(collation="C"), nullable=False),
        sa.Column("second_key", sa.Text(collation="C")),
        sa.Column("first", sa.Text, nullable=False),
        sa.Column("second", sa.Text),
        sa.Column("partitions", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger),
        sa.Column("bytes", sa.BigInteger),
        sa.Column("files", sa.BigInteger),
        sa.Column("created", sa.Integer, nullable=False),
        sa.Column("changed", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="partition_sums_table_id_fkey", ondelete="CASCADE"),
    )
    op.create_index("partition_sums_table_id_idx", "partition_sums", ["table_id"])
    op.create_index("notification_log_table_name_idx", "notification_log", ["table_name", "event_id"])
