"""Recognizes dependent tables. To Spark they are views: they have no files."""

from __future__ import annotations

from metastore.client.structs import Table

# Table parameters: that a table is dependent, and the tables on which it depends.
MARK, BASES = "dependent.table", "dependent.on"


def is_dependent(table: Table) -> bool:
    """Returns whether a table is dependent: other tables have its data."""
    return table.parameters.get(MARK) == "true"


def has_no_data(table: Table) -> str:
    """Returns the error message for a write to a dependent table."""
    return f"{table.full_name} is a dependent table and has no data of its own; write to {table.parameters[BASES]}"
