"""Functions, column statistics, table constraints, named types, and the identity of the metastore."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NAME = sa.Text(collation="C")


def upgrade() -> None:
    """Creates the tables."""
    _functions()
    _column_statistics()
    _table_constraints()
    _types()


def _functions() -> None:
    op.create_table(
        "functions",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("database_id", sa.BigInteger, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="functions_database_id_fkey"),
        sa.PrimaryKeyConstraint("id", name="functions_pkey"),
        sa.UniqueConstraint("database_id", "name", name="functions_database_id_name_key"),
    )


def _column_statistics() -> None:
    op.create_table(
        "column_statistics",
        sa.Column("table_id", sa.BigInteger, nullable=False),
        sa.Column("partition_id", sa.BigInteger, nullable=False),
        sa.Column("engine", NAME, nullable=False),
        sa.Column("column_name", NAME, nullable=False),
        sa.Column("analyzed_at", sa.BigInteger, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(
            ["table_id"], ["tables.id"], name="column_statistics_table_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("table_id", "partition_id", "engine", "column_name", name="column_statistics_pkey"),
    )


def _table_constraints() -> None:
    op.create_table(
        "table_constraints",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("table_id", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("column_name", NAME, nullable=False),
        sa.Column("parent_table_id", sa.BigInteger),
        sa.Column("parent_column_name", NAME),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(
            ["table_id"], ["tables.id"], name="table_constraints_table_id_fkey", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["parent_table_id"], ["tables.id"], name="table_constraints_parent_table_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="table_constraints_pkey"),
        sa.UniqueConstraint("table_id", "name", "position", name="table_constraints_table_id_name_position_key"),
    )
    op.create_index(
        "table_constraints_primary_key_idx",
        "table_constraints",
        ["table_id", "position"],
        unique=True,
        postgresql_where=sa.text("kind = 'pk'"),
    )
    op.create_index(
        "table_constraints_parent_table_id_idx",
        "table_constraints",
        ["parent_table_id"],
        postgresql_where=sa.text("parent_table_id IS NOT NULL"),
    )


def _types() -> None:
    op.create_table(
        "types",
        sa.Column("name", NAME, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("name", name="types_pkey"),
    )
    op.create_table(
        "metastore_properties",
        sa.Column("name", NAME, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="metastore_properties_pkey"),
    )
