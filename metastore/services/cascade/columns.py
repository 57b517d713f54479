"""Deletes statistics of changed columns, and constraints on dropped ones (Hive's HiveAlterHandler)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from metastore.domain.column_statistics import ACCURATE, without_accurate
from metastore.domain.file_formats import NO_FILES, finds_by_position
from metastore.services.cascade.freshness import keep_fresh
from metastore.services.rules.tables import VIEW
from metastore.storage.references import TABLE_ITSELF, StoredPartition, TableRef
from metastore.storage.repositories.partitions import with_parameter
from metastore.storage.repositories.partitions_write import NamedPartition, as_changed
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table


def forget_columns_of_table(work: UnitOfWork, table: TableRef, old: Table, new: Table) -> None:
    """Deletes statistics and constraints of columns that change, before the table is replaced.

    Their statistics in partitions are deleted with and without CASCADE: without it, a later column of the same name
    would get them. Those of other columns stay, and stay marked as accurate.
    """
    changed = _changed(old.sd, new.sd, by_position=_by_position(old, new))
    if not changed:
        return
    new.parameters = without_accurate(new.parameters, changed)
    work.column_statistics.delete(table.id, [TABLE_ITSELF], changed, None)
    if new.partitionKeys:
        _forget_in_partitions(work, table, changed)
    dropped = {name for name, _ in _columns(old.sd)} - {name for name, _ in _columns(new.sd)}
    if dropped:
        work.constraints.delete_on(table.id, sorted(dropped))


def _forget_in_partitions(work: UnitOfWork, table: TableRef, columns: Sequence[str]) -> None:
    """Deletes the statistics of these columns in all partitions, and no longer marks them as accurate."""
    marked = work.partitions.select_stored(table, with_parameter(ACCURATE, map(json.dumps, columns)), lock=True)
    work.column_statistics.delete(table.id, None, columns, None)
    changed = []
    for one in marked:
        before = one.partition.parameters
        one.partition.parameters = without_accurate(before, columns)
        if one.partition.parameters != before:
            changed.append(one)
    keep_fresh(work, table, [one.id for one in changed])
    work.partitions_write.update(table, as_changed(changed))


def forget_columns_of_partitions(
    work: UnitOfWork, table: TableRef, owner: Table, pairs: Iterable[tuple[StoredPartition, NamedPartition]]
) -> None:
    """Deletes statistics of columns that change, before the partitions are replaced. `owner`: their table, `pairs`: old
    and new.
    """
    forgotten: list[tuple[int, str]] = []
    last: tuple[object, object] = (None, None)  # columns of the previous pair: mostly the same lists
    changed: list[str] = []
    for old, new in pairs:
        before, after = old.partition.sd, new.partition.sd
        if before.cols is not last[0] or after.cols is not last[1]:
            last = before.cols, after.cols
            by_position = _finds_by_position(owner, before) or _finds_by_position(owner, after)
            changed = _changed(before, after, by_position=by_position)
        if changed:
            new.partition.parameters = without_accurate(new.partition.parameters, changed)
            forgotten += [(old.id, name) for name in changed]
    work.column_statistics.delete_pairs(table.id, forgotten)


def _columns(sd: StorageDescriptor) -> list[tuple[str, str]]:
    return [(column.name, column.type) for column in sd.cols or []]


def _by_position(old: Table, new: Table) -> bool:
    return _finds_by_position(old, old.sd) or _finds_by_position(new, new.sd)


def _finds_by_position(table: Table, sd: StorageDescriptor | None) -> bool:
    """Returns whether engines find the columns of a descriptor of the table by their position in the files."""
    provider = NO_FILES if table.tableType == VIEW else (table.parameters or {}).get("spark.sql.sources.provider")
    return finds_by_position(sd.serdeInfo.serializationLib if sd and sd.serdeInfo else None, provider)


def _changed(old: StorageDescriptor, new: StorageDescriptor, *, by_position: bool) -> list[str]:
    """Returns the names of the old columns that were dropped, have another type or other values.

    `by_position`: engines find columns by their position in the files, so that a column that moves has other values.
    """
    before, after = _columns(old), _columns(new)
    kept = set(zip(before, after, strict=False)) if by_position else {(column, column) for column in after}
    return [column[0] for column in before if (column, column) not in kept]
