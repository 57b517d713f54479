"""The audit trail."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates an empty audit trail. The first line has number 1."""
    sequence = op.create_table(
        "audit_sequence",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("last_number", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name="audit_sequence_one_row_check"),
        sa.PrimaryKeyConstraint("id", name="audit_sequence_pkey"),
    )
    op.bulk_insert(sequence, [{"id": 1, "last_number": 0}])
    op.create_table(
        "audit_log",
        sa.Column("number", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("at", TIMESTAMP(timezone=True), nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("user_name", sa.Text),
        sa.Column("for_user", sa.Text),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("objects", ARRAY(sa.Text), nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("detail", JSONB, nullable=False),
        sa.Column("told", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("number", name="audit_log_pkey"),
    )
    op.create_index("audit_log_at_idx", "audit_log", ["at"])
    op.create_index("audit_log_objects_idx", "audit_log", ["objects"], postgresql_using="gin")
    op.create_index("audit_log_untold_idx", "audit_log", ["number"], postgresql_where=sa.text("NOT told"))
