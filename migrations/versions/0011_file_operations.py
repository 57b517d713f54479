"""The journal of file operations, which also contains replaced locations.

Servers of earlier versions know only the table of replaced locations. Until the upgrade is finished, triggers copy each
change of one table to the other.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_NAME = sa.Text(collation="C")
_TIME = TIMESTAMP(timezone=True)
_TO_JOURNAL = """
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM file_operations WHERE kind = 'remove' AND reason = 'replaced' AND location = OLD.location;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO file_operations (kind, location, places, table_id, root, decided_at, reason, query_id)
            VALUES ('remove', NEW.location, '{}', NEW.table_id, NEW.root, NEW.retired_at, 'replaced', NEW.query_id)
            ON CONFLICT (location) WHERE kind = 'remove' DO UPDATE SET
                table_id = excluded.table_id, root = excluded.root, decided_at = excluded.decided_at,
                reason = excluded.reason, query_id = excluded.query_id;
        END IF;
        RETURN NULL;
    END
"""
_TO_RETIRED = """
    BEGIN
        IF TG_OP <> 'INSERT' AND OLD.kind = 'remove' AND OLD.reason = 'replaced' THEN
            DELETE FROM retired_locations WHERE location = OLD.location;
        END IF;
        IF TG_OP <> 'DELETE' AND NEW.kind = 'remove' AND NEW.reason = 'replaced' THEN
            INSERT INTO retired_locations (location, table_id, root, retired_at, reason, query_id)
            VALUES (NEW.location, NEW.table_id, NEW.root, NEW.decided_at, 'replaced', NEW.query_id)
            ON CONFLICT (location) DO UPDATE SET
                table_id = excluded.table_id, root = excluded.root, retired_at = excluded.retired_at,
                reason = excluded.reason, query_id = excluded.query_id;
        END IF;
        RETURN NULL;
    END
"""

# Separate transactions in this order: none of them waits for one table while it blocks other sessions on another.
FINISH = (
    "DROP TRIGGER IF EXISTS followed ON file_operations",
    "DROP TABLE IF EXISTS retired_locations",
    "DROP FUNCTION IF EXISTS follow_file_operations()",
    "DROP FUNCTION IF EXISTS follow_retired_locations()",
)
"""Statements that remove the triggers and the old table."""


def upgrade() -> None:
    """Creates the table, copies the replaced locations, and creates the triggers."""
    op.create_table(
        "file_operations",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("location", _NAME, nullable=False),
        sa.Column("target", _NAME),
        sa.Column("places", ARRAY(sa.Text), nullable=False),
        sa.Column("origin", sa.Text),
        sa.Column("table_id", sa.BigInteger),
        sa.Column("root", sa.Text, nullable=False),
        sa.Column("decided_at", _TIME, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("lease_ends_at", _TIME),
        sa.Column("error", sa.Text),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="file_operations_table_id_fkey", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="file_operations_pkey"),
    )
    op.create_index("file_operations_table_id_idx", "file_operations", ["table_id"])
    op.create_index("file_operations_location_idx", "file_operations", [sa.text("left(location, 600)")])
    op.create_index(
        "file_operations_removed_idx",
        "file_operations",
        ["location"],
        unique=True,
        postgresql_where=sa.text("kind = 'remove'"),
    )
    op.create_index(
        "file_operations_unfinished_idx",
        "file_operations",
        ["id"],
        postgresql_where=sa.text("kind <> 'remove' OR reason <> 'replaced'"),
    )
    op.execute("""
        INSERT INTO file_operations (kind, location, places, table_id, root, decided_at, reason, query_id)
        SELECT 'remove', location, '{}', table_id, root, retired_at, 'replaced', query_id FROM retired_locations
    """)
    for table, follow in (("retired_locations", _TO_JOURNAL), ("file_operations", _TO_RETIRED)):
        op.execute(f"CREATE FUNCTION follow_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ {follow} $$")
        op.execute(f"""
            CREATE TRIGGER followed AFTER INSERT OR UPDATE OR DELETE ON {table}
            FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION follow_{table}()
        """)
