"""When to look for files that come late to a replaced location, and which ones were there at the last look."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds two columns of the journal, and an index on one of them. Locations that were rewritten are looked into."""
    op.add_column("file_operations", sa.Column("late_files", sa.ARRAY(sa.BigInteger)))
    op.add_column("file_operations", sa.Column("look_at", sa.DateTime(timezone=True)))
    op.execute("UPDATE file_operations SET look_at = now() WHERE kind = 'remove' AND foreign_files IS NOT NULL")
    op.create_index(
        "file_operations_look_at_idx", "file_operations", ["look_at"], postgresql_where=sa.text("look_at IS NOT NULL")
    )
