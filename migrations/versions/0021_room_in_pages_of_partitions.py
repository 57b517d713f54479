"""Free space in the pages of partitions (fillfactor)."""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies to new pages only: updates that keep name and location then need no new index entries."""
    op.execute("ALTER TABLE partitions SET (fillfactor = 85)")
