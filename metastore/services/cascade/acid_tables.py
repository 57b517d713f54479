"""Rows stored by the names of transactional tables follow renames and drops (Hive's AcidEventListener)."""

from __future__ import annotations

from metastore.domain.names import DatabaseName, TableName
from metastore.services.rules.tables import is_true
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Table


def follow_rename(work: UnitOfWork, old: Table, new: Table) -> None:
    """Moves write ids, writes, compactions and locks of a renamed transactional table to its new name."""
    if not is_true(old.parameters, "transactional"):
        return
    before, after = TableName.of(old), TableName.of(new)
    if before == after:
        return
    forget_table(work, after)
    for repository in (work.write_ids, work.transaction_writes, work.compactions, work.locks):
        repository.rename_table(before, after)


def forget_dropped(work: UnitOfWork, table: Table) -> None:
    """Deletes the rows of a dropped table. Locks stay: a holder may be about to create a table of that name."""
    if is_true(table.parameters, "transactional"):
        forget_table(work, TableName.of(table))


def forget_table(work: UnitOfWork, name: TableName) -> None:
    """Deletes write ids, writes and compactions of a table."""
    for repository in (work.write_ids, work.transaction_writes, work.compactions):
        repository.forget_table(name)


def forget_dropped_database(work: UnitOfWork, database: DatabaseName) -> None:
    """Deletes write ids, writes and compactions of a database's tables."""
    for repository in (work.write_ids, work.transaction_writes, work.compactions):
        repository.forget_database(database)
