"""Straight to psycopg2, past SQLAlchemy, where statements are short and many, or their rows are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from time import monotonic
from typing import Any, Final

import psycopg2  # type: ignore[import-untyped] # it has no types
from sqlalchemy import Connection, TextClause
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import Select

from metastore.context import caller
from metastore.storage.postgres.sql import Sql

_NUMBERED: Final = PGDialect_psycopg2(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


LARGE: Final = 2**21
"""Bytes of a message, sent or got, after which a connection is not kept (`Link.has_large_buffers`)."""


def begin_statement(cursor: Any, statement: str) -> None:
    """Keeps the text of the statement that is about to be sent for the log of the call that is worked on."""
    current = caller.get()
    if current is not None:
        current.statement = statement
    cursor.connection.statement_started = monotonic()


def end_statement(cursor: Any) -> None:
    """It has been answered, or given up: its seconds are kept for the call."""
    link = cursor.connection
    current = caller.get()
    if current is not None:
        current.statements.append(monotonic() - link.statement_started)
    link.statement_started = 0.0
    if len(cursor.query or b"") > LARGE:
        link.has_large_buffers = True


@contextmanager
def driver_cursor(connection: Connection, statement: str) -> Iterator[Any]:
    """psycopg2's cursor. What it raises inside is raised as SQLAlchemy would: DBAPIError, the pool new if PostgreSQL
    has gone."""
    cursor = connection.connection.cursor()
    begin_statement(cursor, statement)
    try:
        yield cursor
        end_statement(cursor)
    except psycopg2.Error as error:
        end_statement(cursor)
        lost = bool(cursor.connection.closed)
        if lost:
            connection.invalidate(error)
            connection.engine.dispose()
        raise DBAPIError.instance(statement, None, error, psycopg2.Error, connection_invalidated=lost) from error
    finally:
        cursor.close()


def rows_of(connection: Connection, query: Sql) -> list[tuple[Any, ...]]:
    """Returns what a query gives, values as psycopg2 has them. Raises DBAPIError."""
    with driver_cursor(connection, query.text) as cursor:
        cursor.execute(query.text, query.values)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def run(connection: Connection, statement: str, **given: Any) -> list[tuple[Any, ...]]:
    """Runs statements that are sent at once, with `%(name)s` for what is given; returns the rows of the last one, if it
    has any. Raises DBAPIError."""
    with driver_cursor(connection, statement) as cursor:
        cursor.execute(statement, given)
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
    return found


class Prepared:
    """A query that PostgreSQL parses and plans once a connection: for what is asked often, by a few values.

    PostgreSQL plans it anew when what it knows of the tables has changed, as autovacuum keeps it.
    """

    def __init__(self, name: str, query: Select[Any] | TextClause, before: str = "") -> None:
        """`before`: statements that are sent with it each time."""
        compiled = query.compile(dialect=_NUMBERED)
        self.name = name
        self.parts = {name: f"PREPARE {name} AS {compiled}"}
        self.order = list(compiled.positiontup or ())
        values = f" ({', '.join(['%s'] * len(self.order))})" if self.order else ""
        self.execute = f"{before + '; ' if before else ''}EXECUTE {name}{values}"

    def after(self, first: Prepared) -> Prepared:
        """Returns the two as one, which are sent at once and share parameters by name: `first`, and then this."""
        both = copy(self)
        both.name = f"{first.name} {self.name}"
        both.parts = first.parts | self.parts
        both.order = [*first.order, *self.order]
        both.execute = f"{first.execute}; {self.execute}"
        return both

    def rows(self, connection: Connection, **parameters: Any) -> list[tuple[Any, ...]]:
        """Returns what the (last) query gives, values as psycopg2 has them. Raises DBAPIError."""
        prepared: set[str] = connection.info.setdefault("prepared", set())  # gone with the driver's connection
        with driver_cursor(connection, self.execute) as cursor:
            if self.name not in prepared:
                for name in self.parts.keys() - prepared:
                    cursor.execute(self.parts[name])
                prepared.update(self.parts, [self.name])
            cursor.execute(self.execute, [parameters[name] for name in self.order])
            found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        return found
