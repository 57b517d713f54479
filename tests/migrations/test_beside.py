"""An upgrade while servers of the previous version run: its checks, and the objects that finishing drops."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from alembic import command
from sqlalchemy import Connection, NullPool, create_engine, text

from metastore.errors import ConfigurationError, UnavailableError
from metastore.services.servers import ServerService
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.repositories.servers import Registration
from metastore.storage.unit_of_work import Store
from migrations import runner

BEFORE = "0010"  # the last schema whose servers do not register themselves


@contextmanager
def connected(url: str, application: str = "psql") -> Iterator[Connection]:
    engine = create_engine(
        url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args={"application_name": application}
    )
    with engine.connect() as connection:
        yield connection


def rows(connection: Connection, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.execute(text(query))]


def bring(url: str, revision: str) -> None:
    """Makes the schema of an older revision, as its own version did."""
    with create_engine(url, poolclass=NullPool).begin() as connection:
        config = runner._config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


@pytest.fixture
def older_url(empty_database_url: str) -> str:
    bring(empty_database_url, BEFORE)
    return empty_database_url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    name = server(runner.head()).application_name
    store = Store(make_engine(Settings(), database_url, application=name), Settings())
    yield store
    store.close()


def server(revision: str, warehouse: str = "/warehouse") -> Registration:
    return Registration(
        server=uuid.uuid4(), version="1.0", revision=revision, host="alpha", port=9083, warehouse=warehouse
    )


def test_retired_locations_of_old_servers_and_the_journal_are_equal(older_url: str) -> None:
    retire = "INSERT INTO retired_locations VALUES ('file:/{0}', NULL, 'file:/', now(), 'dropped', 'q')"
    journal = "SELECT location, reason FROM file_operations ORDER BY location"
    with connected(older_url, "metastore") as old:
        old.execute(text(retire.format("a")))
        assert runner.upgrade(older_url)
        old.execute(text(retire.format("b")))
        assert rows(old, journal) == [("file:/a", "replaced"), ("file:/b", "replaced")]
        old.execute(text("UPDATE retired_locations SET location = 'file:/c' WHERE location = 'file:/b'"))
        old.execute(text("DELETE FROM retired_locations WHERE location = 'file:/a'"))
        assert rows(old, journal) == [("file:/c", "replaced")]
        old.execute(
            text("""
                INSERT INTO file_operations (kind, location, places, root, decided_at, reason, query_id) VALUES
                ('remove', 'file:/new', '{}', '', now(), 'replaced', ''),
                ('remove', 'file:/x', '{}', '', now(), 'dropped', '')
            """)
        )
        retired = "SELECT location FROM retired_locations ORDER BY location"
        assert rows(old, retired) == [("file:/c",), ("file:/new",)]
        old.execute(text("DELETE FROM file_operations"))
        assert rows(old, retired) == []


def test_an_upgrade_is_finished_when_servers_of_before_are_gone(older_url: str) -> None:
    runner.upgrade(older_url)
    assert not runner.is_finished(older_url)
    with (
        connected(older_url, "metastore"),
        pytest.raises(ConfigurationError, match=r"an older server at .* \(1 connections\)\. .*stop them first"),
    ):
        runner.finish(older_url)
    assert runner.finish(older_url)
    assert runner.is_finished(older_url)
    assert not runner.finish(older_url)
    with connected(older_url) as connection:
        assert rows(connection, "SELECT to_regclass('retired_locations')") == [(None,)]
        assert rows(connection, "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace") == []


def test_finishing_comes_after_the_upgrade(older_url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"revision 0010, this version needs .*: run  metastore db upgrade"):
        runner.finish(older_url)


def test_a_step_that_breaks_running_servers_is_rejected(empty_database_url: str) -> None:
    bring(empty_database_url, "0009")
    with (
        connected(empty_database_url, "metastore"),
        pytest.raises(ConfigurationError, match="cannot run during this upgrade"),
    ):
        runner.upgrade(empty_database_url)
    assert runner.current(empty_database_url) == "0009"
    assert runner.upgrade(empty_database_url)


def test_registered_servers_are_listed_and_waited_for(database_url: str, store: Store) -> None:
    older, same = ServerService(store, server("0011"), 0), ServerService(store, server(runner.head()), 1)
    with connected(database_url) as connection:
        connection.execute(text("UPDATE metastore_properties SET value = '0010' WHERE name = 'schema.finished'"))
    older.renew()
    same.renew()
    same.renew()
    actual = [
        (running_server.address, running_server.revision, running_server.workers)
        for running_server in runner.servers(database_url)
        if running_server.revision
    ]
    assert actual == [("alpha:9083", "0011", 1), ("alpha:9083", runner.head(), 1)]
    with pytest.raises(ConfigurationError, match=r"alpha:9083 of version 1\.0 \(0011, seen \d+ s ago\)"):
        runner.finish(database_url)
    older.leave()
    assert runner.finish(database_url)


def test_an_unseen_server_counts_as_gone(database_url: str, store: Store) -> None:
    with connected(database_url) as connection:
        connection.execute(
            text("""
                INSERT INTO servers VALUES
                (gen_random_uuid(), 0, '1', '0011', 'killed', 1, 1, now(), now() - interval '61 seconds'),
                (gen_random_uuid(), 0, '1', '0011', 'forgotten', 1, 1, now(), now() - interval '2 hours')
            """)
        )
        ServerService(store, server(runner.head()), 0).renew()
        assert rows(connection, "SELECT host FROM servers ORDER BY host") == [("alpha",), ("killed",)]
    assert [running_server.address for running_server in runner.servers(database_url) if running_server.revision] == [
        "alpha:9083"
    ]


def test_a_server_that_was_silent_while_an_upgrade_was_finished_refuses_calls(store: Store) -> None:
    service = ServerService(store, server("0011"), 0)
    service.renew()  # the schema is finished, as each new one is
    with (
        pytest.raises(UnavailableError, match="supports schema revision 0011, but the database was upgraded"),
        store.read(),
    ):
        pytest.fail("it got a connection")


def test_a_server_works_with_a_later_schema_until_the_upgrade_is_finished(database_url: str) -> None:
    with connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        connection.execute(text("UPDATE metastore_properties SET value = '9999' WHERE name = 'schema.upgraded'"))
        runner.check(database_url)
        connection.execute(text("UPDATE metastore_properties SET value = '9999' WHERE name = 'schema.finished'"))
    with pytest.raises(ConfigurationError, match="revision 9999, which this version does not know"):
        runner.check(database_url)


def test_an_upgrade_waits_for_tables_in_use(older_url: str) -> None:
    with create_engine(older_url, poolclass=NullPool).connect() as user:
        user.execute(text("LOCK TABLE tables IN ROW EXCLUSIVE MODE"))
        tries = []

        def give_up(*_: object) -> None:
            tries.append(1)
            user.rollback()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runner, "time", SimpleNamespace(sleep=give_up, monotonic=time.monotonic))
            assert runner.upgrade(older_url)
    assert tries == [1]


def test_an_upgrade_gives_up_on_a_table_that_stays_locked(older_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LOCK_TIMEOUT", 0)
    with create_engine(older_url, poolclass=NullPool).connect() as user:
        user.execute(text("LOCK TABLE tables IN ROW EXCLUSIVE MODE"))
        with pytest.raises(UnavailableError, match="have been locked for more than 0 s"):
            runner.upgrade(older_url)
    assert runner.current(older_url) == BEFORE
