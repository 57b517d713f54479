"""Deletes statistics of changed columns, and constraints on dropped ones (Hive's HiveAlterHandler)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metastore.domain.column_statistics import without_accurate
from metastore.storage.references import TABLE_ITSELF, StoredPartition, TableRef
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table


def forget_columns_of_table(work: UnitOfWork, table: TableRef, old: Table, new: Table, *, cascade: bool) -> None:
    """Deletes statistics and constraints of columns that change, before the table is replaced.

    Statistics of partitions: with CASCADE, those of the changed columns are deleted. Without it, all are deleted unless
    columns were only added at the end, because a name may then mean different columns in table and partition.
    """
    before, after = _columns(old.sd), _columns(new.sd)
    if after[: len(before)] == before:
        return
    changed = _changed(before, after)
    new.parameters = without_accurate(new.parameters, changed)
    if changed:
        work.column_statistics.delete(table.id, [TABLE_ITSELF], changed, None)
    if new.partitionKeys and (changed or not cascade):
        work.column_statistics.delete(table.id, None, changed if cascade else None, None)
    dropped = {name for name, _ in before} - {name for name, _ in after}
    if dropped:
        work.constraints.delete_on(table.id, sorted(dropped))


def forget_columns_of_partitions(
    work: UnitOfWork, table: TableRef, pairs: Iterable[tuple[StoredPartition, NamedPartition]]
) -> None:
    """Deletes statistics of columns that change, before the partitions are replaced. `pairs`: old and new."""
    forgotten: list[tuple[int, str]] = []
    last: tuple[object, object] = (None, None)  # columns of the previous pair: mostly the same lists
    changed: list[str] = []
    for old, new in pairs:
        before, after = old.partition.sd, new.partition.sd
        if before.cols is not last[0] or after.cols is not last[1]:
            last = before.cols, after.cols
            changed = _changed(_columns(before), _columns(after))
        if changed:
            new.partition.parameters = without_accurate(new.partition.parameters, changed)
            forgotten += [(old.id, name) for name in changed]
    work.column_statistics.delete_pairs(table.id, forgotten)


def _columns(sd: StorageDescriptor) -> list[tuple[str, str]]:
    return [(column.name, column.type) for column in sd.cols or []]


def _changed(before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> list[str]:
    """Returns the names of columns that were dropped or have another type."""
    kept = set(after)
    return [column[0] for column in before if column not in kept]
