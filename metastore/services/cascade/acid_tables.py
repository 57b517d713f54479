"""What is kept by the names of transactional tables follows them when they change (Hive's AcidEventListener)."""

from __future__ import annotations

from metastore.domain.names import DatabaseName, TableName
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Table


def follow_rename(work: UnitOfWork, old: Table, new: Table) -> None:
    """Write ids, writes, compactions and locks belong to the table, not to its old name."""
    before, after = key_of(old), key_of(new)
    if before == after or not _is_transactional(old):
        return
    for kept in (work.write_ids, work.transaction_writes, work.compactions):
        kept.forget_table(after)
        kept.rename_table(before, after)
    work.locks.rename_table(before, after)


def forget_dropped(work: UnitOfWork, table: Table) -> None:
    """Lets a later table of that name begin anew. Locks stay: who holds one may be about to make that table."""
    if _is_transactional(table):
        for kept in (work.write_ids, work.transaction_writes, work.compactions):
            kept.forget_table(key_of(table))


def forget_dropped_database(work: UnitOfWork, database: DatabaseName) -> None:
    """Forgets what is kept by the names of a database's tables."""
    for kept in (work.write_ids, work.transaction_writes, work.compactions):
        kept.forget_database(database)


def _is_transactional(table: Table) -> bool:
    return bool(table.parameters.get("transactional", "").lower() == "true")


def key_of(table: Table) -> TableName:
    """Returns the name under which that is kept."""
    return TableName(table.catName, table.dbName, table.tableName)
