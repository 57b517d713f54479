"""Cleaning: files of dead writers, retired locations and, on request, unregistered files."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

from metastore.domain.names import TableName
from metastore.errors import InvalidInputError, InvalidOperationError
from metastore.services.authorization.authorization import Authorization
from metastore.services.files.cleaned_directories import cleaned
from metastore.services.files.dead_write_cleaning import DeadWriteCleaning
from metastore.services.files.journal import Journal
from metastore.services.files.retired_cleaning import RetiredCleaning
from metastore.services.files.unregistered_cleaning import UnregisteredCleaning
from metastore.services.service import FileService
from thrift_idl.gen.metastore.ttypes import CleanedLocation, CleanResult

log = logging.getLogger("metastore.cleaning")


class CleaningService(FileService):
    """Rules of cleaning. Several servers may clean at the same time; each location is removed by one of them."""

    def __init__(self, journal: Journal, grace: timedelta, rights: Authorization) -> None:
        """`grace`: how long unused files stay."""
        super().__init__(journal)
        self._rights = rights
        self._grace = grace
        self._dead = DeadWriteCleaning(journal)
        self._retired = RetiredCleaning(journal)
        self._unregistered = UnregisteredCleaning(journal)

    def run(self) -> None:
        """Cleans in the background, on each server. Files of dropped objects are removed by the journal."""
        if self._journal.lineage.problem():
            return
        for entry in self._clean(None, self._grace, dry_run=False, undoable=False):
            if entry.error:
                log.warning("%s (%s) was not removed: %s", entry.location, entry.reason, entry.error)
            else:
                log.info("%s (%s): %s files, %s bytes removed", entry.location, entry.reason, entry.files, entry.bytes)

    def clean(
        self, table: TableName, *, dry_run: bool, grace: timedelta | None = None, unregistered: bool = False
    ) -> CleanResult:
        """Cleans one table, one database, or (no `database`) all catalogs. `dry_run`: only lists.

        With a `grace` time, also removes overwritten files that an undrop could restore.

        Raises NotFoundError, InvalidInputError for a table without its database or a negative grace time,
        InvalidOperationError after a restore of the database that is not reconciled.
        """
        if not dry_run and (problem := self._journal.lineage.problem()):
            raise InvalidOperationError(problem)
        undoable = grace is not None
        grace = self._grace if grace is None else grace
        if grace < timedelta(0):
            raise InvalidInputError("The grace time of clean is negative")
        table_ids = self._scope(table)
        entries = self._finish_removals(table_ids, dry_run=dry_run)
        entries += self._clean(table_ids, grace, dry_run=dry_run, undoable=undoable)
        for table_id in self._ids(table_ids) if unregistered else ():
            entries += self._unregistered.clean(table_id, grace, dry_run=dry_run)
        with self._store.read() as work:
            waiting = work.retired_locations.waiting(table_ids, grace) + work.dead_writes.alive(table_ids, grace)
        return CleanResult(entries, waiting)

    def _clean(
        self, table_ids: Sequence[int] | None, grace: timedelta, *, dry_run: bool, undoable: bool
    ) -> list[CleanedLocation]:
        with self._store.read() as work:
            dead = work.dead_writes.find(table_ids)
        clean = self._dead.preview if dry_run else self._dead.clean
        entries = [entry for query_id in dead for entry in clean(query_id, grace)]
        with self._store.read() as work:
            retired = work.retired_locations.due(table_ids, grace, kept=undoable)
        return [*entries, *self._retired.clean(retired, dry_run=dry_run)]

    def _finish_removals(self, table_ids: Sequence[int] | None, *, dry_run: bool) -> list[CleanedLocation]:
        """Removes (`dry_run`: only lists) files of dropped objects, where a server died before it could."""
        entries = []
        for operation in self._journal.overdue_removals(table_ids):
            files = self._warehouse.files(operation.location)
            failed = {} if dry_run else self._journal.carry_out([operation.id], planned_here=False)
            location = operation.origin or operation.location
            error = next((failure.error for failure in failed.values()), None)
            entries.append(cleaned(location, operation.reason, None, files, error))
        return entries

    def _scope(self, table: TableName) -> list[int] | None:
        if table.name and not table.database:
            raise InvalidInputError(f"Cannot clean table {table.name} without its database: name both")
        return self._rights.alterable_ids(table)

    def _ids(self, table_ids: list[int] | None) -> list[int]:
        if table_ids is not None:
            return table_ids
        with self._store.read() as work:
            return work.tables.ids()
