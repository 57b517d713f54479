"""Random names in the trash: numbers of the journal recur after a restore of the database."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column. Rows without a name, also those of servers of earlier versions, use their id."""
    op.add_column("file_operations", sa.Column("token", sa.Text))
