"""The order in which callers get connections when there are too few: reads before writes, waiting callers first."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from metastore.context import Caller, caller
from metastore.errors import ConnectionLostError, ExhaustedError, UnavailableError
from metastore.identity import KERBEROS
from metastore.settings import Settings
from metastore.settings import database_url as normalised
from metastore.storage.postgres.copy import binary_row
from metastore.storage.postgres.driver import Link, rows_of
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.exceptions import translate
from metastore.storage.postgres.listener import Listener
from metastore.storage.postgres.pool import ConnectionPool
from metastore.storage.postgres.sql import Sql
from metastore.storage.unit_of_work import Store
from tests.fixtures.database import execute
from tests.fixtures.proxy import Proxy
from tests.fixtures.rejecting import rejecting_server


@contextmanager
def engine_of(url: str, **arguments: object) -> Iterator[Engine]:
    engine = create_engine(url, pool_size=8, max_overflow=0, connect_args={"connection_factory": Link, **arguments})
    yield engine
    engine.dispose()


def test_reads_have_connections_that_writers_cannot_take(database_url: str) -> None:
    settings = Settings(database_url=database_url, pool_size=4, lock_timeout=20)
    store = Store(make_engine(settings, database_url), settings)
    execute(database_url, "CREATE TABLE rows AS SELECT 1 AS n")
    held, release = threading.Event(), threading.Event()

    def write(*, first: bool = False) -> None:
        with store.transaction() as work:
            work.connection.execute(text("UPDATE rows SET n = n + 1"))
            if first:
                held.set()
                release.wait()

    with ThreadPoolExecutor(21) as threads:
        done = [threads.submit(write, first=True)]
        assert held.wait(20)
        done += [threads.submit(write) for _ in range(20)]
        for _ in range(50):
            with store.read() as work:
                assert work.connection.scalar(text("SELECT n FROM rows")) == 1
        release.set()
        for future in done:
            future.result()
    with store.read() as work:
        assert work.connection.scalar(text("SELECT n FROM rows")) == 22
    store.close()


@pytest.mark.parametrize(
    ("work", "is_kept"),
    [
        (lambda connection: connection.execute(text("SELECT length(:t)"), {"t": "x" * 1000}), True),
        (lambda connection: connection.execute(text("SELECT length(:t)"), {"t": "x" * 3_000_000}), False),
        (lambda connection: rows_of(connection, Sql("SELECT length(%s)", ("x" * 3_000_000,))), False),
        (lambda connection: binary_row(connection, Sql("SELECT repeat('x', 3000000)")), False),
    ],
)
def test_a_connection_is_not_kept_whose_messages_were_large(
    database_url: str, work: Callable[[Connection], object], is_kept: bool
) -> None:
    with engine_of(database_url) as engine:
        pool = ConnectionPool(engine, 1, 10)
        processes = []
        for each in (work, lambda _: None):
            with pool.connection() as connection:
                processes.append(connection.scalar(text("SELECT pg_backend_pid()")))
                each(connection)
        assert (processes[0] == processes[1]) == is_kept


def test_a_call_waits_for_a_connection_if_postgresql_has_none_left(database_url: str) -> None:
    role = f"limited_{make_url(database_url).database}"
    execute(database_url, f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 2")
    url = make_url(database_url).set(username=role)
    inside, release = threading.Semaphore(0), threading.Event()

    def hold(pool: ConnectionPool) -> int:
        with pool.connection() as connection:
            inside.release()
            release.wait()
            return int(connection.scalar(text("SELECT 1")) or 0)

    with engine_of(url.render_as_string(hide_password=False)) as engine, ThreadPoolExecutor(6) as threads:
        pool = ConnectionPool(engine, 8, timeout=30)
        done = [threads.submit(hold, pool) for _ in range(6)]
        assert inside.acquire(timeout=20)
        assert inside.acquire(timeout=20)
        release.set()
        assert [future.result() for future in done] == [1] * 6
    execute(database_url, f"DROP ROLE {role}")


@pytest.mark.parametrize(
    ("state", "error", "match"),
    [
        ("53300", UnavailableError, "raise its max_connections"),
        ("53200", OperationalError, "zu viele"),
        ("28P01", OperationalError, "zu viele"),
    ],
)
def test_only_the_sqlstate_shows_that_postgresql_is_out_of_connections(
    state: str, error: type[Exception], match: str
) -> None:
    with rejecting_server(state, "FATALE", "zu viele") as url, engine_of(url) as engine:
        pool = ConnectionPool(engine, 1, timeout=0.3)
        with pytest.raises(error, match=match) as failed, pool.connection():
            pass
    if isinstance(failed.value, OperationalError):
        assert isinstance(translate(failed.value), ExhaustedError) == (state == "53200")


def test_a_connection_is_lent_again_until_the_engine_is_new(database_url: str) -> None:
    with engine_of(database_url) as engine:
        pool = ConnectionPool(engine, 2, timeout=1)

        def backend() -> int:
            with pool.connection() as connection:
                return int(connection.scalar(text("SELECT pg_backend_pid()")) or 0)

        first = backend()
        assert backend() == first
        with pool.connection() as out:  # also while it is lent
            engine.dispose()
            assert backend() != first
            assert not out.invalidated
        assert backend() != first


def test_a_closed_store_has_no_session_left(database_url: str) -> None:
    settings = Settings(database_url=database_url)
    store = Store(make_engine(settings, database_url), settings)
    with store._pool.connection() as connection:
        link = connection.connection.dbapi_connection
        assert link is not None
    store.close()
    assert link.closed


def test_a_timeout_names_the_setting_to_raise(database_url: str) -> None:
    with engine_of(database_url) as engine:
        pool = ConnectionPool(engine, 1, timeout=0.05)
        with pool.connection(), pytest.raises(UnavailableError, match="METASTORE_POOL_SIZE"), pool.connection():
            pass
        with pool.connection(writes=True) as connection:
            assert connection.scalar(text("SELECT 1")) == 1


def test_one_user_cannot_take_all_connections(database_url: str) -> None:
    """Without authentication, users are not told apart: the only one may take all."""
    with engine_of(database_url) as engine, ExitStack() as held:
        pool = ConnectionPool(engine, 4, timeout=0.05)

        def take(user: str, *, writes: bool = False, authentication: str = KERBEROS) -> None:
            token = caller.set(Caller("peer", user, authentication=authentication))
            try:
                held.enter_context(pool.connection(writes=writes))
            finally:
                caller.reset(token)

        take("mallory", writes=True)
        take("mallory", writes=True)
        with pytest.raises(UnavailableError, match="METASTORE_POOL_SIZE"):
            take("mallory", writes=True)
        take("mallory")
        for _ in range(2):  # a rejected call keeps nothing
            with pytest.raises(UnavailableError, match="this user"):
                take("mallory")
        take("alice", writes=True)
        held.close()
        for _ in range(4):
            take("hive", authentication="")
        assert pool.used == 4


def test_a_call_waits_for_the_end_of_an_outage(database_url: str, proxied: Callable[[str], Proxy]) -> None:
    proxy = proxied(database_url)
    with engine_of(proxy.url) as engine:
        pool = ConnectionPool(engine, 1, timeout=30)
        proxy.cut()
        with pytest.raises(OperationalError), pool.connection():  # a background job does not wait
            pass
        restoring = threading.Timer(0.3, proxy.restore)
        token = caller.set(Caller("peer"))
        try:
            restoring.start()
            with pool.connection() as connection:
                assert connection.scalar(text("SELECT 1")) == 1
        finally:
            caller.reset(token)
            restoring.join()


def test_a_call_waits_for_a_database_that_accepts_writes(database_url: str) -> None:
    settings = Settings(database_url=database_url, pool_size=1)
    name = make_url(database_url).database
    execute(database_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    store = Store(make_engine(settings, database_url), settings)
    writable = make_url(database_url).update_query_dict({"options": "-cdefault_transaction_read_only=off"})
    reset = [writable.render_as_string(hide_password=False), f"ALTER DATABASE {name} RESET ALL"]
    promoting = threading.Timer(0.3, execute, reset)

    def write() -> None:
        with store.transaction() as work:
            work.connection.execute(text("CREATE TABLE rows ()"))

    with pytest.raises(UnavailableError, match="accepts no writes"):
        write()
    token = caller.set(Caller("peer"))
    try:
        promoting.start()
        with pytest.raises(ConnectionLostError, match="accepts changes again"):  # dispatch repeats the call
            write()
        write()
    finally:
        caller.reset(token)
        promoting.join()
        store.close()


def test_a_transaction_that_changes_nothing_does_not_prolong_the_wait_for_writes(database_url: str) -> None:
    settings = Settings(database_url=database_url, pool_size=1)
    store = Store(make_engine(settings, database_url), settings)
    store._pool._read_only._began = 1.0
    with store.transaction() as work:  # as timers do, also while the database is read-only
        work.try_lock_job("a job")
    assert store._pool._read_only._began == 1.0
    assert store._pool.accepts_writes()
    assert store._pool._read_only._began is None
    store.close()


def test_while_the_database_is_silent_one_call_tries_and_others_fail(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = make_url(database_url).set(host="127.0.0.1", port=silent.getsockname()[1], query={})
        with engine_of(url.render_as_string(hide_password=False), connect_timeout=2) as engine:
            pool = ConnectionPool(engine, 1, timeout=60)

            def ask() -> None:
                with pytest.raises(OperationalError), pool.connection():
                    pass

            with ThreadPoolExecutor(10) as threads:
                for future in [threads.submit(ask) for _ in range(10)]:
                    future.result()
        silent.settimeout(0)
        accepted = 0
        with suppress(BlockingIOError):
            while silent.accept()[0].close() is None:
                accepted += 1
        assert accepted in (1, 2), "the second may have come when the first had long failed"


@pytest.mark.parametrize(
    "hosts",
    [
        "postgres@127.0.0.1:1,127.0.0.1:{port}/{database}",
        "postgres@/{database}?host=127.0.0.1:1&host=127.0.0.1:{port}",
        "postgres@/{database}?host=127.0.0.1,127.0.0.1&port=1,{port}",
    ],
)
def test_several_hosts_in_every_form(database_url: str, proxied: Callable[[str], Proxy], hosts: str) -> None:
    database = make_url(database_url).database
    url = normalised("postgresql://" + hosts.format(port=proxied(database_url).port, database=database))
    assert "target_session_attrs=read-write" in url
    with engine_of(url) as engine, engine.connect() as connection:
        assert connection.scalar(text("SELECT current_database()")) == database
    listener = Listener(url)
    try:
        listener.count(20)
        assert listener._listening
    finally:
        listener.close()
