"""The journal of file operations, of which retired locations are a part."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_NAME = sa.Text(collation="C")
_TIME = TIMESTAMP(timezone=True)


def upgrade() -> None:
    """Adds the table; retired locations move there."""
    op.create_table(
        "file_operations",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("location", _NAME, nullable=False),
        sa.Column("target", _NAME),
        sa.Column("places", ARRAY(sa.Text), nullable=False),
        sa.Column("origin", sa.Text),
        sa.Column("table_id", sa.BigInteger),
        sa.Column("root", sa.Text, nullable=False),
        sa.Column("decided_at", _TIME, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("lease_ends_at", _TIME),
        sa.Column("error", sa.Text),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="file_operations_table_id_fkey", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="file_operations_pkey"),
    )
    op.create_index("file_operations_table_id_idx", "file_operations", ["table_id"])
    op.create_index("file_operations_location_idx", "file_operations", [sa.text("left(location, 600)")])
    op.create_index(
        "file_operations_removed_idx",
        "file_operations",
        ["location"],
        unique=True,
        postgresql_where=sa.text("kind = 'remove'"),
    )
    op.create_index(
        "file_operations_unfinished_idx",
        "file_operations",
        ["id"],
        postgresql_where=sa.text("kind <> 'remove' OR reason <> 'replaced'"),
    )
    op.execute("""
        INSERT INTO file_operations (kind, location, places, table_id, root, decided_at, reason, query_id)
        SELECT 'remove', location, '{}', table_id, root, retired_at, reason, query_id FROM retired_locations
    """)
    op.drop_table("retired_locations")
