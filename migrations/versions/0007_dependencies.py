"""Dependent tables: dependencies between tables, and between partitions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the tables."""
    _table_dependencies()
    _partition_dependencies()


def _table_dependencies() -> None:
    op.create_table(
        "table_dependencies",
        sa.Column("dependent_id", sa.BigInteger, nullable=False),
        sa.Column("base_id", sa.BigInteger, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("current", sa.Boolean, nullable=False),
        sa.ForeignKeyConstraint(
            ["dependent_id"], ["tables.id"], name="table_dependencies_dependent_id_fkey", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["tables.id"],
            name="table_dependencies_base_id_fkey",
            deferrable=True,
            initially="DEFERRED",
        ),
        sa.PrimaryKeyConstraint("dependent_id", "base_id", name="table_dependencies_pkey"),
    )
    op.create_index("table_dependencies_base_id_idx", "table_dependencies", ["base_id"])
    op.create_index(
        "table_dependencies_current_idx",
        "table_dependencies",
        ["dependent_id"],
        unique=True,
        postgresql_where=sa.text("current"),
    )


def _partition_dependencies() -> None:
    op.create_table(
        "partition_dependencies",
        sa.Column("partition_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("dependent_id", sa.BigInteger, nullable=False),
        sa.Column("base_id", sa.BigInteger, nullable=False),
        sa.Column("values", ARRAY(sa.Text), nullable=False),
        sa.Column("keys", ARRAY(sa.Text(collation="C")), nullable=False),
        sa.Column("digest", sa.LargeBinary),
        sa.ForeignKeyConstraint(
            ["dependent_id", "base_id"],
            ["table_dependencies.dependent_id", "table_dependencies.base_id"],
            name="partition_dependencies_dependent_id_base_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("partition_id", name="partition_dependencies_pkey"),
    )
    op.create_index("partition_dependencies_dependent_id_idx", "partition_dependencies", ["dependent_id", "base_id"])
    op.create_index("partition_dependencies_base_id_idx", "partition_dependencies", ["base_id", sa.text("(keys[1])")])
