"""The contents of the tables of one batch: their partitions and column statistics are stored together.

The number of statements depends on the number of partitions, not on the number of tables that a batch touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from metastore.domain.names import TableName
from metastore.importing.sources.objects import SourcePartition, SourceStatistics, Stage
from metastore.importing.target import Target
from metastore.storage.importing.bulk_changes import ComparedPartition, Outdated
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork

_MANY: Final = 2_000
"""Partitions, or statistics of columns, that are stored together."""


class Contents:
    """Collects partitions and statistics. `flush` stores what is collected.

    A collected partition is added, or replaces the stored partition of its name, which keeps its dependent objects.
    """

    def __init__(self, work: UnitOfWork, target: Target, store: Callable[[Stage, Sequence[Any]], None]) -> None:
        """`store`: adds objects of one stage."""
        self._work = work
        self._target = target
        self._store = store
        self._partitions: list[SourcePartition] = []
        self._gone: list[tuple[int, str]] = []
        self._statistics: list[SourceStatistics] = []
        self._columns = 0  # of the statistics
        self._outdated: list[Outdated] = []

    def add_partitions(self, partitions: Sequence[SourcePartition]) -> None:
        """Adds partitions of one table, as the source has them."""
        self._partitions += partitions
        self._flush_many()

    def delete_partitions(self, table_id: int, names: Iterable[str]) -> None:
        """Deletes partitions that the source does not have."""
        self._gone += [(table_id, name) for name in names]
        self._flush_many()

    def replace_statistics(self, outdated: Outdated, new: Iterable[SourceStatistics]) -> None:
        """Deletes statistics, and adds those of the source."""
        self._outdated.append(outdated)
        self._statistics += new
        self._columns = sum(len(one.columns) for one in self._statistics)
        self._flush_many()

    def flush(self) -> None:
        """Stores everything that was collected."""
        self._work.bulk_load.delete_named_partitions(self._work.partitions.ids_by_name(self._gone))
        self._store_partitions()
        self._work.bulk_changes.delete_statistics(self._outdated, self._work.partitions.ids_by_name)
        if self._statistics:
            self._store(Stage.TABLE_STATISTICS, self._statistics)
        self._partitions, self._gone, self._statistics, self._outdated = [], [], [], []
        self._columns = 0

    def _flush_many(self) -> None:
        if max(len(self._partitions), len(self._gone), self._columns) >= _MANY:
            self.flush()

    def _store_partitions(self) -> None:
        tables = self._target.tables
        ids = self._work.partitions.ids_by_name([(tables[one.table].id, one.name) for one in self._partitions])
        new, known = [], []
        for one in self._partitions:
            number = ids.get((tables[one.table].id, one.name))
            if number is None:
                new.append(one)
            else:
                known.append((number, self._target.rewriting.rewrite(one)))
        compared = [
            ComparedPartition(number, tables[one.table].kinds, one.partition, one.shape.descriptor)
            for number, one in known
        ]
        changed = self._work.bulk_changes.changed_partitions(compared)
        self._update([(number, one) for number, one in known if number in changed])
        if new:
            self._store(Stage.PARTITIONS, new)

    def _update(self, changed: Iterable[tuple[int, SourcePartition]]) -> None:
        by_table: dict[TableName, list[NamedPartition]] = {}
        locations = []
        for number, one in changed:
            named = NamedPartition(one.name, one.partition, number, one.shape.descriptor)
            by_table.setdefault(one.table, []).append(named)
            if one.partition.sd.location:
                locations.append((one.table.parent, one.partition.sd.location))
        self._target.require_free(self._work, [text for _, text in locations])
        for name, some in by_table.items():
            if reference := self._work.tables.reference(name):
                self._work.partitions_write.update(reference, sorted(some, key=lambda one: one.name))
        self._target.borrow(self._work, locations)
