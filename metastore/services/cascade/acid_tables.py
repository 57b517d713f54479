"""What is kept by the names of transactional tables follows them when they change (Hive's AcidEventListener)."""

from __future__ import annotations

from metastore.domain.names import DatabaseName, TableName
from metastore.services.rules.tables import is_true
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Table


def follow_rename(work: UnitOfWork, old: Table, new: Table) -> None:
    """Write ids, writes, compactions and locks belong to the table, not to its old name."""
    before, after = TableName.of(old), TableName.of(new)
    if before == after or not is_true(old.parameters, "transactional"):
        return
    forget_table(work, after)
    for kept in (work.write_ids, work.transaction_writes, work.compactions, work.locks):
        kept.rename_table(before, after)


def forget_dropped(work: UnitOfWork, table: Table) -> None:
    """Lets a later table of that name begin anew. Locks stay: who holds one may be about to make that table."""
    if is_true(table.parameters, "transactional"):
        forget_table(work, TableName.of(table))


def forget_table(work: UnitOfWork, name: TableName) -> None:
    """Forgets what is kept by the name of a table."""
    for kept in (work.write_ids, work.transaction_writes, work.compactions):
        kept.forget_table(name)


def forget_dropped_database(work: UnitOfWork, database: DatabaseName) -> None:
    """Forgets what is kept by the names of a database's tables."""
    for kept in (work.write_ids, work.transaction_writes, work.compactions):
        kept.forget_database(database)
