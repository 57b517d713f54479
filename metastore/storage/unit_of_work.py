"""One transaction a request: opened by a service, joined by repositories, committed here and nowhere else."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from time import monotonic, sleep
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, func, select, text
from sqlalchemy.exc import DBAPIError

from metastore.context import AuditNote, caller
from metastore.domain.events import Event
from metastore.errors import ConnectionLostError, UnavailableError
from metastore.settings import Settings
from metastore.storage.cache import Cache
from metastore.storage.postgres.driver import run
from metastore.storage.postgres.exceptions import translate, translated
from metastore.storage.postgres.pool import ConnectionPool
from metastore.storage.queries.descriptors import Descriptors, TailCache
from metastore.storage.repositories.access import VERSION, Access
from metastore.storage.repositories.audit import WRITE, Audit, written
from metastore.storage.repositories.catalogs import Catalogs
from metastore.storage.repositories.column_statistics import ColumnStatistics
from metastore.storage.repositories.compactions import Compactions
from metastore.storage.repositories.constraints import Constraints
from metastore.storage.repositories.databases import Databases
from metastore.storage.repositories.dead_writes import DeadWrites
from metastore.storage.repositories.dependencies import Dependencies
from metastore.storage.repositories.drops import Drops
from metastore.storage.repositories.file_operations import FileOperations
from metastore.storage.repositories.functions import Functions
from metastore.storage.repositories.indexes import Indexes
from metastore.storage.repositories.issued_tokens import IssuedTokens
from metastore.storage.repositories.locations import Locations
from metastore.storage.repositories.locks import Locks
from metastore.storage.repositories.materialized_views import MaterializedViews
from metastore.storage.repositories.notifications import APPEND, Notifications, WriteNotifications, appended
from metastore.storage.repositories.partition_events import PartitionEvents
from metastore.storage.repositories.partition_names import RAISE, NameCache, PartitionNames
from metastore.storage.repositories.partition_values import PartitionValues
from metastore.storage.repositories.partitions import Partitions
from metastore.storage.repositories.partitions_write import PartitionsWrite
from metastore.storage.repositories.privileges import Privileges
from metastore.storage.repositories.retired_locations import RetiredLocations
from metastore.storage.repositories.roles import Roles
from metastore.storage.repositories.runtime_statistics import RuntimeStatistics
from metastore.storage.repositories.servers import Servers
from metastore.storage.repositories.shared_descriptors import SharedDescriptors
from metastore.storage.repositories.tables import Tables
from metastore.storage.repositories.tokens import Tokens
from metastore.storage.repositories.transaction_writes import TransactionWrites
from metastore.storage.repositories.transactions import Transactions
from metastore.storage.repositories.types import Types
from metastore.storage.repositories.write_ids import WriteIds
from metastore.storage.repositories.writes import Writes

_CACHE_BYTES: Final = 16 * 2**20
_PATIENCE: Final = 40.0  # seconds until what became of a commit must be known
_SHORT_PATIENCE: Final = 5.0  # of one that is undone later, if it is known no earlier
_PAUSE: Final = 0.05
_STATUS: Final = text("SELECT pg_xact_status(cast(cast(:number AS text) AS xid8))")
_R = TypeVar("_R")
Undo: TypeAlias = Callable[["UnitOfWork"], object]


class UnknownCommit(NamedTuple):
    """A transaction of which it is not known whether it was committed: its number, and what undoes it."""

    number: str
    undo: Undo


class _Repository(Generic[_R]):
    """A repository that is made when it is first asked for: a call uses few of them."""

    def __init__(self, make: Callable[[Connection], _R]) -> None:
        self._make = make

    def __set_name__(self, owner: type[UnitOfWork], name: str) -> None:
        self._name = name

    def __get__(self, work: UnitOfWork, owner: type[UnitOfWork]) -> _R:
        made = work.__dict__[self._name] = self._make(work._connection)  # noqa: SLF001 - of the class below
        return made


class UnitOfWork:
    """The repositories of one connection."""

    audit = _Repository(Audit)
    catalogs = _Repository(Catalogs)
    databases = _Repository(Databases)
    dependencies = _Repository(Dependencies)
    notifications = _Repository(Notifications)
    write_notifications = _Repository(WriteNotifications)
    functions = _Repository(Functions)
    constraints = _Repository(Constraints)
    indexes = _Repository(Indexes)
    column_statistics = _Repository(ColumnStatistics)
    types = _Repository(Types)
    roles = _Repository(Roles)
    runtime_statistics = _Repository(RuntimeStatistics)
    privileges = _Repository(Privileges)
    tokens = _Repository(Tokens)
    issued_tokens = _Repository(IssuedTokens)
    partition_events = _Repository(PartitionEvents)
    partition_values = _Repository(PartitionValues)
    materialized_views = _Repository(MaterializedViews)
    transactions = _Repository(Transactions)
    transaction_writes = _Repository(TransactionWrites)
    locks = _Repository(Locks)
    write_ids = _Repository(WriteIds)
    compactions = _Repository(Compactions)
    writes = _Repository(Writes)
    dead_writes = _Repository(DeadWrites)
    locations = _Repository(Locations)
    file_operations = _Repository(FileOperations)
    drops = _Repository(Drops)
    retired_locations = _Repository(RetiredLocations)
    servers = _Repository(Servers)
    shared_descriptors = _Repository(SharedDescriptors)

    def __init__(self, connection: Connection, tails: TailCache, names: NameCache | None = None) -> None:
        self._connection = connection
        self._in_transaction = False
        self._number = ""  # of the transaction, as PostgreSQL counts
        self.unknown: UnknownCommit | None = None  # whether it was committed, and what then
        self._undo: Undo | None = None
        self.recorded: list[Event] = []  # events of this transaction
        self._listed: set[int] = set()  # tables whose partitions are changed
        self._privileges_change = False
        self.note: AuditNote | None = None  # to be written with the commit
        descriptors = self._descriptors = Descriptors(connection, tails)
        self.tables = Tables(connection, descriptors)
        self.partitions = Partitions(connection, descriptors)
        self.partitions_write = PartitionsWrite(connection, descriptors, self._listed)
        self.partition_names = PartitionNames(connection, names)

    @cached_property
    def access(self) -> Access:
        """What rights are decided by."""
        return Access(self._connection, self._descriptors)

    def change_privileges(self) -> None:
        """Tells everybody, with the commit, that what somebody may do has changed."""
        self._privileges_change = True

    def try_lock_job(self, job: str) -> bool:
        """Tells whether nobody else, on any server, is at this job; nobody will be, before this transaction ends."""
        statement = select(func.pg_try_advisory_xact_lock(func.hashtextextended(job, 0)))
        claimed: bool = self._connection.execute(statement).scalar_one()
        return claimed

    def begin(self) -> None:
        """Opens the transaction that all repositories join; by its number it can be asked for later."""
        self._in_transaction = True  # even if the number cannot be had: a standby has none to give
        ((self._number,),) = run(self._connection, "BEGIN; SELECT pg_current_xact_id()::text")

    def undo_if_unknown(self, undo: Undo) -> None:
        """Notes what undoes this transaction, where its caller was told that its commit is not known."""
        self._undo = undo

    def outcome(self, number: str) -> str:
        """Returns what became of a transaction: committed, aborted, or in progress."""
        outcome: str = self._connection.execute(_STATUS, {"number": number}).scalar_one()
        return outcome

    def mark_partitions_changed(self, table_ids: Iterable[int]) -> None:
        """Partitions of these tables have come or gone in another way than by their repository."""
        self._listed.update(table_ids)

    def record(self, *events: Event) -> None:
        """Notes what this transaction does, for the notification log: it is appended right before the commit."""
        self.recorded += events

    def commit(self) -> None:
        """Commits, if that was not done yet. Where the connection breaks, PostgreSQL is asked what became of it.

        Raises:
            ConnectionLostError: the connection broke, and nothing was committed.
            UnavailableError: the same, and PostgreSQL does not say in time; whether it happened is not known.
                Where it can be undone, some seconds are waited for, and it will be undone.
        """
        if not self._in_transaction:
            return
        # In one message, so that what others wait for is locked no longer than PostgreSQL needs: the log last.
        changes = (
            (RAISE, self._listed),
            (VERSION, self._privileges_change),
            (APPEND, self.recorded),
            (WRITE, self.note is not None),
        )
        last = [*(statement for statement, is_needed in changes if is_needed), "COMMIT"]
        given = appended(self.recorded) | {"listed": sorted(self._listed)} | written(self.note)
        try:
            run(self._connection, "; ".join(last), **given)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            self._in_transaction = False
            if not self._was_committed():
                raise ConnectionLostError(f"The connection broke before the commit: {translate(error)}") from error
        self._in_transaction = False
        if self.note is not None:
            self.note.is_written = True

    def _was_committed(self) -> bool:
        """Raises UnavailableError."""
        deadline = monotonic() + (_SHORT_PATIENCE if self._undo else _PATIENCE)
        while True:
            try:
                self._connection.rollback()  # SQLAlchemy connects anew then
                status = self.outcome(self._number)
                if status in ("committed", "aborted"):
                    return bool(status == "committed")
            except DBAPIError as error:
                if not (error.connection_invalidated or isinstance(translate(error), UnavailableError)):
                    raise
            if monotonic() > deadline:
                if self._undo:
                    self.unknown = UnknownCommit(self._number, self._undo)
                raise UnavailableError(
                    "The connection broke during the commit; whether it happened is not known"
                    + (", and it will be undone" if self._undo else "")
                )
            sleep(_PAUSE)

    def rollback(self) -> None:
        """Undoes what was not committed."""
        if self._in_transaction and not self._connection.invalidated:
            self._connection.exec_driver_sql("ROLLBACK")


class Store:
    """The database, as services see it."""

    def __init__(
        self, engine: Engine, settings: Settings, on_events: Callable[[list[str]], object] | None = None
    ) -> None:
        """`settings`: `pool_size` connections, `pool_timeout` in seconds; `on_events` is told the types of events that
        were committed.
        """
        self._on_events = on_events
        self._engine = engine
        self._pool = ConnectionPool(engine, settings.pool_size, settings.pool_timeout)
        self._tails: TailCache = Cache(_CACHE_BYTES)
        self._names: NameCache = Cache(_CACHE_BYTES)
        self._unknown: deque[UnknownCommit] = deque()
        self._settling = Lock()

    @contextmanager
    def read(self) -> Iterator[UnitOfWork]:
        """Statements that stand for themselves: no transaction block, each sees all that is committed."""
        with translated(), self._pool.connection() as connection:
            yield UnitOfWork(connection, self._tails, self._names)

    @contextmanager
    def transaction(self, *, audited: bool = True) -> Iterator[UnitOfWork]:
        """Everything inside is committed at the end, or nothing of it. `audited`: it is what the call is for, and the
        audit trail has it if it is to have the call.
        """
        with translated(), self._pool.connection(writes=True) as connection:
            work = UnitOfWork(connection, self._tails)  # names that nobody else sees yet are not kept
            if audited and (current := caller.get()) and current.note and not current.note.is_written:
                work.note = current.note
            try:
                work.begin()
                yield work
                work.commit()
                if self._on_events and work.recorded:
                    self._on_events([event.type for event in work.recorded])
            except BaseException:
                work.rollback()
                if work.unknown:
                    self._unknown.append(work.unknown)
                raise

    @contextmanager
    def asynchronous_commit(self) -> Iterator[UnitOfWork]:
        """Statements that stand for themselves, and say that their commits do not wait for the disk: if PostgreSQL
        crashes in the next second they may be lost, unless something durable was committed after them.
        """
        with translated(), self._pool.connection(writes=True) as connection:
            yield UnitOfWork(connection, self._tails)

    def resolve_unknown_commits(self) -> None:
        """Undoes what was committed although its caller could not be told. Raises UnavailableError."""
        with self._settling:
            while self._unknown:
                number, undo = self._unknown[0]
                with self.transaction() as work:
                    outcome = work.outcome(number)
                    if outcome == "in progress":
                        return
                    if outcome == "committed":
                        undo(work)
                self._unknown.popleft()

    def is_reachable(self) -> bool:
        """Tells whether the database answers; costs a query a second at most."""
        return self._pool.is_reachable()

    def reject_connections(self, reason: str) -> None:
        """From now on, nobody gets a connection: UnavailableError with this text is raised instead."""
        self._pool.reject_connections(reason)

    @property
    def connections_used(self) -> int:
        """Connections to the database that calls have at this moment."""
        return self._pool.used

    def close(self) -> None:
        self._engine.dispose()
