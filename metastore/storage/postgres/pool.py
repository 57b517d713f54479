"""Who gets a connection: in the order of asking, some for reads alone, and nobody waits for what cannot come."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import psycopg2  # type: ignore[import-untyped] # it has no types
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, OperationalError

from metastore.context import caller
from metastore.errors import UnavailableError
from metastore.storage.postgres.driver import begin_statement, end_statement
from metastore.storage.postgres.engine import LIFE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import ExceptionContext

_FOR_READS: Final = 4  # one connection of so many is never a writer's
_USED_UP: Final = re.compile(r"too many|connection slots")
_PAUSE: Final = 0.05  # seconds before one asks again for a connection that PostgreSQL had not
_FRESH: Final = 1.0  # seconds that it is known whether PostgreSQL answers
_SECONDS_BETWEEN_ATTEMPTS: Final = 0.2
_LONG: Final = 1.0  # seconds after which an attempt is not waited for: what it has sent may be lost


class _Lent(NamedTuple):
    """A connection of the engine's that is here until then (monotonic), or until the engine has lost one."""

    connection: Connection
    until: float
    losses: int


class ConnectionPool:
    """Gives out at most `size` connections of an engine, and to writers a quarter less, one at the least.

    What is given back stays here, and is not the engine's again for `LIFE`: to ask it for one takes longer than many a
    query.
    """

    def __init__(self, engine: Engine, size: int, timeout: float) -> None:
        """`timeout`: seconds to wait for a connection."""
        self._engine = engine
        self._timeout = timeout
        self._size = size
        self._any = _tokens(size)
        self._for_writers = _tokens(max(1, size - size // _FOR_READS))
        self._asking = threading.Lock()
        self._asked = float("-inf")
        self._answered = True
        # What calls used last has most prepared, and is taken first; timers take, and give back, at the other end.
        self._idle: list[_Lent] = []
        self._losses = 0
        self._attempts = _Attempts()
        self._attempts.watch(engine)
        event.listen(engine, "invalidate", self._forget)
        event.listen(engine, "engine_disposed", self._forget)
        event.listen(engine, "before_cursor_execute", _begin)
        event.listen(engine, "after_cursor_execute", _end)
        event.listen(engine, "handle_error", _failed)

    @contextmanager
    def connection(self, *, writes: bool = False) -> Iterator[Connection]:
        """Yields a connection, for as long as the block takes. Raises UnavailableError, DBAPIError."""
        asked = time.perf_counter()
        if writes:
            self._take(self._for_writers)
        try:
            self._take(self._any)
            taken = time.perf_counter()
            try:
                lent = self._connected()
                try:
                    yield lent.connection
                finally:
                    self._give_back(lent)
            finally:
                self._any.put(None)
                current = caller.get()
                if current is not None:
                    current.waiting_seconds += taken - asked
                    current.database_seconds += time.perf_counter() - taken
        finally:
            if writes:
                self._for_writers.put(None)

    def is_reachable(self) -> bool:
        """Tells whether PostgreSQL answers: asked once a second at most, by one thread at a time."""
        if time.monotonic() - self._asked > _FRESH and self._asking.acquire(blocking=False):
            try:
                self._answered = self._ask()
                self._asked = time.monotonic()
            finally:
                self._asking.release()
        return self._answered

    def _ask(self) -> bool:
        try:
            self._any.get_nowait()
        except Empty:
            return self._answered  # all are at work
        try:
            lent = self._lent()
            try:
                lent.connection.exec_driver_sql("SELECT 1")
            finally:
                self._give_back(lent)
            return True
        except (DBAPIError, UnavailableError):
            return False
        finally:
            self._any.put(None)

    def reject_connections(self, reason: str) -> None:
        """From now on, whoever asks gets UnavailableError with this text."""
        self._attempts.refused = reason
        self._engine.dispose()

    def _take(self, tokens: SimpleQueue[None]) -> None:
        try:
            tokens.get(timeout=self._timeout)
        except Empty:
            raise UnavailableError(
                f"All connections to PostgreSQL have been busy for {self._timeout:g} s; raise METASTORE_POOL_SIZE"
            ) from None

    @property
    def used(self) -> int:
        """Connections that are given out."""
        return self._size - self._any.qsize()

    def _lent(self) -> _Lent:
        while self._idle:
            with suppress(IndexError):  # another thread has taken the last one
                lent = self._idle.pop(-1 if caller.get() else 0)
                if self._is_good(lent):
                    return lent
                lent.connection.close()
        losses = self._losses  # one that is lost while this is connected may be of the same kind
        return _Lent(self._engine.connect(), time.monotonic() + LIFE, losses)

    def _is_good(self, lent: _Lent) -> bool:
        return lent.losses == self._losses and time.monotonic() < lent.until

    def _give_back(self, lent: _Lent) -> None:
        connection = lent.connection
        if connection.in_transaction():
            connection.rollback()
        if not self._is_good(lent):
            connection.close()
            return
        link: Any = connection.connection.dbapi_connection
        if link.has_large_buffers:
            connection.detach()  # from the engine, which would keep it, too
            connection.close()
        else:
            self._idle.insert(len(self._idle) if caller.get() else 0, lent)

    def _forget(self, *_: Any) -> None:
        """Has the engine's connections made anew: one was lost, so that others may be, or all are to be closed."""
        self._losses += 1
        while self._idle:
            with suppress(IndexError):  # another thread has taken the last one
                self._idle.pop().connection.close()

    def _connected(self) -> _Lent:
        """Waits, where PostgreSQL has no further connection for us, for one that others of this process give back."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return self._lent()
            except OperationalError as error:
                if not _USED_UP.search(str(error.orig)):
                    raise
                if time.monotonic() > deadline:
                    raise UnavailableError(
                        "PostgreSQL has no connection left: raise its max_connections, or lower METASTORE_POOL_SIZE"
                    ) from error
                time.sleep(_PAUSE)


def _begin(_connection: Any, cursor: Any, statement: str, *_: Any) -> None:
    begin_statement(cursor, statement)


def _end(_connection: Any, cursor: Any, *_: Any) -> None:
    end_statement(cursor)


def _failed(context: ExceptionContext) -> None:
    if context.execution_context is not None:
        end_statement(context.execution_context.cursor)


class _Attempts:
    """While PostgreSQL cannot be reached, one thread a second tries; the others are told at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trying = 0
        self._began = 0.0
        self._failure = ""
        self._failed = 0.0
        self.refused = ""

    def watch(self, engine: Engine) -> None:
        event.listen(engine, "do_connect", self._connect)

    def _connect(self, dialect: Any, _record: Any, arguments: Any, parameters: Any) -> Any:
        if self.refused:
            raise UnavailableError(self.refused)
        with self._lock:
            now = time.monotonic()
            recent = now - self._failed < _SECONDS_BETWEEN_ATTEMPTS
            if self._failure and (recent or (self._trying and now - self._began < _LONG)):
                raise psycopg2.OperationalError(self._failure)
            self._trying += 1
            self._began = now
        failure = ""
        try:
            return dialect.connect(*arguments, **parameters)
        except psycopg2.OperationalError as error:
            failure = str(error)
            raise
        finally:
            with self._lock:
                self._trying -= 1
                self._failure, self._failed = failure, time.monotonic()


def _tokens(count: int) -> SimpleQueue[None]:
    """Returns a semaphore that keeps the order, and is fast."""
    tokens: SimpleQueue[None] = SimpleQueue()
    for _ in range(count):
        tokens.put(None)
    return tokens
