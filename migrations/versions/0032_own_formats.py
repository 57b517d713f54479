"""Each descriptor has its own row in Hive's SERDES."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

FILE = Path(__file__).parents[1] / "hive_schema" / "own_formats.sql"


def upgrade() -> None:
    """Replaces three views."""
    op.execute(FILE.read_text())
