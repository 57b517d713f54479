"""Delegation tokens that our servers issued."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_NAME = sa.Text(collation="C")
_TIME = TIMESTAMP(timezone=True)


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "issued_tokens",
        sa.Column("sequence", sa.Integer, sa.Identity(always=False), nullable=False),
        sa.Column("identifier", sa.LargeBinary, nullable=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("owner", _NAME, nullable=False),
        sa.Column("renewer", _NAME, nullable=False),
        sa.Column("real_user", _NAME, nullable=False),
        sa.Column("issued_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        sa.Column("latest_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="issued_tokens_pkey"),
        sa.UniqueConstraint("identifier", name="issued_tokens_identifier_key"),
    )
