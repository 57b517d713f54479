"""Keys of requests by Iceberg's REST protocol, so that a repeated request is answered and not carried out again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP, UUID

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "request_keys",
        sa.Column("user_name", sa.Text(collation="C"), nullable=False),
        sa.Column("key", UUID(as_uuid=True), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("location", sa.Text),
        sa.Column("body", sa.Text),
        sa.Column("recorded_at", TIMESTAMP(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("user_name", "key", name="request_keys_pkey"),
    )
    op.create_index("request_keys_recorded_at_idx", "request_keys", ["recorded_at"])
