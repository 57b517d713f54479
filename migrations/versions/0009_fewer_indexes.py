"""Fewer index entries for partitions; repeated parts of an event's message are stored once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_POSITIONS = (1, 2, 3)


def upgrade() -> None:
    """Drops indexes that no query needs, and restricts others to the rows that queries look for."""
    op.drop_constraint("partitions_descriptor_id_fkey", "partitions", type_="foreignkey")
    op.drop_index("partitions_descriptor_id_idx", "partitions")
    for position in _POSITIONS:
        name = f"partitions_table_id_key_{position}_idx"
        op.drop_index(name, "partitions")
        present = sa.text(f"keys[{position}] IS NOT NULL")
        op.create_index(name, "partitions", ["table_id", sa.text(f"(keys[{position}])")], postgresql_where=present)
    op.add_column("notification_log", sa.Column("repeated", sa.Text, nullable=False, server_default=""))
    op.add_column("notification_log", sa.Column("repetitions", sa.Integer, nullable=False, server_default="0"))
