"""PgBouncer in both modes: the server works with the matching METASTORE_DATABASE_POOLER, and names it otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from metastore.app.http import Readiness
from metastore.cli.commands import run
from metastore.context import Caller, caller
from metastore.domain.names import DatabaseName
from metastore.errors import ConfigurationError, MetastoreError
from metastore.importing.copier import Copier, Request
from metastore.importing.follower.follower import Follower
from metastore.importing.sources.opening import open_source
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.listener import Listener, PollingListener, make_listener
from metastore.storage.postgres.pool import ConnectionPool
from metastore.storage.postgres.pooler import check_pooler
from metastore.storage.unit_of_work import Store
from migrations import runner
from tests.fixtures.database import reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.pgbouncer import pgbouncer
from tests.fixtures.server import Server, connected
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database

NAMES = ["lock_timeout", "statement_timeout", "timezone", "jit"]
SMALL = {"default_pool_size": "3"}  # fewer sessions than connections of the tests


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with reachable_folder() as path:
        yield path


@pytest.fixture(scope="module")
def direct(folder: Path) -> Iterator[str]:
    with installed_postgres(folder, tls=False) as url:
        runner.upgrade(url)
        yield url


@pytest.fixture(scope="module")
def session(folder: Path, direct: str) -> Iterator[str]:
    with pgbouncer(folder, direct, "session") as url:
        yield url


@pytest.fixture(scope="module")
def transaction(folder: Path, direct: str) -> Iterator[str]:
    with pgbouncer(folder, direct, "transaction", SMALL) as url:
        yield url


def values(store: Store) -> list[Any]:
    query = text("SELECT current_setting(name) FROM unnest(cast(:names AS text[])) AS name")
    with store.read() as work:
        return list(work.connection.execute(query, {"names": NAMES}).scalars())


def test_direct_connection_is_accepted(database_url: str) -> None:
    check_pooler(Settings(), database_url)


def test_unreachable_database_is_left_to_the_schema_check(tmp_path: Path) -> None:
    check_pooler(Settings(), f"postgresql+psycopg2:///x?host={tmp_path}")


def test_the_matching_mode_is_accepted(session: str, transaction: str) -> None:
    check_pooler(Settings(database_pooler="session"), session)
    check_pooler(Settings(database_pooler="transaction"), transaction)
    check_pooler(Settings(database_pooler="transaction"), session)  # it needs less than it gets


@pytest.mark.parametrize("pooler", ["off", "session"])
def test_the_setting_is_named(pooler: str, folder: Path, direct: str, session: str, transaction: str) -> None:
    with pytest.raises(ConfigurationError, match=r"METASTORE_DATABASE_POOLER.* transaction|=transaction"):
        check_pooler(Settings(database_pooler=pooler), transaction)
    if pooler == "off":
        with pytest.raises(ConfigurationError, match="rejects the startup parameter options: set METASTORE_DATABASE_P"):
            check_pooler(Settings(), session)
        (folder / "ignoring").mkdir()
        ignoring = {"ignore_startup_parameters": "options"}
        with (
            pgbouncer(folder / "ignoring", direct, "session", ignoring) as url,
            pytest.raises(ConfigurationError, match="ignores the startup parameter options"),
        ):
            check_pooler(Settings(), url)


def test_options_in_the_url_do_not_pass_a_pooler(session: str) -> None:
    with pytest.raises(ConfigurationError, match="ALTER ROLE"):
        check_pooler(Settings(database_pooler="session"), f"{session}?options=-csearch_path%3Dx")


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_sessions_have_the_settings_of_a_direct_connection(mode: str, direct: str, request: Any) -> None:
    url = request.getfixturevalue(mode)
    settings = Settings(database_url=url, database_pooler=mode, lock_timeout=7, pool_size=4)
    store, plain = Store(make_engine(settings, url), settings), Store(make_engine(settings, url), settings)
    try:
        assert values(store) == ["7s", "5min", "UTC", "off"]
        with store.transaction() as work:
            assert work.connection.scalar(text("SHOW lock_timeout")) == "7s"
            assert work.connection.scalar(text("SHOW transaction_isolation")) == "read committed"
        assert values(plain) == ["7s", "5min", "UTC", "off"]
    finally:
        store.close()
        plain.close()
    if mode == "transaction":  # nothing is left in the sessions that other clients get
        bare = Settings(database_url=url, database_pooler=mode)
        engine = make_engine(bare, url)
        with engine.connect() as connection:
            assert connection.scalar(text("SHOW lock_timeout")) != "7s"
        engine.dispose()


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_the_blocking_session_of_a_call_is_found(mode: str, direct: str, request: Any) -> None:
    url = request.getfixturevalue(mode)
    settings = Settings(database_url=url, database_pooler=mode, pool_size=4)
    store, client = Store(make_engine(settings, url), settings), Caller("test")
    query = text("SELECT 1 FROM notification_sequence FOR UPDATE")

    def wait_for_the_row() -> None:
        caller.set(client)
        with store.transaction() as work:
            work.connection.execute(query)

    blocker = create_engine(direct, connect_args={"application_name": "somebody"})
    try:
        with ThreadPoolExecutor(1) as threads, blocker.connect() as connection:
            connection.execute(query)
            pid = connection.scalar(text("SELECT pg_backend_pid()"))
            done = threads.submit(wait_for_the_row)
            found: dict[int, list[Any]] = {}
            while not found and not done.done():
                with store.read() as work:
                    found = work.blocking.sessions([client.call.backend])
            connection.rollback()
            done.result()
        ((session,),) = found.values()
        assert (session["pid"], session["application"]) == (pid, "somebody")
        assert client.call.backend == 0
    finally:
        store.close()
        blocker.dispose()


def test_a_failed_read_leaves_no_transaction(transaction: str) -> None:
    settings = Settings(database_url=transaction, database_pooler="transaction", pool_size=1)
    store = Store(make_engine(settings, transaction), settings)
    try:
        with pytest.raises(MetastoreError), store.read() as work:
            work.connection.execute(text("SELECT 1 / 0"))
        assert values(store)[0] == "30s"
    finally:
        store.close()


def test_many_clients_share_few_sessions(transaction: str) -> None:
    """Clients do not share prepared statements or settings."""
    settings = Settings(database_url=transaction, database_pooler="transaction", pool_size=4)
    stores = [Store(make_engine(settings, transaction), settings) for _ in range(4)]

    def work(number: int) -> None:
        store = stores[number % len(stores)]
        for _ in range(20):
            with store.transaction() as change:
                change.try_lock_job(f"job {number}")
            with store.read() as read:
                assert read.connection.scalar(text("SHOW timezone")) == "UTC"

    try:
        with ThreadPoolExecutor(16) as threads:
            for done in [threads.submit(work, number) for number in range(16)]:
                done.result()
    finally:
        for store in stores:
            store.close()


def test_backups_need_an_address_without_the_pooler(
    transaction: str, direct: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--database-url", transaction, "--database-pooler", "transaction"]
    assert run(["db", "backup", str(tmp_path / "one"), *options]) == 1
    assert "METASTORE_DATABASE_DIRECT_URL" in capsys.readouterr().err
    assert run(["db", "backup", str(tmp_path / "one"), *options, "--database-direct-url", direct]) == 0
    for command in ("upgrade", "current", "servers", "verify"):
        assert run(["db", command, *options]) == 0, capsys.readouterr()


def test_waiting_calls_poll_or_listen_on_the_direct_address(transaction: str, direct: str) -> None:
    polling = make_listener(Settings(database_url=transaction, database_pooler="transaction"), transaction)
    assert isinstance(polling, PollingListener)
    seen = polling.count(0)
    polling.wait(seen, 0.01)
    assert polling.count(0) != seen
    polling.close()
    settings = Settings(database_url=transaction, database_pooler="transaction", database_direct_url=direct)
    listening = make_listener(settings, transaction)
    assert isinstance(listening, Listener)
    listening.close()


def test_a_follower_behind_a_pooler(transaction: str, metastore_server: Server) -> None:
    """Its lock is one of a transaction, because sessions are shared, and its batches do not wait for that."""
    name = f"pooled_{uuid4().hex}"
    settings = Settings(database_pooler="transaction", lock_timeout=5.0)
    with connected(metastore_server) as client, ExitStack() as stack:
        client.create_database(Database(name))
        source = stack.enter_context(closing(open_source(metastore_server.uri)))
        stores = [Store(make_engine(settings, transaction, size=4), settings) for _ in range(2)]
        for store in stores:
            stack.callback(store.close)
        Copier(source, stores[0], Request((name,))).run()
        client.create_table(table(name, "t"))
        first, second = (Follower(source, store) for store in stores)
        with first.lock() as is_held:
            assert is_held
            assert first.catch_up().events > 0
            with second.lock() as is_held_twice:
                assert not is_held_twice
        with pytest.raises(ZeroDivisionError), first.lock():
            raise ZeroDivisionError
        with second.lock() as is_held:
            assert is_held
            client.create_table(table(name, "u"))
            assert second.catch_up().events > 0
        with stores[0].read() as work:
            assert work.tables.names(DatabaseName("hive", name)) == ["t", "u"]


def test_a_reader_behind_a_pooler(direct: str, folder: Path, tmp_path: Path) -> None:
    """The settings of its role apply, so that it needs no search path, which PgBouncer rejects."""
    file = tmp_path / "password"
    file.write_text("pw")
    assert run(["db", "reader", "add", "pooled", "--password-file", str(file), "--database-url", direct]) == 0
    reader = make_url(direct).set(username="pooled", password="pw").render_as_string(hide_password=False)
    with pgbouncer(folder, reader, "transaction", {"default_pool_size": "1"}) as url:
        for _ in range(2):
            with create_engine(url, poolclass=NullPool).connect() as connection:
                assert connection.execute(text("SELECT count(*) FROM dbs")).scalar() is not None
                assert connection.execute(text("SHOW search_path")).scalar() == "hive"
                assert connection.execute(text("SHOW default_transaction_read_only")).scalar() == "on"
        asked = make_url(url).update_query_dict({"options": "-csearch_path=hive"})
        with pytest.raises(OperationalError, match="unsupported startup parameter"):
            create_engine(asked, poolclass=NullPool).connect()


def test_readiness_names_the_fix_for_a_pooler_that_appears(transaction: str) -> None:
    """The address leads to a pooler since the server started."""
    settings = Settings(database_url=transaction)
    engine = make_engine(settings, transaction, size=1)
    try:
        readiness = Readiness(settings, transaction, ConnectionPool(engine, 1, 5.0))
        with pytest.raises(ConfigurationError, match="set METASTORE_DATABASE_POOLER to its pool_mode"):
            readiness.check()
    finally:
        engine.dispose()
