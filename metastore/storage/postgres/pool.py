"""The connection pool: first come, first served; one authenticated user cannot take all connections; some are reserved
for reads; waiting is bounded."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from queue import Empty
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import psycopg2  # type: ignore[import-untyped] # it has no types
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, OperationalError

from metastore.context import caller
from metastore.errors import PoolBusyError, UnavailableError
from metastore.storage.postgres.connect import PasswordError, connect, replace_connect, with_password
from metastore.storage.postgres.driver import record_statements, run
from metastore.storage.postgres.engine import LIFE
from metastore.storage.postgres.exhaustion import EXHAUSTED_STATES, exhausted
from metastore.storage.postgres.rejection import OUT_OF_CONNECTIONS, rejection_states
from metastore.storage.postgres.sessions import reading
from metastore.storage.postgres.waiting import PATIENCE, Outage, Places, Share

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOR_READS: Final = 4  # one connection in four is never given to a writer
_PAUSE: Final = 0.05  # seconds between attempts while PostgreSQL is out of connections
_FRESH: Final = 1.0  # seconds for which the result of `is_reachable` is reused
_SECONDS_BETWEEN_ATTEMPTS: Final = 0.2
_LONG: Final = 1.0  # seconds after which an attempt counts as unanswered; another thread may then try


class _Pooled(NamedTuple):
    """A connection taken from the engine. It is replaced after `expires_at` (monotonic), or when any other is lost."""

    connection: Connection
    expires_at: float
    losses: int


class _ExhaustedError(psycopg2.OperationalError):  # type: ignore[misc] # it has no types
    """PostgreSQL rejects a connection because it lacks a resource. Its arguments: PostgreSQL's text, the SQLSTATE."""

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def pgcode(self) -> str:
        """The SQLSTATE, which psycopg2 does not know for failed connections."""
        return str(self.args[1])


class ConnectionPool:
    """Hands out at most `size` connections of an engine, and at most three quarters of them (at least one) to writers.

    One authenticated user gets three quarters of each: statements can run for minutes, and others must not wait for
    them.

    Idle connections are kept here and are not returned to the engine's own pool until they are `LIFE` old: checking one
    out of that pool takes longer than many queries.
    """

    def __init__(self, engine: Engine, size: int, timeout: float) -> None:
        """`timeout`: seconds to wait for a connection."""
        self._engine = engine
        self._unreachable, self._read_only = (Outage(min(PATIENCE, timeout)) for _ in range(2))
        self._timeout = timeout
        self._size = size
        self._places = Places(size)
        self._writer_places = Places(max(1, size - size // _FOR_READS))
        self._probing = threading.Lock()
        self._probed_at = float("-inf")
        self._was_reachable = True
        # Calls use the end of the list: the connection that was used last has the most statements prepared. Timers use
        # the other end, so that they do not take those connections away from calls.
        self._idle: list[_Pooled] = []
        self.losses = 0  # how often connections were lost or closed because others were lost
        self._attempts = _Attempts()
        self._attempts.watch(engine)
        event.listen(engine, "invalidate", self._discard_idle)
        event.listen(engine, "engine_disposed", self._discard_idle)
        record_statements(engine)

    @contextmanager
    def connection(self, *, writes: bool = False) -> Iterator[Connection]:
        """Yields a connection, and takes it back at the end of the block.

        Adds the seconds of waiting and of using it to the caller's record. Raises UnavailableError, DBAPIError.
        """
        started = time.perf_counter()
        # The writers' place first: a writer must not hold one of the general places while it waits for its own.
        writer_share = self._take(self._writer_places) if writes else None
        try:
            share = self._take(self._places)
            taken = time.perf_counter()
            try:
                pooled = self._connect()
                try:
                    yield pooled.connection
                finally:
                    self._give_back(pooled)
            finally:
                self._places.give_back(share)
                current = caller.get()
                if current is not None:
                    current.call.waiting_seconds += taken - started
                    current.call.database_seconds += time.perf_counter() - taken
        finally:
            if writes:
                self._writer_places.give_back(writer_share)

    @contextmanager
    def autocommit(self, *, writes: bool = False) -> Iterator[Connection]:
        """Yields a connection, as `connection` does, with the settings of the session applied (`sessions.reading`)."""
        with self.connection(writes=writes) as connection, reading(connection):
            yield connection

    def is_reachable(self) -> bool:
        """Returns whether PostgreSQL answers. At most one thread sends a query, at most once a second."""
        if time.monotonic() - self._probed_at > _FRESH and self._probing.acquire(blocking=False):
            try:
                self._was_reachable = self._probe()
                self._probed_at = time.monotonic()
            finally:
                self._probing.release()
        return self._was_reachable

    def renew(self) -> None:
        """Makes later requests get new connections."""
        self._engine.dispose()

    def wrote(self) -> None:
        """Records that the database accepts writes, which ends an outage of writes."""
        self._read_only.ended()

    def accepts_writes(self) -> bool:
        """Returns whether new connections lead to a server that accepts writes. A call waits for one in a short outage.

        Use it after the database rejected a write. Closes idle connections.
        """
        while True:
            self.renew()
            with suppress(DBAPIError, UnavailableError), self.autocommit() as connection:
                ((read_only,),) = run(connection, "SELECT current_setting('transaction_read_only')::bool")
                if not read_only:
                    self.wrote()
                    return True
            if not caller.get() or not self._read_only.waited():
                return False

    def _probe(self) -> bool:
        try:
            share = self._places.take(0)
        except Empty:
            return self._was_reachable  # all connections are in use: nothing new is known
        try:
            pooled = self._idle_or_new()
            try:
                pooled.connection.exec_driver_sql("SELECT 1")
            finally:
                self._give_back(pooled)
            return True
        except (DBAPIError, UnavailableError):
            return False
        finally:
            self._places.give_back(share)

    def reject_connections(self, reason: str) -> None:
        """Makes every later request for a connection raise UnavailableError with this text."""
        self._attempts.rejected = reason
        self._engine.dispose()

    def _take(self, places: Places) -> Share | None:
        try:
            return places.take(self._timeout)
        except Empty:
            raise PoolBusyError(
                f"All connections to PostgreSQL that this user may use have been busy for {self._timeout:g} s; "
                "raise METASTORE_POOL_SIZE"
            ) from None

    @property
    def used(self) -> int:
        """Number of connections in use."""
        return self._size - self._places.free

    def _idle_or_new(self) -> _Pooled:
        while self._idle:
            with suppress(IndexError):  # another thread has taken the last one
                pooled = self._idle.pop(-1 if caller.get() else 0)
                if self._is_good(pooled):
                    return pooled
                pooled.connection.close()
        losses = self.losses  # read before connecting: if another is lost meanwhile, this one may be lost, too
        return _Pooled(self._engine.connect(), time.monotonic() + LIFE, losses)

    def _is_good(self, pooled: _Pooled) -> bool:
        return pooled.losses == self.losses and time.monotonic() < pooled.expires_at

    def _give_back(self, pooled: _Pooled) -> None:
        connection = pooled.connection
        if connection.in_transaction():
            connection.rollback()
        if not self._is_good(pooled):
            connection.close()
            return
        link: Any = connection.connection.dbapi_connection
        if link.has_large_buffers:
            _end(connection)
        else:
            self._idle.insert(len(self._idle) if caller.get() else 0, pooled)

    def _discard_idle(self, *_: Any) -> None:
        """Closes all idle connections: one was lost, so the others probably are, too, or the engine was disposed."""
        self.losses += 1
        while self._idle:
            with suppress(IndexError):  # another thread has taken the last one
                _end(self._idle.pop().connection)

    def _connect(self) -> _Pooled:
        """Returns a connection. A call waits for the end of a short outage.

        While PostgreSQL has no free slot, waits for one that another thread gives back.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                pooled = self._idle_or_new()
                self._unreachable.ended()
                return pooled
            except OperationalError as error:
                if getattr(error.orig, "pgcode", None) != OUT_OF_CONNECTIONS:
                    if caller.get() and self._unreachable.waited():
                        continue
                    raise
                if time.monotonic() > deadline:
                    raise exhausted([OUT_OF_CONNECTIONS], str(error.orig)) or error from error
                time.sleep(_PAUSE)


def _end(connection: Connection) -> None:
    """Closes a connection to PostgreSQL."""
    connection.detach()  # without this, close() returns it to the engine's pool, which keeps it open
    connection.close()


class _Attempts:
    """Limits connection attempts while PostgreSQL cannot be reached: one thread tries, the others fail at once.

    Without this, every call would wait for its own connection timeout, and all workers would soon be waiting.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trying = 0
        self._began = 0.0
        self._failure: psycopg2.OperationalError | None = None
        self._failed_at = 0.0
        self.rejected = ""

    def watch(self, engine: Engine) -> None:
        """Handles the connection attempts of an engine."""
        replace_connect(engine, self._connect)

    def _connect(self, _dialect: Any, _record: Any, _arguments: Any, parameters: dict[str, Any]) -> Any:
        if self.rejected:
            raise UnavailableError(self.rejected)
        with self._lock:
            now = time.monotonic()
            recent = now - self._failed_at < _SECONDS_BETWEEN_ATTEMPTS
            if self._failure and (recent or (self._trying and now - self._began < _LONG)):
                raise type(self._failure)(*self._failure.args)
            self._trying += 1
            self._began = now
        failure = None
        try:
            return connect(parameters)
        except psycopg2.OperationalError as error:
            answered = time.monotonic() - now < _LONG
            failure = _classified(error, parameters) if answered else error
            raise failure from None
        finally:
            with self._lock:
                self._trying -= 1
                self._failure, self._failed_at = failure, time.monotonic()


def _classified(error: psycopg2.OperationalError, parameters: dict[str, Any]) -> psycopg2.OperationalError:
    """Returns the error of a failed attempt, as `_ExhaustedError` if PostgreSQL lacked a resource."""
    if isinstance(error, PasswordError):
        return error
    states = rejection_states((), with_password(parameters))
    if states is None:  # a second attempt succeeded, so a slot is free again
        states = frozenset({OUT_OF_CONNECTIONS})
    state = next((each for each in sorted(states, reverse=True) if each in EXHAUSTED_STATES), None)
    return _ExhaustedError(str(error), state) if state else error
