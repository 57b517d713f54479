"""The servers that use this database, with their versions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "servers",
        sa.Column("server", sa.Uuid, nullable=False),
        sa.Column("worker", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("revision", sa.Text(collation="C"), nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("port", sa.Integer, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("started_at", TIMESTAMP(timezone=True), nullable=False),
        sa.Column("seen_at", TIMESTAMP(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("server", "worker", name="servers_pkey"),
    )
