"""Rows stored by the names of transactional tables follow renames and drops (Hive's AcidEventListener)."""

from __future__ import annotations

from metastore.domain.names import TableName
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
    work.acid_names.forget(after)
    work.acid_names.rename_table(before, after)
