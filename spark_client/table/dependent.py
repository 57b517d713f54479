"""Which tables are dependent: to Spark they are views, and have no files."""

from __future__ import annotations

from metastore.client.structs import Table

# Properties of theirs: that they are some, and on which tables they depend.
MARK, BASES = "dependent.table", "dependent.on"


def is_dependent(table: Table) -> bool:
    """Tells whether its partitions are those of others."""
    return table.parameters.get(MARK) == "true"


def has_no_data(table: Table) -> str:
    """Returns why a dependent table is not written to, in one line."""
    return f"{table.full_name} is a dependent table and has no data of its own; write to {table.parameters[BASES]}"
