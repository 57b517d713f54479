"""How rows refer to their table: by its name, if it need not exist (yet), or by its id, whose row is locked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Table, and_

from metastore.domain.names import DatabaseName, TableName


def of_table(rows: Table | Any, table: TableName) -> ColumnElement[bool]:
    """Returns the condition for rows of the table. `rows`: a table or alias with catalog, database, table_name."""
    return and_(rows.c.catalog == table.catalog, rows.c.database == table.database, rows.c.table_name == table.name)


def of_database(rows: Table | Any, database: DatabaseName) -> ColumnElement[bool]:
    """Returns the condition for rows of tables in the database."""
    return and_(rows.c.catalog == database.catalog, rows.c.database == database.name)


def named(table: TableName) -> dict[str, str]:
    """Returns the columns that name the table."""
    return {"catalog": table.catalog, "database": table.database, "table_name": table.name}


def named_arrays(tables: Iterable[TableName]) -> dict[str, list[str]]:
    """Returns the names of tables as the parameters `catalogs`, `databases` and `tables`, for unnest."""
    names = [(table.catalog, table.database, table.name) for table in tables]
    return {column: [name[i] for name in names] for i, column in enumerate(("catalogs", "databases", "tables"))}


def owner(table_id: str) -> str:
    """Returns the query that locks a table against being dropped until the transaction ends. It replaces a foreign key
    of partitions, which would be checked for each row. `table_id`: an SQL parameter.
    """
    return f"SELECT id AS table_id FROM tables WHERE id = {table_id} FOR KEY SHARE"  # noqa: S608 - a parameter's name
