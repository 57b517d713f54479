"""The statement that ends a write: its row moves from `open_writes` to `ended_writes`, which pages list."""

from __future__ import annotations

from typing import Final

from sqlalchemy import TextClause, text

PUBLISHED: Final = "published"
DISCARDED: Final = "discarded"
"""The writer ended it without publishing."""
ABANDONED: Final = "abandoned"
"""Its lease expired, and its files were removed."""


def ending(condition: str) -> TextClause:
    """Returns the statement for writes that match a condition. It returns the `roots` of each.

    Parameter `outcome`: one of the constants. Writes to a dropped table are not kept. A restored
    database may have the id of a write that has ended before.
    """
    return text(f"""
        WITH ended AS (
            DELETE FROM open_writes WHERE {condition} RETURNING query_id, table_id, user_name, begun_at, roots
        ), kept AS (
            INSERT INTO ended_writes (query_id, table_id, user_name, begun_at, ended_at, outcome)
            SELECT query_id, table_id, user_name, begun_at, clock_timestamp(), :outcome FROM ended
            WHERE table_id IS NOT NULL
            ON CONFLICT (query_id) DO NOTHING
        )
        SELECT roots FROM ended
    """)  # noqa: S608 - constants
