"""Prepared statements: once per connection, again after a lost connection, and with unchanged error messages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Text, bindparam, cast, func, literal_column, select, text
from sqlalchemy.exc import DBAPIError

from metastore.app.worker import Application
from metastore.errors import ConnectionLostError
from metastore.storage.postgres.driver import Prepared
from metastore.storage.postgres.exceptions import translate
from metastore.storage.postgres.pool import ConnectionPool
from tests.fixtures.application import called, counted
from tests.fixtures.database import execute
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database

FIRST, SECOND = (cast(bindparam(name), Text) for name in ("first", "second"))
ECHO = Prepared("echo", select(SECOND, FIRST))
MATCH = Prepared("match", select(func.regexp_match(literal_column("'a'"), bindparam("pattern"))))


@pytest.fixture
def call(application: Application) -> Callable[..., Any]:
    """Returns a function that calls a handler by the name of its wire method."""
    application.services.databases.create("hive", Database(name="db"))
    call = partial(called, application)
    call("create_table", table("db", "t", [("ds", "string")]))
    return call


@pytest.fixture
def pool(application: Application) -> ConnectionPool:
    return application._store._pool


def prepared(pool: ConnectionPool) -> list[str]:
    with pool.connection() as connection:
        return list(connection.execute(text("SELECT name FROM pg_prepared_statements ORDER BY name")).scalars())


def test_values_arrive_where_they_belong(pool: ConnectionPool) -> None:
    with pool.connection() as connection:
        for first, second in (("%s", "$1"), ("'", "\\")):
            assert ECHO.rows(connection, first=first, second=second) == [(second, first)]


def test_a_connection_prepares_once(application: Application, call: Callable[..., Any], pool: ConnectionPool) -> None:
    call("get_table", "db", "t")
    before = prepared(pool)
    assert {"find_database", "find_table", "begin_making", "finish_making"} <= {*before}
    with counted(application) as statements:
        for _ in range(10):
            call("get_table", "db", "t")
    assert statements == ["EXECUTE find_table (%s, %s, %s)"] * 10
    assert prepared(pool) == before


def test_one_call_fails_if_many_connections_are_lost(
    application: Application, call: Callable[..., Any], pool: ConnectionPool, database_url: str
) -> None:
    for timer in application._timers:
        timer.stop()  # a background job would be the one that fails
    with ExitStack() as stack:
        for connection in [stack.enter_context(pool.connection()) for _ in range(5)]:
            ECHO.rows(connection, first="1", second="2")
    execute(database_url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'metastore'")
    with pytest.raises(ConnectionLostError):
        call("get_table", "db", "t")
    for _ in range(5):
        assert call("get_table", "db", "t").decode().tableName == "t"
    assert prepared(pool) == ["find_table"]


def test_errors_of_postgresql_are_translated(pool: ConnectionPool) -> None:
    with pool.connection() as connection:
        with pytest.raises(DBAPIError) as raised:
            MATCH.rows(connection, pattern="(")
        assert "Invalid pattern" in str(translate(raised.value))
        assert MATCH.rows(connection, pattern="a") == [(["a"],)]
