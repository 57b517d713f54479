"""The table that owned a directory in the trash, so that it can be put back without the rows of its drop."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column. Servers of earlier versions leave it null."""
    op.add_column("file_operations", sa.Column("owner", sa.Text))
