"""Writes that have ended, for the console."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates an empty table. Servers of earlier versions do not fill it."""
    op.create_table(
        "ended_writes",
        sa.Column("query_id", sa.Text(collation="C"), nullable=False),
        sa.Column("table_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("user_name", sa.Text),
        sa.Column("begun_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("ended_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("query_id", name="ended_writes_pkey"),
    )
    op.create_index("ended_writes_ended_at_idx", "ended_writes", ["ended_at"])
