"""The last changes of each partition list."""

from __future__ import annotations

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A server of the former version gives a list a state that is not the last one here, so that it is read again."""
    op.execute("""ALTER TABLE partition_lists ADD COLUMN changed text[] COLLATE "C" NOT NULL DEFAULT '{}'""")
