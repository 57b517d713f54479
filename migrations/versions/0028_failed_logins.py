"""Failed logins of all workers and servers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table. It is UNLOGGED, because its rows live for minutes only."""
    op.create_table(
        "failed_logins",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("last_at", sa.TIMESTAMP(timezone=True), nullable=False),
        prefixes=["UNLOGGED"],
    )
    op.create_index("failed_logins_last_at_idx", "failed_logins", ["last_at"])
