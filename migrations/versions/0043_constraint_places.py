"""The places of the columns of constraints, and views of Hive's schema that join fast."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

FILE = Path(__file__).parents[1] / "hive_schema" / "placed_constraints.sql"

_COLUMNS = {
    "child_table_id": "bigint",
    "columns_id": "bigint",
    "column_index": "int",
    "parent_columns_id": "bigint",
    "parent_column_index": "int",
    "flags": "smallint",
    "update_rule": "smallint",
    "delete_rule": "smallint",
}
_ADDED = ", ".join(f"ADD COLUMN {name} {kind}" for name, kind in _COLUMNS.items())
_NAMES = ", ".join(_COLUMNS)

PREPARE = (
    # ADD COLUMN IF NOT EXISTS would lock the table even if the column exists.
    f"""
    DO $do$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_attribute WHERE attname = 'flags'
                       AND attrelid = 'table_constraints'::regclass) THEN
            ALTER TABLE table_constraints {_ADDED};
        END IF;
    END $do$
    """,
    """
    CREATE OR REPLACE FUNCTION hive.place_of(of_table bigint, wanted text, OUT list bigint, OUT index int)
    LANGUAGE sql STABLE AS $$
        SELECT CASE WHEN own.position IS NOT NULL THEN l.id END,
               coalesce(own.position, hive.position_in(t.partition_keys, wanted), 0) - 1
        FROM tables t JOIN storage_descriptors d ON d.id = t.descriptor_id JOIN column_lists l ON l.id = d.columns_id,
             LATERAL (SELECT array_position(l.names, wanted COLLATE "C") AS position) own
        WHERE t.id = of_table
    $$;
    COMMENT ON FUNCTION hive.place_of IS
        'The list and position (from 0) of a column; no list for a partition key, -1 for an unknown column.';

    CREATE OR REPLACE FUNCTION hive.rule_of(encoded bytea, at int, field int) RETURNS smallint
    LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        RETURN hive.rule_at(encoded, at, field);
    EXCEPTION WHEN OTHERS THEN
        RETURN NULL;
    END $$;
    COMMENT ON FUNCTION hive.rule_of IS 'As rule_at; NULL if the struct is damaged.';

    CREATE OR REPLACE FUNCTION hive.placed(c table_constraints) RETURNS table_constraints LANGUAGE plpgsql AS $$
    DECLARE
        names int := octet_length(c.parent_column_name) + octet_length(c.column_name);
    BEGIN
        IF c.kind = 'fk' THEN
            c.child_table_id := c.table_id;
            SELECT * INTO c.columns_id, c.column_index FROM hive.place_of(c.table_id, c.column_name);
            c.update_rule := hive.rule_of(c.encoded, 24 + names, 8);
            c.delete_rule := hive.rule_of(c.encoded, 31 + names, 9);
        END IF;
        SELECT * INTO c.parent_columns_id, c.parent_column_index
        FROM hive.place_of(coalesce(c.parent_table_id, c.table_id), coalesce(c.parent_column_name, c.column_name));
        c.flags := hive.constraint_flags(c.encoded);
        RETURN c;
    END $$;
    COMMENT ON FUNCTION hive.placed IS 'A constraint with the columns that only the views of Hive''s schema read.';
    """,
    f"""
    UPDATE table_constraints c SET ({_NAMES}) = (SELECT {_NAMES} FROM hive.placed(c))
    WHERE id IN (SELECT id FROM table_constraints WHERE parent_column_index IS NULL ORDER BY id LIMIT 1000 FOR UPDATE)
    """,  # noqa: S608 - constants
)
"""Adds the columns, and fills them in small transactions."""

_TRIGGERS = """
    CREATE FUNCTION hive.place_constraint() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF tg_op = 'INSERT' AND new.parent_table_id IS NOT NULL THEN
            -- A concurrent change of its columns finds the new constraint, or is found.
            PERFORM FROM tables WHERE id = new.parent_table_id FOR SHARE;
        END IF;
        RETURN hive.placed(new);
    END $$;

    CREATE FUNCTION hive.place_constraints_again() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE table_constraints SET kind = kind WHERE table_id = new.id OR parent_table_id = new.id;
        RETURN NULL;
    END $$;
"""

# Of tables that have changed since they were prepared.
_COMPLETE = """
    UPDATE table_constraints c SET kind = c.kind
    FROM tables own JOIN storage_descriptors own_descriptor ON own_descriptor.id = own.descriptor_id,
         tables parent JOIN storage_descriptors parent_descriptor ON parent_descriptor.id = parent.descriptor_id
    WHERE own.id = c.table_id AND parent.id = coalesce(c.parent_table_id, c.table_id)
          AND (c.parent_columns_id IS DISTINCT FROM parent_descriptor.columns_id
               OR c.kind = 'fk' AND c.columns_id IS DISTINCT FROM own_descriptor.columns_id)
"""


def upgrade() -> None:
    """Adds eight columns of constraints with the triggers that fill them, and three indexes; replaces four views."""
    op.execute(PREPARE[0])
    op.execute(PREPARE[1])
    op.execute(_TRIGGERS)
    op.execute(FILE.read_text())
    op.execute(_COMPLETE)
    op.create_index(
        "table_constraints_child_table_id_idx",
        "table_constraints",
        ["child_table_id"],
        postgresql_where=sa.text("child_table_id IS NOT NULL"),
    )
    op.create_index("tables_dropped_idx", "tables", ["id"], postgresql_where=sa.text("database_id IS NULL"))
    op.create_index(
        "tables_summary_idx",
        "tables",
        ["id"],
        postgresql_include=["database_id", "name", "hive_sd_id", "create_time"],
        postgresql_where=sa.text("database_id IS NOT NULL"),
    )
