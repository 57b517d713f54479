"""Ids of tables' descriptors are identities: a generated column cannot be added without a rewrite of `tables`."""

from __future__ import annotations

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the generated column of an earlier form of revision 0027 an identity column. Its values stay.

    Servers of earlier versions insert rows without it in both forms. The lock is held for a check of the column.
    """
    op.execute("""
        DO $$ BEGIN
            IF (SELECT attgenerated FROM pg_attribute WHERE attrelid = 'tables'::regclass AND attname = 'hive_sd_id')
               = 's'
            THEN
                ALTER TABLE tables ALTER COLUMN hive_sd_id DROP EXPRESSION, ALTER COLUMN hive_sd_id SET NOT NULL;
                ALTER TABLE tables ALTER COLUMN hive_sd_id
                    ADD GENERATED ALWAYS AS IDENTITY (START WITH 4503599627370496);
                PERFORM setval(pg_get_serial_sequence('tables', 'hive_sd_id'),
                               coalesce(max(hive_sd_id) + 1, 4503599627370496), false) FROM tables;
            END IF;
        END $$
    """)
