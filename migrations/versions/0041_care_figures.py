"""What table care would do with each table, from its last measurement."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

_COUNTS = (
    "partitions",
    "empty",
    "uncounted",
    "unanalyzed",
    "compact_partitions",
    "compact_files",
    "compact_files_after",
    "compact_bytes",
    "expired_partitions",
    "expired_files",
    "expired_bytes",
)


def upgrade() -> None:
    """Creates the table. Servers fill it with their next measurement."""
    op.create_table(
        "care_figures",
        sa.Column("table_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("measured_at", TIMESTAMP(timezone=True), nullable=False),
        sa.Column("rule", JSONB, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _COUNTS),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="care_figures_table_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("table_id", name="care_figures_pkey"),
    )
