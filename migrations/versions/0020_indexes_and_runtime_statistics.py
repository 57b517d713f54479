"""Indexes of tables, as in Hive 2; runtime statistics of queries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the tables. A foreign key deletes indexes with their tables, even if a server of an earlier version drops
    the table.
    """
    op.create_table(
        "table_indexes",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("table_id", sa.BigInteger, nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("index_table_id", sa.BigInteger, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="table_indexes_table_id_fkey", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["index_table_id"], ["tables.id"], name="table_indexes_index_table_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="table_indexes_pkey"),
        sa.UniqueConstraint("table_id", "name", name="table_indexes_table_id_name_key"),
        sa.UniqueConstraint("index_table_id", name="table_indexes_index_table_id_key"),
    )
    op.create_table(
        "runtime_statistics",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("created_at", TIMESTAMP(timezone=True), nullable=False, server_default=sa.text("now()")),
        sa.Column("weight", sa.Integer, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="runtime_statistics_pkey"),
    )
    op.create_index("runtime_statistics_created_at_idx", "runtime_statistics", ["created_at"])
