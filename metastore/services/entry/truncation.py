"""Truncating a table or some of its partitions: the files go, directories and metadata stay, statistics say zero."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from metastore.domain import table_events
from metastore.domain.column_statistics import ACCURATE, COUNTS
from metastore.domain.events import Event
from metastore.domain.names import TableName
from metastore.errors import InvalidOperationError
from metastore.services.cascade.dropping import ChangingService
from metastore.services.files.decisions import UnseenError, decide_truncation
from metastore.services.files.emptied import OWN_DIRECTORIES
from metastore.services.rules.events import alter_partitions, befores, table_text
from metastore.services.rules.lookup import get_table
from metastore.services.rules.table_data import check_unprotected, directories, owns_data
from metastore.storage.references import StoredPartition, StoredTable
from metastore.storage.repositories.drops import TRUNCATED
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import as_changed
from metastore.storage.schema import TABLE_ITSELF
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table


class TruncationService(ChangingService):
    """Rules of TRUNCATE (Hive's HMSHandler and, for what is refused, its TruncateTableAnalyzer)."""

    def truncate(
        self, name: TableName, partitions: Sequence[str] | None, *, delete_data: bool = True, purge: bool = False
    ) -> None:
        """Truncates the named partitions; with None, the whole table. Names come folded, but those of partitions.

        It can be taken back, but where `purge` says that it cannot.

        What is in the directories at that moment goes after the commit; what comes later stays.

        Raises:
            NotFoundError: the table or one of the partitions is missing; nothing was deleted.
            InvalidOperationError: a view, or an external table whose files are not the metastore's to delete.
            UnavailableError: files cannot be deleted now; it is tried again in the background.
        """
        inside: dict[str, list[str]] = {}

        def look(places: Sequence[str]) -> None:
            inside.update({place: self._inside(place) for place in places})

        action = partial(self._truncate, name, partitions, inside if delete_data else None, purge)
        self._finish(self._journal.attempt(action, look))

    def _truncate(
        self,
        name: TableName,
        partitions: Sequence[str] | None,
        inside: Mapping[str, Sequence[str]] | None,
        purge: bool,
        _: object,
    ) -> list[int]:
        """`inside`: what is in directories; None: all of it stays."""
        with self._store.transaction() as work:
            stored = get_table(work, name, lock="change")
            table = stored.encoded.decode()
            check_unprotected(table)
            if not owns_data(table):
                raise InvalidOperationError(
                    f"Cannot truncate non-managed table {name}: it is a view, or an external table without "
                    "external.table.purge=true"
                )
            whole = partitions is None and not table.partitionKeys
            chosen = [] if whole else _chosen(work, stored, partitions)
            owners = [table.sd] if whole else [partition.partition.sd for partition in chosen]
            doomed = [place for sd in owners for place in directories(sd)] if inside is not None else []
            self._check_alone(work, stored, doomed, None if whole else [partition.id for partition in chosen])
            if inside is not None and (unknown := [text for text in doomed if text not in inside]):
                raise UnseenError(unknown)
            drop_id = self._keeping.begin(work, TRUNCATED, name, stored, purge=purge, partitions=len(chosen))
            if drop_id is not None:
                work.drops.keep(drop_id, stored.ref.id, None if whole else [partition.id for partition in chosen])
            work.record(*(self._table(work, stored, table) if whole else self._partitions(work, stored, table, chosen)))
            return decide_truncation(work, {text: inside[text] for text in doomed if inside}, stored.ref.id, drop_id)

    def _inside(self, place: str) -> list[str]:
        """Lists what lies in there, but for what writers have: they publish, or fail, as if they came later."""
        files, folders = self._warehouse.children(place)
        there = [*(file.location for file in files), *folders]
        return [paths.canonical(text) for text in there if paths.name(text) not in OWN_DIRECTORIES]

    def _check_alone(
        self, work: UnitOfWork, stored: StoredTable, places: Sequence[str], partition_ids: Sequence[int] | None
    ) -> None:
        """Raises InvalidOperationError where others' files would go, too."""
        for place in places:
            self._warehouse.roots.require_below(place)
        leading = self._warehouse.roots.canonical(places)
        used = work.locations.others([*places, *leading.values()], stored.ref.id, partition_ids)
        if used:
            raise InvalidOperationError(f"Cannot truncate {stored.ref.name}: other objects lie in {next(iter(used))}")

    def _table(self, work: UnitOfWork, stored: StoredTable, table: Table) -> Iterable[Event]:
        before = table_text(table)
        _empty(table)
        work.tables.update(stored.ref.id, stored.ref.database_id, table)
        work.column_statistics.delete(stored.ref.id, [TABLE_ITSELF], None, None)
        return [table_events.alter_table(before, table_text(table), truncated=True)]

    def _partitions(
        self, work: UnitOfWork, stored: StoredTable, table: Table, chosen: Sequence[StoredPartition]
    ) -> Iterable[Event]:
        before = befores(chosen)
        for partition in chosen:
            _empty(partition.partition)
        changed = as_changed(chosen)
        work.partitions_write.update(stored.ref, changed)
        work.column_statistics.delete(stored.ref.id, [partition.id for partition in chosen], None, None)
        return alter_partitions(table_text(table), before, changed, truncated=True)


def _chosen(work: UnitOfWork, stored: StoredTable, names: Sequence[str] | None) -> list[StoredPartition]:
    """Returns the named partitions (None: all). As in Hive, those that are not there are passed over."""
    return work.partitions.select_stored(stored.ref, None if names is None else named(names), lock=True)


def _empty(owner: Table | Partition) -> None:
    """Makes Hive's statistics of a table or partition say zero, and leaves no skewed value a directory."""
    owner.parameters |= {name: "0" for name in COUNTS if name in owner.parameters}
    owner.parameters[ACCURATE] = '{"BASIC_STATS":"true"}'
    owner.sd.skewedInfo.skewedColValueLocationMaps = {}
