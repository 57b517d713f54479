"""Parameters of catalogs, as in Hive 4.2."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column. Existing catalogs have no parameters."""
    op.add_column("catalogs", sa.Column("parameters", JSONB, nullable=False, server_default="{}"))
    op.alter_column("catalogs", "parameters", server_default=None)
