"""Since when a file operation has been failing, and whether it waits for somebody who mends that.

Partitions go with their table without a foreign key: those who add some hold their table, and who deletes it deletes
them. Servers of before need the key for the latter.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

# Both tables are locked in the order in which writers use them: the other way round, each would wait for the other.
_LOCKED = "LOCK TABLE tables, partitions IN ACCESS EXCLUSIVE MODE"
FINISH = (f"{_LOCKED}; ALTER TABLE partitions DROP CONSTRAINT IF EXISTS partitions_table_id_fkey",)


def upgrade() -> None:
    """Adds two columns, which servers of before leave to their defaults."""
    op.add_column("file_operations", sa.Column("failing_since", TIMESTAMP(timezone=True)))
    parked = sa.Column("parked", sa.Boolean, nullable=False, server_default=sa.text("false"))
    op.add_column("file_operations", parked)
