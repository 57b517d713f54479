"""The delay of a follower, and the event that it has applied last."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds columns that are null: a follower fills them."""
    op.add_column("imports", sa.Column("event_digest", sa.Text))
    op.add_column("imports", sa.Column("source_event", sa.BigInteger))
    op.add_column("imports", sa.Column("current_at", TIMESTAMP(timezone=True)))
