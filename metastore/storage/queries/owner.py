"""Locking of the table that partitions belong to, instead of a foreign key, which would check it for each row."""

from __future__ import annotations


def owner(table_id: str) -> str:
    """Returns the query that locks a table against being dropped until the transaction ends. `table_id`: an SQL
    parameter.
    """
    return f"SELECT id AS table_id FROM tables WHERE id = {table_id} FOR KEY SHARE"  # noqa: S608 - a parameter's name
