"""States of partition lists: a change of partitions changes the state, which invalidates cached names.

Servers of earlier versions do not change the state, so they must not run together with later ones.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "partition_lists",
        sa.Column("table_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("state", sa.Uuid, nullable=False),
        sa.PrimaryKeyConstraint("table_id", name="partition_lists_pkey"),
    )
    op.execute("INSERT INTO partition_lists (table_id, state) SELECT id, gen_random_uuid() FROM tables")
