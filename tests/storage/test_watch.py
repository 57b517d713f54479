"""PostgreSQL stops responding while a network device still acknowledges packets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import create_engine, text

from metastore.errors import ConnectionLostError, UnavailableError
from metastore.settings import Settings
from metastore.settings import database_url as normalised
from metastore.storage import unit_of_work
from metastore.storage.postgres import listener as listening
from metastore.storage.postgres import watch
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.listener import CHANNEL, Listener
from metastore.storage.postgres.watch import Watch
from metastore.storage.unit_of_work import Store
from tests.fixtures.database import execute
from tests.fixtures.proxy import Proxy

Proxied = Callable[[str], Proxy]
pytestmark = pytest.mark.slow

TIMEOUT = 60.0


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the times after which a query is suspect and a server must have responded."""
    monkeypatch.setattr(watch, "PATIENCE", 0.2)
    monkeypatch.setattr(watch, "_ANSWER", 0.5)
    monkeypatch.setattr(unit_of_work, "_PATIENCE", 0.0)


@contextmanager
def store_at(url: str) -> Iterator[Store]:
    settings = Settings(database_url=url)
    store = Store(make_engine(settings, normalised(url)), settings)
    yield store
    store.close()


def looked_after(future: Future[int], statement_timeout: float = TIMEOUT) -> int:
    """Runs the watch until a query ends, and returns the result of the query."""
    watching = Watch(statement_timeout)
    while not future.done():
        watching.check()
        threading.Event().wait(0.05)
    return future.result()


def test_a_statement_without_an_answer_is_given_up(database_url: str, proxied: Proxied) -> None:
    proxy = proxied(database_url)

    def ask(store: Store) -> int:
        with store.read() as work:
            return int(work.connection.scalar(text("SELECT 1")) or 0)

    with store_at(proxy.url) as store, ThreadPoolExecutor(1) as thread:
        assert ask(store) == 1
        proxy.silence()
        with pytest.raises(ConnectionLostError):
            looked_after(thread.submit(ask, store))
        proxy.resume()
        assert ask(store) == 1


def test_the_outcome_of_a_commit_without_an_answer_is_unknown(database_url: str, proxied: Proxied) -> None:
    proxy = proxied(database_url)
    execute(database_url, "CREATE TABLE rows (n int)")

    def write(store: Store) -> int:
        with store.transaction() as work:
            work.connection.execute(text("INSERT INTO rows VALUES (1)"))
            proxy.silence()
        return 0

    with store_at(proxy.url) as store, ThreadPoolExecutor(1) as thread:
        with pytest.raises(UnavailableError, match="the outcome is unknown"):
            looked_after(thread.submit(write, store))
        proxy.resume()


def test_a_long_statement_continues_while_postgresql_answers(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_ANSWER", TIMEOUT)
    looks = 5

    def ask(store: Store) -> int:
        with store.read() as work:
            return int(work.connection.scalar(text("SELECT 1 FROM pg_advisory_lock(1)")) or 0)

    engine = create_engine(database_url)
    with store_at(database_url) as store, ThreadPoolExecutor(1) as thread, engine.connect() as other:
        other.execute(text("SELECT pg_advisory_lock(1)"))
        future = thread.submit(ask, store)
        watching = Watch(TIMEOUT)
        for _ in range(looks):
            threading.Event().wait(0.1)
            watching.check()
        assert not future.done()
        other.execute(text("SELECT pg_advisory_unlock(1)"))
        assert looked_after(future) == 1
    engine.dispose()


def test_statements_that_postgresql_should_have_ended_are_given_up(database_url: str) -> None:
    def ask(store: Store) -> int:
        with store.read() as work:
            return int(work.connection.scalar(text("SELECT 1 FROM pg_sleep(60)")) or 0)

    with (
        store_at(database_url) as store,
        ThreadPoolExecutor(1) as thread,
        pytest.raises(ConnectionLostError),
    ):
        looked_after(thread.submit(ask, store), statement_timeout=-watch._GRACE)


def test_a_listener_notices_silence_and_reconnects(
    database_url: str, proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_SILENCE", 0.1)
    proxy = proxied(database_url)
    listener = Listener(normalised(proxy.url))
    watching = Watch(TIMEOUT)
    try:
        seen = listener.count(20)
        proxy.silence()
        while listener._listening:
            watching.check()
            threading.Event().wait(0.05)
        proxy.resume()
        while not listener._listening:
            threading.Event().wait(0.05)
        seen = listener.count(20)
        execute(database_url, f"NOTIFY {CHANNEL}")
        listener.wait(seen, 20)
        assert listener.count(0) > seen
    finally:
        listener.close()
