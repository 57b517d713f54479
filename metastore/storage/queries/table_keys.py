"""Rows that belong to a table by its name, because there may be no such table (yet)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Table, and_

from metastore.storage.references import TableKey


def of_table(rows: Table | Any, key: TableKey) -> ColumnElement[bool]:
    """The rows that name the table. `rows`: a table (or alias) with catalog, database, table_name."""
    return and_(rows.c.catalog == key.catalog, rows.c.database == key.database, rows.c.table_name == key.name)


def of_database(rows: Table | Any, catalog: str, database: str) -> ColumnElement[bool]:
    """The rows that name a table of the database."""
    return and_(rows.c.catalog == catalog, rows.c.database == database)


def named(key: TableKey) -> dict[str, str]:
    """The columns that name the table."""
    return {"catalog": key.catalog, "database": key.database, "table_name": key.name}
