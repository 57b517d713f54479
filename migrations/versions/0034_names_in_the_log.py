"""The events by which objects get their names: events before them are about other objects."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds columns with constant defaults, which rewrites no table. Servers of earlier versions do not fill them."""
    op.add_column("notification_log", sa.Column("renamed", sa.Boolean, nullable=False, server_default="false"))
    name = sa.Text(collation="C")
    op.add_column("write_notifications", sa.Column("catalog", name, nullable=False, server_default="hive"))
    op.add_column("write_notifications", sa.Column("after_event", sa.BigInteger, nullable=False, server_default="0"))
