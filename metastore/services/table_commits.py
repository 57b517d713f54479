"""Commits of several Iceberg tables and views in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from time import monotonic, sleep
from typing import Final, NamedTuple

from metastore.domain import events
from metastore.domain.column_statistics import NOT_UPDATED
from metastore.domain.names import DatabaseName, TableName, table_name
from metastore.encoding.binary import copied
from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidObjectError, TableLockedError
from metastore.services.cascade.retention import Retention
from metastore.services.cascade.table_alteration import Alteration, TableAlteration, check_decided
from metastore.services.files.change_loop import Attempt
from metastore.services.files.journal import Journal
from metastore.services.files.own_locations import require_default_free
from metastore.services.files.planning import check_unblocked
from metastore.services.rules.events import table_text
from metastore.services.rules.iceberg_commits import LOCATION, modified, names_metadata
from metastore.services.rules.lookup import get_home, lock_tables, missing_table, taken
from metastore.services.rules.tables import admit_table, check_unmarked, is_view, prepare, takes_counts
from metastore.services.rules.transactional import check_new
from metastore.services.service import ChangingService, Clock
from metastore.storage.references import StoredTable
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Table

_MOST: Final = 1000  # tables of a commit
_PATIENCE: Final = 3.0  # seconds to wait for exclusive locks
_PAUSE: Final = 0.1  # seconds between looks at them
_CONTEXT: Final = {NOT_UPDATED: "true"}  # the client counts, as Iceberg's HiveTableOperations says


class TableCommit(NamedTuple):
    """The new state of a table. `expected`: the location of its present metadata; None if it must not exist yet."""

    table: Table
    expected: str | None


class TableCommitService(ChangingService):
    """Rules of commits. A commit changes the row of a table as an alteration by a client of Hive does."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        retention: Retention,
        lock_timeout: timedelta,
        *,
        follow_columns: bool = True,
        patience: float = _PATIENCE,
    ) -> None:
        """`lock_timeout`: how long a lock lives without a heartbeat. `follow_columns`: as in `TableAlterService`.
        `patience`: seconds to wait for the exclusive locks of clients.
        """
        super().__init__(journal, clock, retention)
        self._alteration = TableAlteration(self._warehouse, clock, self._dropping, propagate=follow_columns)
        self._lock_timeout, self._patience = lock_timeout, patience

    def commit(self, commits: Sequence[TableCommit]) -> None:
        """Creates and alters the tables in one transaction: all or none.

        Raises:
            ConflictError: a table has other metadata than expected.
            TableLockedError: a client holds an exclusive lock on a table for longer than some seconds.
            AlreadyExistsError: a new table exists.
            NotFoundError: a table does not exist. InvalidObjectError: the database of a new one does not.
            InvalidInputError: a struct is malformed or names no metadata, or a table is named twice.
        """
        named = [(_name(commit), commit) for commit in commits]
        _check(named)
        deadline = monotonic() + self._patience
        while True:
            try:
                operations = self._loop.change(lambda work, attempt: self._commit(work, attempt, named))
            except TableLockedError:
                if monotonic() > deadline:
                    raise
                sleep(_PAUSE)
            else:
                self._journal.carry_out(operations)
                return

    def _commit(self, work: UnitOfWork, attempt: Attempt, named: Sequence[tuple[TableName, TableCommit]]) -> list[int]:
        stored = lock_tables(work, [name for name, _ in named], "change")
        self._check_unlocked(work, list(stored))
        operations: list[int] = []
        placed = []
        for name, commit in named:
            present, table = stored.get(name), copied(commit.table)
            if commit.expected is None:
                with taken(AlreadyExistsError(f"Table {name} already exists")):
                    self._create(work, name, table)
                placed += [] if is_view(table) else [table.sd.location]
            elif present is None:
                raise missing_table(name)
            else:
                operations += self._alter(work, attempt, present, table, commit.expected)
        if placed:
            check_unblocked(work, placed)
        return operations

    def _check_unlocked(self, work: UnitOfWork, tables: Sequence[TableName]) -> None:
        if not tables:
            return
        work.locks.hold_off_requests(tables)  # a client reads a table after it has locked it
        holder = work.locks.exclusive_holder(tables, self._lock_timeout)
        if holder is not None:
            raise TableLockedError(
                f"{holder.table} is locked exclusively by {holder.user}@{holder.host} (lock {holder.lock}): try again"
            )

    def _alter(self, work: UnitOfWork, attempt: Attempt, stored: StoredTable, table: Table, expected: str) -> list[int]:
        old = stored.encoded.decode()
        check_decided(stored)
        if (actual := names_metadata(old)) != expected:
            raise modified(LOCATION, actual, expected)
        new = self._alteration.successor(stored.ref.name.parent, old, table, _CONTEXT)
        return self._alteration.alter(work, attempt, Alteration(stored, old, new, _CONTEXT, {}, cascade=False))

    def _create(self, work: UnitOfWork, name: TableName, table: Table) -> None:
        table = prepare(table, name.parent, self._clock())
        check_unmarked(table)
        check_new(table)
        if work.tables.reference(name) is not None:
            raise AlreadyExistsError(str(name))
        home = get_home(work, DatabaseName(name.catalog, name.database))
        if not is_view(table):
            if not table.sd.location:
                raise InvalidObjectError(f"{name} was sent without a location")
            admit_table(self._warehouse.roots, table)
            takes_counts(table)
        table_id = work.tables.insert(home.id, table)
        require_default_free(work, table_id, table, is_placed=True)
        work.record(events.create_table(table_text(table)))


def _name(commit: TableCommit) -> TableName:
    return table_name(commit.table.dbName, commit.table.tableName, commit.table.catName)


def _check(named: Sequence[tuple[TableName, TableCommit]]) -> None:
    if len(named) > _MOST:
        raise InvalidInputError(f"A commit has at most {_MOST} tables, not {len(named)}")
    if len({name for name, _ in named}) < len(named):
        raise InvalidInputError("A commit names a table twice")
    for name, commit in named:
        location = names_metadata(commit.table)
        if location is None or location == commit.expected:
            raise InvalidInputError(f"The commit of {name} names no new metadata of Iceberg ({LOCATION})")
