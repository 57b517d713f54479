"""The start time of open writes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds a column. Servers of earlier versions use its default."""
    begun_at = sa.Column("begun_at", TIMESTAMP(timezone=True), nullable=False, server_default=sa.text("now()"))
    op.add_column("open_writes", begun_at)
