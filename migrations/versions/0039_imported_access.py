"""Roles, members of roles and privileges on everything that imports have added: a source that removes one removes it
here, too, and nothing else.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table. Imports that exist already fill it with their next sweep."""
    op.create_table(
        "import_access",
        sa.Column("import_id", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("rows", JSONB, nullable=False),
        sa.ForeignKeyConstraint(["import_id"], ["imports.id"], name="import_access_import_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("import_id", "kind", name="import_access_pkey"),
    )
