"""Look-ups in the views of Hive's schema: constraints by table, kind and column, and views by their texts."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

FILE = Path(__file__).parents[1] / "hive_schema" / "constraints.sql"

PREPARE = (
    # ADD COLUMN IF NOT EXISTS would lock the table even if the column exists.
    """
    DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'column_lists'::regclass AND attname = 'names') THEN
            ALTER TABLE column_lists ADD COLUMN names text[];
        END IF;
    END $$
    """,
    """
    UPDATE column_lists
    SET names = ARRAY(SELECT field ->> 'name' FROM jsonb_array_elements(columns) WITH ORDINALITY f(field, n) ORDER BY n)
    WHERE id IN (SELECT id FROM column_lists WHERE names IS NULL ORDER BY id LIMIT 1000 FOR UPDATE)
    """,
)
"""Adds and fills the column of existing rows in small transactions."""

FINISH = (
    "DROP TRIGGER IF EXISTS column_lists_names ON column_lists",
    "DROP FUNCTION IF EXISTS names_of_columns()",
)
"""Removes what fills the column of rows that servers of the previous version add."""

_FILL = """
    CREATE FUNCTION names_of_columns() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        new.names := ARRAY(
            SELECT field ->> 'name' FROM jsonb_array_elements(new.columns) WITH ORDINALITY f(field, n) ORDER BY n);
        RETURN new;
    END $$;
    CREATE TRIGGER column_lists_names BEFORE INSERT ON column_lists FOR EACH ROW WHEN (new.names IS NULL)
        EXECUTE FUNCTION names_of_columns();
    UPDATE column_lists
    SET names = ARRAY(SELECT field ->> 'name' FROM jsonb_array_elements(columns) WITH ORDINALITY f(field, n) ORDER BY n)
    WHERE names IS NULL
"""


def upgrade() -> None:
    """Adds the names of columns as an array, and four indexes; replaces two views.

    The indexes are on the expressions of the views, and on the few tables that are views.
    """
    op.execute(PREPARE[0])
    op.execute(_FILL)
    for name, expression in (
        ("table_constraints_primary_table_idx", "COALESCE(parent_table_id, table_id)"),
        ("table_constraints_type_idx", "((strpos('pk fk uk nn dc cc'::text, kind) / 3)::smallint)"),
    ):
        op.create_index(name, "table_constraints", [sa.text(expression)])
    for column in ("view_expanded_text", "view_original_text"):
        op.create_index(f"tables_{column}_idx", "tables", ["id"], postgresql_where=sa.text(f"{column} IS NOT NULL"))
    op.execute(FILE.read_text())
