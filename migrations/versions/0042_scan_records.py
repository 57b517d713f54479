"""What scans filter by, and what they keep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

_COUNTS = ("scans", "kept_partitions", "kept_directories", "directories", "sized", "kept_files", "kept_bytes")
_TOTALS = ("partitions", "files", "bytes")


def upgrade() -> None:
    """Creates empty tables, which servers fill in the background."""
    op.create_table(
        "scan_records",
        sa.Column("table_id", sa.BigInteger, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("shape", sa.Text(collation="C"), nullable=False),
        sa.Column("user_name", sa.Text(collation="C"), nullable=False),
        sa.Column("last_at", TIMESTAMP(timezone=True), nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _COUNTS),
        *(sa.Column(name, sa.BigInteger) for name in _TOTALS),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="scan_records_table_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("table_id", "day", "shape", "user_name", name="scan_records_pkey"),
    )
    op.create_index("scan_records_day_idx", "scan_records", ["day"])
    op.create_table(
        "scan_recording_days",
        sa.Column("day", sa.Date, nullable=False),
        sa.PrimaryKeyConstraint("day", name="scan_recording_days_pkey"),
    )
