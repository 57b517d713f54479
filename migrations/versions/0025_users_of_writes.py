"""The user who began a write, because only that user may renew, publish or end it; an index to count a user's locks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column and the index. Servers of earlier versions leave the column null."""
    op.add_column("open_writes", sa.Column("user_name", sa.Text))
    op.create_index("locks_user_name_idx", "locks", ["user_name"])
