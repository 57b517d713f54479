"""The tables that views read, as their texts name them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates an empty table, which servers fill in the background, and an index of the views."""
    op.create_table(
        "view_bases",
        sa.Column("view_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("known", sa.Boolean, nullable=False),
        sa.Column("names", sa.ARRAY(sa.Text(collation="C")), nullable=False),
        sa.ForeignKeyConstraint(["view_id"], ["tables.id"], name="view_bases_view_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("view_id", name="view_bases_pkey"),
    )
    op.create_index("view_bases_names_idx", "view_bases", ["names"], postgresql_using="gin")
    op.create_index("tables_views_idx", "tables", ["id"], postgresql_where=sa.text("type = 'VIRTUAL_VIEW'"))
