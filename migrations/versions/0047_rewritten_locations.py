"""Where the rows of replaced locations are, and which files of other programs were read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds two columns of the journal, and an index on one of them."""
    op.add_column("file_operations", sa.Column("rewritten_at", sa.Text(collation="C")))
    op.add_column("file_operations", sa.Column("foreign_files", sa.ARRAY(sa.BigInteger)))
    op.create_index(
        "file_operations_rewritten_at_idx",
        "file_operations",
        ["rewritten_at"],
        postgresql_using="hash",
        postgresql_where=sa.text("rewritten_at IS NOT NULL"),
    )
