"""The table that rows belong to without a foreign key, which would look at it once for each of them."""

from __future__ import annotations


def owner(table_id: str) -> str:
    """Writes the query for a table of this id (a parameter), which nobody drops before the transaction ends."""
    return f"SELECT id AS table_id FROM tables WHERE id = {table_id} FOR KEY SHARE"  # noqa: S608 - a parameter's name
