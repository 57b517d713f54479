"""Positions of the sinks of events, and messages that a sink has not taken."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

_NAME = sa.Text(collation="C")
_MOMENT = TIMESTAMP(timezone=True)


def upgrade() -> None:
    """Creates the tables."""
    op.create_table(
        "event_sinks",
        sa.Column("name", _NAME, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.Text, nullable=False),
        sa.Column("holder", sa.Uuid),
        sa.Column("held_until", _MOMENT),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("retry_at", _MOMENT),
        sa.Column("error", sa.Text),
        sa.Column("disabled_at", _MOMENT),
        sa.Column("sent", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="event_sinks_pkey"),
    )
    op.create_table(
        "dead_letters",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("sink", _NAME, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("identity", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("died_at", _MOMENT, nullable=False),
        sa.Column("requested_at", _MOMENT),
        sa.PrimaryKeyConstraint("id", name="dead_letters_pkey"),
        sa.ForeignKeyConstraint(["sink"], ["event_sinks.name"], name="dead_letters_sink_fkey", ondelete="CASCADE"),
    )
    op.create_index("dead_letters_sink_idx", "dead_letters", ["sink", "id"])
