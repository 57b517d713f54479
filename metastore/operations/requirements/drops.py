"""Requirements for cleaning, and for objects that were dropped and can be restored."""

from __future__ import annotations

from metastore.domain.names import DatabaseName, TableName, fold
from metastore.domain.permissions import (
    Administrator,
    Renaming,
    RequiredPrivilege,
)
from metastore.domain.privileges import CatalogName, Duty, Right
from metastore.operations.requirements import Requirements


def cleaned(table: TableName) -> Requirements:
    """ALTER on a table, or on a database if no table is named; an administrator if neither is."""
    if table.name:
        yield RequiredPrivilege(table, (Right.ALTER,))
    elif table.database:
        yield RequiredPrivilege(table.parent, (Right.ALTER,))
    else:
        yield Administrator(Duty.DATA)


def dropped_objects(database: DatabaseName) -> Requirements:
    """ALTER on the database whose dropped objects are listed; an administrator if all databases are."""
    yield RequiredPrivilege(database, (Right.ALTER,)) if database.name else Administrator(Duty.DATA)


def undropped(table: TableName, new_name: str | None) -> Requirements:
    """CREATE on the catalog for a database; INSERT on a table whose partitions are restored; CREATE on its database for
    the table itself. A table that gets a new name leaves the present table of its old name as it is.
    """
    if not table.name:
        yield RequiredPrivilege(CatalogName(table.catalog), (Right.CREATE,))
    elif new_name:
        yield RequiredPrivilege(table.parent, (Right.CREATE,))
        yield Renaming(table, table.parent.table(fold(new_name)))
    else:
        yield RequiredPrivilege(table, (Right.INSERT,), if_missing=(Right.CREATE,))
