"""Views of Hive's schema without statistics of columns of rows that were overwritten."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

FILE = Path(__file__).parents[1] / "hive_schema" / "known_statistics.sql"


def upgrade() -> None:
    """Replaces two views."""
    op.execute(FILE.read_text())
