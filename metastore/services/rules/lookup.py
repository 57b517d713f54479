"""Reads objects by name, or raises Hive's error for a missing one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from metastore.domain.names import DatabaseName, TableName
from metastore.errors import AlreadyExistsError, InvalidObjectError, MetastoreError, NotFoundError
from metastore.storage.references import StoredTable, TableRef
from metastore.storage.repositories.databases import StoredDatabase
from metastore.storage.repositories.tables import TableLock
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Catalog

T = TypeVar("T")


def required(value: T | None, error: MetastoreError) -> T:
    """Returns the value. Raises the error if it is None."""
    if value is None:
        raise error
    return value


@contextmanager
def taken(error: MetastoreError) -> Iterator[None]:
    """Replaces AlreadyExistsError, which names only the row of the database, by an error that names the object."""
    try:
        yield
    except AlreadyExistsError:
        raise error from None


def get_catalog(work: UnitOfWork, name: str, *, lock: bool = False) -> Catalog:
    """Reads a catalog. `lock`: no other transaction can change or drop it. Raises NotFoundError."""
    return required(work.catalogs.find(name, lock=lock), NotFoundError(f"No catalog {name}"))


def get_database(work: UnitOfWork, name: DatabaseName, *, lock: bool = False) -> StoredDatabase:
    """Reads a database. `lock`: no other transaction can change or drop it. Raises NotFoundError."""
    stored = work.databases.find(name, lock=lock)
    if stored is None:
        raise missing_database(name)
    return stored


def get_home(work: UnitOfWork, name: DatabaseName) -> StoredDatabase:
    """Reads the database of a new object. Raises InvalidObjectError, as Hive does there, if it does not exist."""
    stored = work.databases.find(name)
    if stored is None:
        raise InvalidObjectError(f"database {name} not found")
    return stored


def get_table(work: UnitOfWork, name: TableName, *, lock: TableLock | None = None) -> StoredTable:
    """Reads a table. `lock`: see `Tables.find`. Raises NotFoundError."""
    stored = work.tables.find(name, lock=lock)
    if stored is None:
        raise missing_table(name)
    return stored


def lock_tables(work: UnitOfWork, names: Iterable[TableName], lock: TableLock) -> dict[TableName, StoredTable]:
    """Locks and reads the tables that exist.

    Every call that locks several tables does so in the order of their ids, so that two calls wait instead of
    deadlocking.
    """
    names = list(names)
    if len(names) == 1:
        return {name: stored for name in names if (stored := work.tables.find(name, lock=lock))}
    known = sorted((reference.id, reference.name) for name in names if (reference := work.tables.reference(name)))
    return {name: stored for _, name in known if (stored := work.tables.find(name, lock=lock))}


def get_table_ref(work: UnitOfWork, name: TableName) -> TableRef:
    """Reads a table's id, name and keys, which is cheaper than the table. Raises NotFoundError."""
    reference = work.tables.reference(name)
    if reference is None:
        raise missing_table(name)
    return reference


def ids_within(work: UnitOfWork, name: TableName) -> list[int] | None:
    """Returns the id of a table, or the ids of a database's tables, or None for all. Raises NotFoundError."""
    if name.name:
        return [get_table_ref(work, name).id]
    if not name.database:
        return None
    get_database(work, name.parent)
    return sorted(work.tables.ids_by_name(name.parent).values())


def database_names(work: UnitOfWork) -> list[DatabaseName]:
    """Lists the databases of all catalogs."""
    catalogs = work.catalogs.names()
    return [DatabaseName(catalog, text) for catalog in catalogs for text in work.databases.names(catalog, None)]


def missing_database(name: DatabaseName) -> NotFoundError:
    """Returns the error, in Hive's words, for a database that does not exist."""
    return NotFoundError(f"database {name} not found")


def missing_table(name: TableName) -> NotFoundError:
    """Returns the error, in Hive's words, for a table that does not exist."""
    return NotFoundError(f"{name.as_given} table not found")


def no_statistics(table: TableName, column: str) -> NotFoundError:
    """Returns the error, in Hive's words, for a column without statistics."""
    text = f"Statistics for dbName={table.database}, tableName={table.name}, columnName={column} not available"
    return NotFoundError(text)
