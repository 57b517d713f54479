"""Catalogs have parameters, as in Hive 4.2."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Catalogs that are there have none."""
    op.add_column("catalogs", sa.Column("parameters", JSONB, nullable=False, server_default="{}"))
    op.alter_column("catalogs", "parameters", server_default=None)
