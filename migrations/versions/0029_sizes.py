"""Sizes of tables and of the catalog over time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates empty tables, which servers fill in the background."""
    op.create_table(
        "table_sizes",
        sa.Column("table_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("measured_at", TIMESTAMP(timezone=True), nullable=False),
        sa.Column("partitions", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger),
        sa.Column("bytes", sa.BigInteger),
        sa.Column("files", sa.BigInteger),
        sa.Column("small_files", sa.BigInteger),
        sa.Column("growth", sa.BigInteger),
        sa.Column("cells", JSONB),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="table_sizes_table_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("table_id", name="table_sizes_pkey"),
    )
    for name in ("bytes", "files", "small_files", "growth"):
        present = sa.text(f"{name} IS NOT NULL")
        op.create_index(f"table_sizes_{name}_idx", "table_sizes", [name], postgresql_where=present)
    op.create_table(
        "table_size_history",
        sa.Column("table_id", sa.BigInteger, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("partitions", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger),
        sa.Column("bytes", sa.BigInteger),
        sa.Column("files", sa.BigInteger),
        sa.ForeignKeyConstraint(
            ["table_id"], ["tables.id"], name="table_size_history_table_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("table_id", "day", name="table_size_history_pkey"),
    )
    op.create_table(
        "catalog_sizes",
        sa.Column("at", TIMESTAMP(timezone=True), nullable=False),
        sa.Column("databases", sa.BigInteger, nullable=False),
        sa.Column("tables", sa.BigInteger, nullable=False),
        sa.Column("partitions", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("files", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("at", name="catalog_sizes_pkey"),
    )
