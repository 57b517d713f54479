"""Cleaning: what dead writers left, what was replaced and, where asked for, what nobody registered."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

from metastore.domain.names import TableName
from metastore.errors import InvalidInputError
from metastore.services.files.change_loop import FileService
from metastore.services.files.cleaned_directories import cleaned
from metastore.services.files.dead_writes import DeadWriteCleaning
from metastore.services.files.journal import Journal
from metastore.services.files.retired import RetiredCleaning
from metastore.services.files.unregistered import UnregisteredCleaning
from metastore.services.rules.lookup import ids_within
from metastore.storage.unit_of_work import Store
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.metastore.ttypes import CleanedLocation, CleanResult

log = logging.getLogger("metastore.cleaning")


class CleaningService(FileService):
    """Rules of cleaning. Several may clean at once, on any server: each thing is removed by one of them."""

    def __init__(self, store: Store, journal: Journal, warehouse: Warehouse, grace: timedelta) -> None:
        """`grace`: how long files stay to which nothing refers any more."""
        super().__init__(store, journal, warehouse)
        self._grace = grace
        self._dead = DeadWriteCleaning(store, journal, warehouse)
        self._retired = RetiredCleaning(store, journal, warehouse)
        self._unregistered = UnregisteredCleaning(store, journal, warehouse)

    def run(self) -> None:
        """Does the background's share, on each server. What was dropped is the journal's."""
        for one in self._clean(None, self._grace, dry_run=False, kept=False):
            if one.error:
                log.warning("%s (%s) is left: %s", one.location, one.reason, one.error)
            else:
                log.info("%s (%s): %s files, %s bytes removed", one.location, one.reason, one.files, one.bytes)

    def clean(
        self, table: TableName, *, dry_run: bool, grace: timedelta | None = None, unregistered: bool = False
    ) -> CleanResult:
        """Cleans one table, one database, or (no `database`) all catalogs. `dry_run` says what would be removed.

        With a grace time of its own, what was overwritten goes even if it could be taken back.

        Raises NotFoundError, InvalidInputError for a table without its database or a negative grace time.
        """
        kept = grace is not None
        grace = self._grace if grace is None else grace
        if grace < timedelta(0):
            raise InvalidInputError("The grace time of clean is negative")
        table_ids = self._scope(table)
        found = self._dropped(table_ids, dry_run=dry_run) + self._clean(table_ids, grace, dry_run=dry_run, kept=kept)
        for table_id in self._ids(table_ids) if unregistered else ():
            found += self._unregistered.clean(table_id, grace, dry_run=dry_run)
        with self._store.read() as work:
            waiting = work.retired_locations.waiting(table_ids, grace) + work.dead_writes.alive(table_ids, grace)
        return CleanResult(found, waiting)

    def _clean(
        self, table_ids: Sequence[int] | None, grace: timedelta, *, dry_run: bool, kept: bool
    ) -> list[CleanedLocation]:
        with self._store.read() as work:
            dead = work.dead_writes.find(table_ids)
        clean_up = self._dead.shown if dry_run else self._dead.removed
        found = [location for query_id in dead for location in clean_up(query_id, grace)]
        with self._store.read() as work:
            retired = work.retired_locations.due(table_ids, grace, kept=kept)
        return [*found, *self._retired.clean(retired, dry_run=dry_run)]

    def _dropped(self, table_ids: Sequence[int] | None, *, dry_run: bool) -> list[CleanedLocation]:
        """Returns what was dropped by who died before its files were gone."""
        found = []
        for operation in self._journal.overdue_removals(table_ids):
            files = self._warehouse.files(operation.location)
            failed = {} if dry_run else self._journal.carry_out([operation.id], mine=False)
            place = operation.origin or operation.location
            error = next((failure.error for failure in failed.values()), None)
            found.append(cleaned(place, operation.reason, None, files, error))
        return found

    def _scope(self, table: TableName) -> list[int] | None:
        if not table.database:
            if table.name:
                raise InvalidInputError("The table to clean came without its database")
            return None
        with self._store.read() as work:
            return ids_within(work, table)

    def _ids(self, table_ids: list[int] | None) -> list[int]:
        if table_ids is not None:
            return table_ids
        with self._store.read() as work:
            return work.tables.ids()
