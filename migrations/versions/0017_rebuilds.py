"""The transactions that rebuild materialized views."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "materialized_view_rebuilds",
        sa.Column("view_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("transaction_id", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(
            ["view_id"], ["tables.id"], name="materialized_view_rebuilds_view_id_fkey", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["transaction_id"],
            ["transactions.id"],
            name="materialized_view_rebuilds_transaction_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("view_id", name="materialized_view_rebuilds_pkey"),
    )
    op.create_index("materialized_view_rebuilds_transaction_id_idx", "materialized_view_rebuilds", ["transaction_id"])
