"""The unit of work: one transaction per request. A service opens it, repositories join it, it commits once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from threading import Lock
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DBAPIError

from metastore.context import AuditNote, RequestKey, authorization_basis, caller, request_key
from metastore.domain.events import Event
from metastore.errors import ConnectionLostError, UnknownOutcomeError
from metastore.settings import Settings
from metastore.storage.importing.bulk_changes import BulkChanges
from metastore.storage.importing.bulk_load import BulkLoad
from metastore.storage.importing.bulk_objects import BulkObjects
from metastore.storage.importing.following import Following
from metastore.storage.importing.import_access import ImportAccess
from metastore.storage.importing.import_rights import ImportRights
from metastore.storage.importing.imports import Imports
from metastore.storage.pages.activity import Activity
from metastore.storage.pages.attention import Attention
from metastore.storage.pages.care import Care
from metastore.storage.pages.partition_calendar import PartitionCalendar
from metastore.storage.pages.search import Search
from metastore.storage.pages.sizes import Sizes
from metastore.storage.pages.table import TablePages
from metastore.storage.postgres.driver import run
from metastore.storage.postgres.exceptions import DATABASE_ERRORS, is_read_only, raise_translated, translate
from metastore.storage.postgres.history import CommitHistory
from metastore.storage.postgres.pool import ConnectionPool
from metastore.storage.postgres.sessions import begin
from metastore.storage.queries.caches import Caches
from metastore.storage.queries.repository import Session
from metastore.storage.repositories.access import VERSION, Access
from metastore.storage.repositories.acid_names import AcidNames
from metastore.storage.repositories.audit import WRITE, Audit, written
from metastore.storage.repositories.blocking import Blocking
from metastore.storage.repositories.catalogs import Catalogs
from metastore.storage.repositories.column_statistics import ColumnStatistics
from metastore.storage.repositories.commits import Commits
from metastore.storage.repositories.compactions import Compactions
from metastore.storage.repositories.constraints import Constraints
from metastore.storage.repositories.databases import Databases
from metastore.storage.repositories.dead_writes import DeadWrites
from metastore.storage.repositories.dependencies import Dependencies
from metastore.storage.repositories.drops import Drops
from metastore.storage.repositories.failed_logins import FailedLogins
from metastore.storage.repositories.file_operations import FileOperations
from metastore.storage.repositories.functions import Functions
from metastore.storage.repositories.held import Held
from metastore.storage.repositories.indexes import Indexes
from metastore.storage.repositories.issued_tokens import IssuedTokens
from metastore.storage.repositories.lineage import LOST_COMMITS, Lineages
from metastore.storage.repositories.locations import Locations
from metastore.storage.repositories.locks import Locks
from metastore.storage.repositories.lost_writes import LostWrites
from metastore.storage.repositories.materialized_views import MaterializedViews
from metastore.storage.repositories.notifications import APPEND, Notifications, WriteNotifications, appended
from metastore.storage.repositories.partition_events import PartitionEvents
from metastore.storage.repositories.partition_names import RAISE, PartitionNames
from metastore.storage.repositories.partition_values import PartitionValues
from metastore.storage.repositories.partitions import Partitions
from metastore.storage.repositories.partitions_write import PartitionsWrite
from metastore.storage.repositories.privileges import Privileges
from metastore.storage.repositories.request_keys import REMEMBER, RequestKeys, remembered
from metastore.storage.repositories.retired_locations import RetiredLocations
from metastore.storage.repositories.rewrites import Rewrites
from metastore.storage.repositories.roles import Roles
from metastore.storage.repositories.runtime_statistics import RuntimeStatistics
from metastore.storage.repositories.scan_records import ScanRecords
from metastore.storage.repositories.servers import Servers
from metastore.storage.repositories.shared_descriptors import SharedDescriptors
from metastore.storage.repositories.sinks import Sinks
from metastore.storage.repositories.tables import Tables
from metastore.storage.repositories.tokens import Tokens
from metastore.storage.repositories.transaction_writes import TransactionWrites
from metastore.storage.repositories.transactions import Transactions
from metastore.storage.repositories.types import Types
from metastore.storage.repositories.view_bases import ViewBases
from metastore.storage.repositories.write_ids import WriteIds
from metastore.storage.repositories.writes import Writes

_PATIENCE: Final = 40.0  # seconds in which the outcome of a lost commit must become known
_SHORT_PATIENCE: Final = 5.0  # the same for a transaction that can be undone later
Undo: TypeAlias = Callable[["UnitOfWork"], object]


class UnknownCommit(NamedTuple):
    """A transaction whose commit may or may not have happened: its number, the function that undoes it, its events."""

    number: str
    undo: Undo
    events: Sequence[Event] = ()


class UnitOfWork(Session):
    """The repositories of one connection, in a transaction (`Store.transaction`) or in autocommit mode.

    A repository is created at its first use: a call uses few of them.
    """

    access = cached_property(Access)
    held = cached_property(Held)
    acid_names = cached_property(AcidNames)
    activity = cached_property(Activity)
    attention = cached_property(Attention)
    audit = cached_property(Audit)
    blocking = cached_property(Blocking)
    bulk_changes = cached_property(BulkChanges)
    bulk_load = cached_property(BulkLoad)
    bulk_objects = cached_property(BulkObjects)
    care = cached_property(Care)
    catalogs = cached_property(Catalogs)
    column_statistics = cached_property(ColumnStatistics)
    commits = cached_property(Commits)
    compactions = cached_property(Compactions)
    constraints = cached_property(Constraints)
    databases = cached_property(Databases)
    dead_writes = cached_property(DeadWrites)
    dependencies = cached_property(Dependencies)
    view_bases = cached_property(ViewBases)
    drops = cached_property(Drops)
    failed_logins = cached_property(FailedLogins)
    file_operations = cached_property(FileOperations)
    following = cached_property(Following)
    functions = cached_property(Functions)
    import_access = cached_property(ImportAccess)
    import_rights = cached_property(ImportRights)
    imports = cached_property(Imports)
    indexes = cached_property(Indexes)
    issued_tokens = cached_property(IssuedTokens)
    lineage = cached_property(Lineages)
    locations = cached_property(Locations)
    locks = cached_property(Locks)
    lost_writes = cached_property(LostWrites)
    materialized_views = cached_property(MaterializedViews)
    notifications = cached_property(Notifications)
    partition_calendar = cached_property(PartitionCalendar)
    partition_events = cached_property(PartitionEvents)
    partition_names = cached_property(PartitionNames)
    partition_values = cached_property(PartitionValues)
    partitions = cached_property(Partitions)
    partitions_write = cached_property(PartitionsWrite)
    privileges = cached_property(Privileges)
    request_keys = cached_property(RequestKeys)
    retired_locations = cached_property(RetiredLocations)
    rewrites = cached_property(Rewrites)
    roles = cached_property(Roles)
    runtime_statistics = cached_property(RuntimeStatistics)
    scan_records = cached_property(ScanRecords)
    search = cached_property(Search)
    servers = cached_property(Servers)
    shared_descriptors = cached_property(SharedDescriptors)
    sinks = cached_property(Sinks)
    sizes = cached_property(Sizes)
    table_pages = cached_property(TablePages)
    tables = cached_property(Tables)
    tokens = cached_property(Tokens)
    transaction_writes = cached_property(TransactionWrites)
    transactions = cached_property(Transactions)
    types = cached_property(Types)
    write_ids = cached_property(WriteIds)
    write_notifications = cached_property(WriteNotifications)
    writes = cached_property(Writes)

    def __init__(self, connection: Connection, caches: Caches, *, uncommitted: bool = False) -> None:
        super().__init__(connection, caches, uncommitted=uncommitted)
        self._in_transaction = False
        self.number = ""  # PostgreSQL's id of the transaction
        self.unknown: UnknownCommit | None = None  # set if the commit's outcome is unknown
        self._undo: Undo | None = None
        self.recorded: list[Event] = []  # events for the notification log
        self._privileges_change = False
        self.gives_number = False  # see `give_number`
        self.note: AuditNote | None = None  # line of the audit trail to write with the commit
        self.request: RequestKey | None = None  # to record with a change of the catalog

    def change_privileges(self) -> None:
        """Raises the version of privileges with the commit: all servers then discard cached privileges."""
        self._privileges_change = True

    def try_lock_job(self, job: str) -> bool:
        """Locks a background job on all servers until the transaction ends; False if another server runs it."""
        statement = select(func.pg_try_advisory_xact_lock(func.hashtextextended(job, 0)))
        claimed: bool = self.connection.execute(statement).scalar_one()
        return claimed

    def begin(self) -> None:
        """Opens the transaction, and reads its number, by which the outcome of a lost commit can be looked up."""
        self._in_transaction = True  # before the statement: a standby opens the block and then fails to assign a number
        (self.number,) = begin(self.connection, "pg_current_xact_id()::text")

    def undo_if_unknown(self, undo: Undo) -> None:
        """Registers the function that undoes this transaction if it was committed after its caller got an error."""
        self._undo = undo

    def mark_partitions_changed(self, table_ids: Iterable[int]) -> None:
        """Gives the partition lists of these tables a new state with the commit, as `PartitionsWrite` does itself."""
        self.changed_lists.add(table_ids)

    def give_number(self) -> None:
        """Records that the client receives a number that must not recur: a loss of this transaction is detected."""
        self.gives_number = True

    def record(self, *events: Event) -> None:
        """Adds events of this transaction to the notification log, right before the commit."""
        self.recorded += events

    def commit(self) -> None:
        """Commits the transaction, unless it has ended. If the connection breaks meanwhile, looks up the outcome.

        Raises:
            ConnectionLostError: the connection broke and nothing was committed.
            UnknownOutcomeError: the connection broke and the outcome is unknown after the waiting time. A transaction
                with `undo_if_unknown` waits only some seconds, and is undone later if it was committed.
        """
        if not self._in_transaction:
            return
        # One message for the last statements and COMMIT: rows that all writers lock stay locked without a round trip
        # in between. The event sequence, which every change locks, comes after the others.
        changes = (
            (RAISE, self.changed_lists),
            (VERSION, self._privileges_change),
            (REMEMBER, self.request is not None and self.recorded),
            (APPEND, self.recorded),
            (WRITE, self.note is not None),
        )
        last = [*(statement for statement, is_needed in changes if is_needed), "COMMIT"]
        values = appended(self.recorded) | {"listed": self.changed_lists.as_json()}
        if self.note is not None:
            values |= written(self.note)
        if self.request is not None:
            values |= remembered(self.request)
        try:
            run(self.connection, "; ".join(last), **values)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            self._in_transaction = False
            if not self._was_committed():
                raise ConnectionLostError(f"The connection was lost before the commit: {translate(error)}") from error
        self._in_transaction = False
        if self.note is not None:
            self.note.is_written = True

    def _was_committed(self) -> bool:
        """Reconnects and polls the outcome of the transaction. Raises UnavailableError if it stays unknown."""
        committed = self.commits.is_committed(self.number, self.recorded, _SHORT_PATIENCE if self._undo else _PATIENCE)
        if committed is None:
            if self._undo:
                self.unknown = UnknownCommit(self.number, self._undo, self.recorded)
            rest = "; if it was committed, it will be undone" if self._undo else ""
            raise UnknownOutcomeError(f"The connection was lost during the commit; the outcome is unknown{rest}")
        return committed

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undoes only the statements of the block if it fails: the transaction goes on. Raises the error of the
        domain."""
        self.connection.exec_driver_sql("SAVEPOINT attempt")
        try:
            yield
        except BaseException as error:
            if not self.connection.invalidated:
                self.connection.exec_driver_sql("ROLLBACK TO SAVEPOINT attempt")
            if isinstance(error, DATABASE_ERRORS):
                raise_translated(error)
            raise
        finally:
            if not self.connection.invalidated:
                self.connection.exec_driver_sql("RELEASE SAVEPOINT attempt")

    def rollback(self) -> None:
        """Rolls back uncommitted changes."""
        if self._in_transaction and not self.connection.invalidated:
            self.connection.exec_driver_sql("ROLLBACK")


class Store:
    """The database as services see it: a pool of connections, and units of work on them."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        on_events: Callable[[list[str]], object] | None = None,
        history: CommitHistory | None = None,
    ) -> None:
        """
        Args:
            settings: `pool_size`, and `pool_timeout` in seconds.
            on_events: called with the types of the events of each committed transaction.
            history: of all workers of the server. None: of this one.
        """
        self._on_events = on_events
        self._engine = engine
        self._pool = ConnectionPool(engine, settings.pool_size, settings.pool_timeout)
        self._history = history or CommitHistory()
        self._caches, self._seen = Caches(), self.disruptions()
        self._unknown: deque[UnknownCommit] = deque()
        self._settling = Lock()

    @contextmanager
    def read(self) -> Iterator[UnitOfWork]:
        """Yields a unit of work in autocommit mode: each statement sees everything that is committed when it starts.

        That also holds behind a pooler that shares sessions, where the block is one transaction (READ COMMITTED).
        """
        with self._translating(self._pool.autocommit()) as connection:
            yield UnitOfWork(connection, self._caches)

    @contextmanager
    def transaction(self, *, audited: bool = True) -> Iterator[UnitOfWork]:
        """Yields a unit of work in a transaction that is committed at the end of the block, or rolled back on an error.

        `audited`: before the commit, writes the line of the current call to the audit trail.
        """
        with self._translating(self._pool.connection(writes=True)) as connection:
            work = UnitOfWork(connection, self._caches, uncommitted=True)
            try:
                self._begin(work)
                if audited and (current := caller.get()) and (note := current.call.note) and not note.is_written:
                    work.note = note
                work.request = request_key.get()
                basis = authorization_basis.get() if audited else None
                claims = basis.claims if basis else []
                work.locations.serialise(claims)
                yield work
                work.commit()
                claims.clear()
                if work.recorded or work.gives_number:
                    self._history.committed(int(work.number))
                    self._pool.wrote()  # other transactions may have changed nothing
                if self._on_events and work.recorded:
                    self._on_events([event.type for event in work.recorded])
            except BaseException:  # also Ctrl-C: the connection goes back to the pool without a transaction
                work.rollback()
                if work.unknown:
                    self._unknown.append(work.unknown)
                raise

    def _begin(self, work: UnitOfWork) -> None:
        """Begins the transaction. If the database has lost commits, records that first, in a transaction of its own."""
        latest = self._history.latest()
        work.begin()
        if int(work.number) > latest:
            return
        work.lineage.mark(LOST_COMMITS)
        work.commit()
        self._history.lost()
        work.begin()

    def disruptions(self) -> tuple[int, int]:
        """Returns a value that changes when the database may have become another one, such as a promoted standby."""
        return self._pool.losses, self._history.losses

    @contextmanager
    def asynchronous_commit(self) -> Iterator[UnitOfWork]:
        """Yields a unit of work in autocommit mode, for statements that set synchronous_commit off themselves.

        If PostgreSQL crashes within the next second, these commits may be lost, unless a later commit was synchronous.
        """
        with self._translating(self._pool.autocommit(writes=True)) as connection:
            yield UnitOfWork(connection, self._caches)

    @contextmanager
    def _translating(self, taken: AbstractContextManager[Connection]) -> Iterator[Connection]:
        """Yields a connection of the pool. Errors of the database are raised as the project's own."""
        try:
            with taken as connection:
                if self._seen != self.disruptions():
                    self._caches, self._seen = Caches(), self.disruptions()
                yield connection
        except DATABASE_ERRORS as error:
            if is_read_only(error) and self._pool.accepts_writes():
                raise ConnectionLostError("The database was read-only and accepts changes again") from error
            raise_translated(error)

    def resolve_unknown_commits(self) -> None:
        """Undoes transactions that were committed although their callers got an error. Raises UnavailableError."""
        with self._settling:
            while self._unknown:
                number, undo, events = self._unknown[0]
                with self.transaction() as work:
                    outcome = work.commits.outcome(number, events)
                    if outcome == "in progress":
                        return
                    if outcome == "committed":
                        undo(work)
                self._unknown.popleft()

    def is_reachable(self) -> bool:
        """Returns whether the database answers. Sends at most one query a second."""
        return self._pool.is_reachable()

    def reject_connections(self, reason: str) -> None:
        """Makes every later request for a connection raise UnavailableError with this text."""
        self._pool.reject_connections(reason)

    @property
    def connections_used(self) -> int:
        """Number of database connections in use."""
        return self._pool.used

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()
