"""Finding what a call names, or saying that it is not there."""

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


def required(found: T | None, error: MetastoreError) -> T:
    """Returns what was found. Raises the error where that is nothing."""
    if found is None:
        raise error
    return found


@contextmanager
def taken(error: MetastoreError) -> Iterator[None]:
    """Raises the error where a name is taken, which the database says of the row alone."""
    try:
        yield
    except AlreadyExistsError:
        raise error from None


def get_catalog(work: UnitOfWork, name: str, *, lock: bool = False) -> Catalog:
    """Reads a catalog; `lock`: nobody else changes or drops it before this transaction ends. Raises NotFoundError."""
    return required(work.catalogs.find(name, lock=lock), NotFoundError(f"No catalog {name}"))


def get_database(work: UnitOfWork, name: DatabaseName, *, lock: bool = False) -> StoredDatabase:
    """Reads a database; `lock`: nobody else changes or drops it before this transaction ends. Raises NotFoundError."""
    return required(work.databases.find(name, lock=lock), missing_database(name))


def get_home(work: UnitOfWork, name: DatabaseName) -> StoredDatabase:
    """Reads the database in which something is to lie. Raises InvalidObjectError."""
    return required(work.databases.find(name), InvalidObjectError(f"database {name} not found"))


def get_table(work: UnitOfWork, name: TableName, *, lock: TableLock | None = None) -> StoredTable:
    """Reads a table; `lock` as `Tables.find` has it. Raises NotFoundError."""
    stored = work.tables.find(name, lock=lock)
    if stored is None:
        raise missing_table(name)
    return stored


def lock_tables(work: UnitOfWork, names: Iterable[TableName], lock: TableLock) -> dict[TableName, StoredTable]:
    """Reads those of the tables that are there. They are locked in the order of their ids, as all do it who lock more
    than one: so they wait for each other.
    """
    known = sorted((found.id, found.name) for name in names if (found := work.tables.reference(name)))
    return {name: stored for _, name in known if (stored := work.tables.find(name, lock=lock))}


def get_table_ref(work: UnitOfWork, name: TableName) -> TableRef:
    """Reads what identifies a table, which is cheaper than the table. Raises NotFoundError."""
    reference = work.tables.reference(name)
    if reference is None:
        raise missing_table(name)
    return reference


def ids_within(work: UnitOfWork, name: TableName) -> list[int] | None:
    """Returns the id of a table, or those of a database's tables; None where neither is named. Raises NotFoundError."""
    if name.name:
        return [get_table_ref(work, name).id]
    if not name.database:
        return None
    get_database(work, name.parent)
    return work.tables.ids(name.parent)


def missing_database(name: DatabaseName) -> NotFoundError:
    """Returns the error that says, in Hive's words, that a database is not there."""
    return NotFoundError(f"database {name} not found")


def missing_table(name: TableName) -> NotFoundError:
    """Returns the error that says, in Hive's words, that a table is not there."""
    return NotFoundError(f"{name.as_given} table not found")
