"""Hive's schema as read-only views, for tools that read the database of a metastore by SQL."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

FOLDER = Path(__file__).parents[1] / "hive_schema"
FILES = ("functions", "objects", "statistics", "privileges", "events", "absent", "lower_case")

FIRST_SD_ID = 2**52
"""Descriptors of tables have ids from here, those of partitions the ids of the partitions. JSON can express both."""


def upgrade() -> None:
    """Creates the views of the schema `hive`, and two id columns that they need.

    The columns rewrite `tables` and `skew_values` under a lock, once, before the first release: PostgreSQL 14 needs a
    stored column to use an index through the views. 100,000 tables (133 MB) took 8 s on two busy cores.
    """
    op.execute(
        f"ALTER TABLE tables ADD COLUMN hive_sd_id bigint GENERATED ALWAYS AS ({FIRST_SD_ID} + id) STORED, "
        "ADD CONSTRAINT tables_hive_sd_id_key UNIQUE (hive_sd_id)"
    )
    op.execute(
        f"ALTER TABLE skew_values ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY (START WITH {FIRST_SD_ID}), "
        "ADD CONSTRAINT skew_values_id_key UNIQUE (id)"
    )
    op.execute("CREATE SCHEMA IF NOT EXISTS hive")
    for name in FILES:
        op.execute((FOLDER / f"{name}.sql").read_text())
