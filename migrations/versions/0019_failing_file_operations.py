"""Failing file operations: since when they fail, and whether they wait for an operator.

The foreign key from partitions to tables is dropped when the upgrade is finished: writers lock the table's row instead,
and deleting a table deletes its partitions. Servers of earlier versions need the key for that.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

# Locks both tables in the order in which writers lock them, to avoid a deadlock.
_LOCKED = "LOCK TABLE tables, partitions IN ACCESS EXCLUSIVE MODE"
FINISH = (f"{_LOCKED}; ALTER TABLE partitions DROP CONSTRAINT IF EXISTS partitions_table_id_fkey",)


def upgrade() -> None:
    """Adds two columns. Servers of earlier versions use their defaults."""
    op.add_column("file_operations", sa.Column("failing_since", TIMESTAMP(timezone=True)))
    parked = sa.Column("parked", sa.Boolean, nullable=False, server_default=sa.text("false"))
    op.add_column("file_operations", parked)
