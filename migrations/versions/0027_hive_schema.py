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

# Descriptors of tables have ids from 2**52, those of partitions the ids of the partitions. JSON can express both.
PREPARE = (
    # ADD COLUMN IF NOT EXISTS would lock the table even if the column exists.
    """
    DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'tables'::regclass AND attname = 'hive_sd_id') THEN
            ALTER TABLE tables ADD COLUMN hive_sd_id bigint;
        END IF;
    END $$
    """,
    """
    UPDATE tables SET hive_sd_id = 4503599627370496 + id
    WHERE id IN (SELECT id FROM tables WHERE hive_sd_id IS NULL ORDER BY id LIMIT 1000 FOR UPDATE)
    """,
    "CREATE UNIQUE INDEX IF NOT EXISTS tables_hive_sd_id_key ON tables (hive_sd_id)",
)
"""Adds and fills the column of existing tables in small transactions, because clients read and change `tables`."""

_SD_IDS = """
    LOCK TABLE tables IN ACCESS EXCLUSIVE MODE;
    UPDATE tables SET hive_sd_id = 4503599627370496 + id WHERE hive_sd_id IS NULL;
    CREATE UNIQUE INDEX IF NOT EXISTS tables_hive_sd_id_key ON tables (hive_sd_id);
    ALTER TABLE tables ADD CONSTRAINT tables_hive_sd_id_key UNIQUE USING INDEX tables_hive_sd_id_key;
    ALTER TABLE tables ALTER COLUMN hive_sd_id SET NOT NULL;
    ALTER TABLE tables ALTER COLUMN hive_sd_id ADD GENERATED ALWAYS AS IDENTITY (START WITH 4503599627370496);
    SELECT setval(pg_get_serial_sequence('tables', 'hive_sd_id'),
                  coalesce(max(hive_sd_id) + 1, 4503599627370496), false)
    FROM tables
"""
_SKEW_IDS = """
    LOCK TABLE skew_values IN SHARE ROW EXCLUSIVE MODE;
    UPDATE skew_values v SET id = 4503599627370496 - 1 + numbered.number
    FROM (SELECT skew_id, position, row_number() OVER (ORDER BY skew_id, position) AS number FROM skew_values) numbered
    WHERE numbered.skew_id = v.skew_id AND numbered.position = v.position;
    CREATE UNIQUE INDEX skew_values_id_key ON skew_values (id);
    ALTER TABLE skew_values ADD CONSTRAINT skew_values_id_key UNIQUE USING INDEX skew_values_id_key;
    ALTER TABLE skew_values ALTER COLUMN id SET NOT NULL;
    ALTER TABLE skew_values ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (START WITH 4503599627370496);
    SELECT setval(pg_get_serial_sequence('skew_values', 'id'), coalesce(max(id) + 1, 4503599627370496), false)
    FROM skew_values
"""


def upgrade() -> None:
    """Creates the views of the schema `hive`, and two id columns that they need.

    PostgreSQL uses an index through the views only on a stored column. The columns are filled by UPDATE and become
    identities afterwards: a generated or identity column that is added in one step rewrites its table, and a statement
    that waits with an older snapshot then sees an empty table. The exclusive lock comes last, and is not preceded by a
    weaker one, for which a call could wait that has read the table: readers wait for a check of the column only.
    """
    op.execute(PREPARE[0])
    op.execute("ALTER TABLE skew_values ADD COLUMN id bigint")
    op.execute("CREATE SCHEMA IF NOT EXISTS hive")
    for name in FILES:
        op.execute((FOLDER / f"{name}.sql").read_text())
    op.execute(_SKEW_IDS)
    op.execute(_SD_IDS)
