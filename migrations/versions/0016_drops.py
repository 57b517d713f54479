"""Drops that can be undone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_NAME = sa.Text(collation="C")
_TIME = TIMESTAMP(timezone=True)
_IN_THE_WAY = "kind = 'move' OR kind = 'remove' AND reason <> 'replaced' AND origin IS NULL"
_UNDERWAY = "kind IN ('make', 'move', 'moved')"

FINISH = ("DROP INDEX IF EXISTS file_operations_unfinished_idx",)


def upgrade() -> None:
    """Creates the tables. A dropped table is a row of `tables` without a database."""
    op.alter_column("tables", "database_id", nullable=True)
    _drops()
    _rows()
    op.add_column("file_operations", sa.Column("drop_id", sa.BigInteger))
    op.create_foreign_key(
        "file_operations_drop_id_fkey", "file_operations", "drops", ["drop_id"], ["id"], ondelete="SET NULL"
    )
    op.create_index("file_operations_drop_id_idx", "file_operations", ["drop_id"])
    op.create_index("file_operations_in_the_way_idx", "file_operations", ["id"], postgresql_where=sa.text(_IN_THE_WAY))
    op.create_index("file_operations_underway_idx", "file_operations", ["kind"], postgresql_where=sa.text(_UNDERWAY))


def _drops() -> None:
    op.create_table(
        "drops",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("catalog", _NAME, nullable=False),
        sa.Column("database", _NAME, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("table_id", sa.BigInteger),
        sa.Column("partitions", sa.Integer, nullable=False),
        sa.Column("dropped_at", _TIME, nullable=False),
        sa.Column("kept_until", _TIME, nullable=False),
        sa.Column("dropped_by", sa.Text),
        sa.Column("dropped_from", sa.Text),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="drops_table_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="drops_pkey"),
    )
    op.create_index("drops_table_id_idx", "drops", ["table_id"])
    op.create_table(
        "dropped_tables",
        sa.Column("table_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("drop_id", sa.BigInteger, nullable=False),
        sa.Column("database_id", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="dropped_tables_table_id_fkey", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["drop_id"], ["drops.id"], name="dropped_tables_drop_id_fkey"),
        sa.PrimaryKeyConstraint("table_id", name="dropped_tables_pkey"),
    )
    op.create_index("dropped_tables_drop_id_idx", "dropped_tables", ["drop_id"])


def _rows() -> None:
    op.create_table(
        "dropped_partitions",
        sa.Column("drop_id", sa.BigInteger, nullable=False),
        sa.Column("id", sa.BigInteger, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("values", ARRAY(sa.Text), nullable=False),
        sa.Column("keys", ARRAY(_NAME), nullable=False),
        sa.Column("location", _NAME),
        sa.Column("create_time", sa.Integer, nullable=False),
        sa.Column("last_access_time", sa.Integer, nullable=False),
        sa.Column("parameters", JSONB, nullable=False),
        sa.Column("descriptor_id", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
    )
    op.create_index("dropped_partitions_drop_id_idx", "dropped_partitions", ["drop_id"], postgresql_using="brin")
    op.create_table(
        "dropped_rows",
        sa.Column("drop_id", sa.BigInteger, nullable=False),
        sa.Column("relation", sa.Text, nullable=False),
        sa.Column("partition_id", sa.BigInteger),
        sa.Column("content", JSONB, nullable=False),
    )
    op.create_index("dropped_rows_drop_id_idx", "dropped_rows", ["drop_id"])
