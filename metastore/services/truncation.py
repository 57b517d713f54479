"""Truncating tables and partitions: files are removed, directories and metadata stay, statistics become zero."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from metastore.domain.column_statistics import ACCURATE, COUNTS
from metastore.domain.names import TableName
from metastore.domain.query_ids import MARK
from metastore.errors import InvalidOperationError
from metastore.services.files.change_loop import Attempt
from metastore.services.files.changed_objects import ChangedObjects, Owner
from metastore.services.files.cleaned_directories import OWN_DIRECTORIES
from metastore.services.files.late_files import LateFiles
from metastore.services.files.planning import plan_truncation
from metastore.services.rules.lookup import get_table
from metastore.services.rules.table_data import check_unprotected, directories, owns_data
from metastore.services.rules.tables import is_managed
from metastore.services.service import ChangingService
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import TRUNCATED, NewDrop
from metastore.storage.repositories.partitions import named
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Table


class TruncationService(ChangingService):
    """Rules of TRUNCATE (Hive's HMSHandler; the checks of its TruncateTableAnalyzer)."""

    def truncate(
        self, name: TableName, partitions: Sequence[str] | None, *, delete_data: bool = True, purge: bool = False
    ) -> None:
        """Truncates the named partitions or, with None, the whole table. `purge`: the truncation cannot be undone.

        As in Hive, partitions that do not exist are ignored, and a table without partition columns has none. Files that
        writers add after the directories were listed stay.

        Raises:
            NotFoundError: the table does not exist.
            InvalidOperationError: it is a view, protected, or an external table without external.table.purge, or other
                objects use its directories.
            UnavailableError: files cannot be removed now. The removal is retried in the background.
        """
        entries: dict[str, list[str]] = {}  # by directory
        former: set[str] = set()  # directories of the rows before a rewrite

        def look(required: Sequence[str]) -> None:
            # Files that have come late until now are truncated with the rows, and come back with them.
            late = former.intersection(required)
            LateFiles(self._journal).collect(sorted(late))
            entries.update({text: [] if text in late else self._entries(text) for text in required})

        def plan(work: UnitOfWork, attempt: Attempt) -> list[int]:
            stored = get_table(work, name, lock="change")
            _check_truncatable(stored.encoded.decode())
            chosen = None
            if partitions is not None or stored.ref.keys:
                condition = None if partitions is None else named(partitions)
                chosen = work.partitions.select_stored(stored.ref, condition, lock=True)
                if not chosen:
                    return []  # nothing to undo
            targets = ChangedObjects(work, stored, chosen)
            locations = [text for one in targets.structs for text in directories(one.sd)] if delete_data else []
            self._check_alone(work, stored, locations, targets.partition_ids)
            former.update(_former(work, stored, targets.structs, locations))
            attempt.require_listed([*former, *locations], entries)
            count = len(chosen or ())
            drop_id = self._retention.begin(work, NewDrop(TRUNCATED, name, count), stored, purge=purge)
            if drop_id is not None:
                work.drops.save_copies(drop_id, stored.ref.id, targets.partition_ids)
            for struct in targets.structs:
                _set_empty(struct)
            targets.write(truncated=True)
            removed = {text: entries[text] for text in locations}
            return plan_truncation(work, removed, stored.ref.id, drop_id)

        operations = self._loop.change(plan, look=look)
        self._journal.carry_out_or_fail(operations)  # after the commit (see `files.change_loop`)

    def _entries(self, directory: str) -> list[str]:
        """Lists a directory, without files of open writes: they are published, or fail, after the truncation."""
        files, folders = self._warehouse.children(directory)
        entries = [*(file.location for file in files), *folders]
        return [paths.canonical(text) for text in entries if paths.name(text) not in OWN_DIRECTORIES]

    def _check_alone(
        self, work: UnitOfWork, stored: StoredTable, locations: Sequence[str], partition_ids: Sequence[int] | None
    ) -> None:
        """Raises InvalidOperationError if files of other objects would be removed, too."""
        for location in locations:
            self._warehouse.roots.require_below(location)
        resolved = self._warehouse.roots.canonical(locations)  # symbolic links may lead to directories of other objects
        used: Collection[str] = work.locations.owners([*locations, *resolved.values()], stored.ref.id, partition_ids)
        if not used and not is_managed(stored.encoded.decode()):
            used = work.locations.in_owners(locations, stored.ref.id)
        if used:
            raise InvalidOperationError(f"Cannot truncate {stored.ref.name}: other objects use {next(iter(used))}")


def _check_truncatable(table: Table) -> None:
    """Raises InvalidOperationError for a view, a protected table, or an external one without external.table.purge."""
    check_unprotected(table)
    if not owns_data(table):
        raise InvalidOperationError(
            f"Cannot truncate non-managed table {TableName.of(table)}: it is a view, or an external table without "
            "external.table.purge=true"
        )


def _former(work: UnitOfWork, stored: StoredTable, owners: Sequence[Owner], locations: Sequence[str]) -> Iterator[str]:
    """Yields the directories where the rows of these locations were before a rewrite."""
    if any(MARK in (owner.parameters or {}) for owner in owners):
        present = set(map(paths.canonical, locations))
        yield from {one.source for one in work.rewrites.at(stored.ref.id, sorted(present))} - present


def _set_empty(owner: Owner) -> None:
    """Sets Hive's statistics to zero and forgets the directories of skewed values."""
    owner.parameters |= {name: "0" for name in COUNTS if name in owner.parameters}
    owner.parameters[ACCURATE] = '{"BASIC_STATS":"true"}'
    owner.sd.skewedInfo.skewedColValueLocationMaps = {}
