"""The connections of psycopg2, and direct access to them, without SQLAlchemy, for short frequent statements and for
large results.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from threading import Lock
from time import monotonic
from typing import Any, Final
from weakref import WeakSet

import psycopg2  # type: ignore[import-untyped] # it has no types
from psycopg2 import extensions
from sqlalchemy import Connection, Engine, TextClause, event
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import Select

from metastore.context import caller
from metastore.storage.postgres.sql import Sql

_NUMBERED: Final = PGDialect_psycopg2(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
_NAMED: Final = PGDialect_psycopg2()  # type: ignore[no-untyped-call]


LARGE: Final = 2**21
"""Message size in bytes, sent or received, above which a connection is not kept (`Link.has_large_buffers`)."""


_lock: Final = Lock()
_links: WeakSet[Link] = WeakSet()  # all connections of this process


class Link(extensions.connection):  # type: ignore[misc]
    """A psycopg2 connection that records when its current statement started.

    Attributes:
        begin: statements that begin a transaction.
        shares_session: whether a pooler may run each transaction in another session of PostgreSQL.
        pooled_process: the process id of PostgreSQL's session behind a pooler, 0 if it is not known; None without one.
        statement_started: start of the running statement (`time.monotonic`); 0 if none runs or it failed.
        has_large_buffers: whether the connection holds much memory. libpq never shrinks its buffers, so a connection
            keeps the size of the largest message that it sent or received.
        prepared: names of the statements that were prepared on the connection (`driver.Prepared`).
    """

    statement_started = 0.0
    begin = "BEGIN"
    shares_session = False
    pooled_process: int | None = None
    has_large_buffers = False

    def __init__(self, *arguments: Any, **parameters: Any) -> None:
        super().__init__(*arguments, **parameters)
        self.prepared: set[str] = set()
        with _lock:
            _links.add(self)

    def session_process(self) -> int:
        """Returns the process id of the session of PostgreSQL that executes the statements, or 0."""
        return int(self.get_backend_pid()) if self.pooled_process is None else self.pooled_process

    def is_waiting(self) -> bool:
        """Returns whether a statement was sent and its reply has not arrived."""
        active: bool = not self.closed and self.info.transaction_status == extensions.TRANSACTION_STATUS_ACTIVE
        return active

    def interrupt(self, started: float) -> bool:
        """Shuts the socket down, so that the waiting thread gets a connection error.

        Returns False, and does nothing, unless the statement that started at `started` is still running.
        """
        with suppress(OSError, psycopg2.Error), socket.socket(fileno=os.dup(self.fileno())) as duplicate:
            # Another thread may have closed the connection, and a new socket may have got the same descriptor number.
            # Checking after dup() is safe: the duplicate keeps referring to the socket that was open at that moment.
            if self.statement_started == started and self.is_waiting():
                duplicate.shutdown(socket.SHUT_RDWR)
                return True
        return False


def links() -> list[Link]:
    """Returns the open connections of this process."""
    with _lock:
        return list(_links)


def record_statements(engine: Engine) -> None:
    """Records the statements that SQLAlchemy executes, as this module does for its own."""
    event.listen(engine, "before_cursor_execute", _begin)
    event.listen(engine, "after_cursor_execute", _end)
    event.listen(engine, "handle_error", _end_failed)


def _begin(_connection: Connection | None, cursor: Any, statement: str, *_: Any) -> None:
    """Records the text and the start of a statement, for the call's log line and for `Watch`."""
    current = caller.get()
    if current is not None:
        current.call.statement, current.call.backend = statement, cursor.connection.session_process()
    cursor.connection.statement_started = monotonic()


def _end(_connection: Connection | None, cursor: Any, *_: Any) -> None:
    """Records that a statement has ended, with its seconds. Called after errors, too."""
    link = cursor.connection
    current = caller.get()
    if current is not None:
        call, seconds = current.call, monotonic() - link.statement_started
        call.statements.append(seconds)
        if seconds > call.slowest_seconds:
            call.slowest, call.slowest_seconds = call.statement, seconds
        call.backend = 0
    link.statement_started = 0.0
    if len(cursor.query or b"") > LARGE:
        link.has_large_buffers = True


def _end_failed(context: ExceptionContext) -> None:
    if context.execution_context is not None:
        _end(context.connection, context.execution_context.cursor)


@contextmanager
def driver_cursor(connection: Connection, statement: str) -> Iterator[Any]:
    """Yields a psycopg2 cursor, and raises its errors as SQLAlchemy does: as DBAPIError.

    If the connection is lost, the engine's other connections are closed, too: they are probably lost as well.
    """
    cursor = connection.connection.cursor()
    _begin(connection, cursor, statement)
    try:
        yield cursor
        _end(connection, cursor)
    except psycopg2.Error as error:
        _end(connection, cursor)
        lost = bool(cursor.connection.closed)
        if lost:
            connection.invalidate(error)
            connection.engine.dispose()
        raise DBAPIError.instance(statement, None, error, psycopg2.Error, connection_invalidated=lost) from error
    finally:
        cursor.close()


def rows_of(connection: Connection, query: Sql) -> list[tuple[Any, ...]]:
    """Returns the rows of a query, with values as psycopg2 converts them. Raises DBAPIError."""
    with driver_cursor(connection, query.text) as cursor:
        cursor.execute(query.text, query.values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def run(connection: Connection, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """Runs statements, sent in one message, with `%(name)s` for the values. Returns the rows of the last one.

    Outside of a transaction block, PostgreSQL runs them as one implicit transaction. Raises DBAPIError.
    """
    with driver_cursor(connection, statement) as cursor:
        cursor.execute(statement, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
    return rows


class Prepared:
    """A query that each connection parses once (PREPARE), for frequent statements with few parameters.

    PostgreSQL caches its plan, and plans again when the statistics of the tables change (autovacuum).
    """

    def __init__(self, name: str, query: Select[Any] | TextClause, before: str = "") -> None:
        """`before`: statements that are sent in front of it each time."""
        compiled = query.compile(dialect=_NUMBERED)
        self.unprepared = f"{before + '; ' if before else ''}{query.compile(dialect=_NAMED)}"
        self.name = name
        self.parts = {name: f"PREPARE {name} AS {compiled}"}
        self.order = list(compiled.positiontup or ())
        values = f" ({', '.join(['%s'] * len(self.order))})" if self.order else ""
        self.execute = f"{before + '; ' if before else ''}EXECUTE {name}{values}"

    @property
    def recorded(self) -> str:
        """The text for logs and for the page of slow calls: the EXECUTE statement and the query that it runs."""
        return f"{self.execute}: {self.unprepared}"

    def after(self, first: Prepared) -> Prepared:
        """Returns a statement that runs `first` and then this one, in one message. They share parameters by name."""
        both = copy(self)
        both.name = f"{first.name} {self.name}"
        both.parts = first.parts | self.parts
        both.order = [*first.order, *self.order]
        both.execute = f"{first.execute}; {self.execute}"
        both.unprepared = f"{first.unprepared}; {self.unprepared}"
        return both

    def rows(self, connection: Connection, **parameters: Any) -> list[tuple[Any, ...]]:
        """Returns the rows of the (last) query, with values as psycopg2 converts them. Raises DBAPIError.

        Nothing is prepared if a pooler shares sessions: they would have the statements of other connections.
        """
        link: Any = connection.connection.dbapi_connection
        if link.shares_session:
            return run(connection, self.unprepared, **parameters)
        with driver_cursor(connection, self.recorded) as cursor:
            if self.name not in link.prepared:
                for name in self.parts.keys() - link.prepared:
                    cursor.execute(self.parts[name])
                link.prepared.update(self.parts, [self.name])
            cursor.execute(self.execute, [parameters[name] for name in self.order])
            rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        return rows
