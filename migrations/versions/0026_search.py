"""Indexes for searches over all tables, by parts of names and by words of names, columns and comments."""

from __future__ import annotations

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_WORDS = "to_tsvector('simple'::regconfig, translate(left({text}, 100000), './-:@\\', '      '))"
_VALUES = "jsonb_path_query_array({column}, '$[*].*'::jsonpath)::text"
_TABLE = _WORDS.format(
    text="(((name || ' ') || coalesce(parameters ->> 'comment', '')) || ' ') || "
    + _VALUES.format(column="partition_keys")
)
_COLUMNS = _WORDS.format(text=_VALUES.format(column="columns"))


def upgrade() -> None:
    """Creates the indexes. Their expressions use stored columns, so servers of earlier versions update them, too."""
    op.create_index("tables_name_idx", "tables", ["name", "id"])
    op.execute(f"CREATE INDEX tables_words_idx ON tables USING gin (({_TABLE}))")
    op.execute(f"CREATE INDEX column_lists_words_idx ON column_lists USING gin (({_COLUMNS}))")
