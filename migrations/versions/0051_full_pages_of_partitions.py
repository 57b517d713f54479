"""No free space in new pages of partitions (fillfactor)."""

from __future__ import annotations

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies to new pages only. The first change of a row in a full page moves it and leaves room for later changes,
    which then need no new index entries (PostgreSQL documentation, "Heap-Only Tuples"). Most pages never change.
    """
    op.execute("ALTER TABLE partitions RESET (fillfactor)")
