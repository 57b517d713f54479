"""The migrations: one head, from nothing to the head, and the same database as the models say."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.engine import make_url

from metastore.errors import ConfigurationError, UnavailableError
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.schema import metadata
from migrations import runner
from tests.fixtures.database import execute
from tests.fixtures.rejecting import rejecting_server

# What PostgreSQL itself says of a database, in one form for both ways of making it.
CATALOGS = {
    "columns": """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, l.collname,
               pg_get_expr(d.adbin, d.adrelid)
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation l ON l.oid = a.attcollation
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY c.relname, a.attnum""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND contype <> 'n' ORDER BY 1, 2""",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
    "triggers": """
        SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger
        JOIN pg_proc p ON p.oid = tgfoid
        WHERE NOT tgisinternal AND p.pronamespace = 'public'::regnamespace  -- others belong to Hive's schema
        ORDER BY 1, 2""",
    "functions": "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1",
}


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    with create_engine(url, poolclass=NullPool).connect() as connection:
        yield connection


def test_there_is_one_head() -> None:
    assert ScriptDirectory.from_config(runner._config()).get_heads() == [runner.head()]


def test_models_and_migrations_agree(database_url: str) -> None:
    with connected(database_url) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


@pytest.mark.parametrize("catalog", CATALOGS)
def test_both_ways_make_the_same_database(catalog: str, database_url: str, empty_database_url: str) -> None:
    with connected(empty_database_url) as connection:
        metadata.create_all(connection)
        by_models = list(connection.execute(text(CATALOGS[catalog])).all())
    with connected(database_url) as connection:
        rows = connection.execute(text(CATALOGS[catalog])).all()
        by_migrations = [row for row in rows if row[0] != "alembic_version"]
    assert by_migrations == by_models


def test_every_constraint_has_a_name_of_ours() -> None:
    for table in metadata.tables.values():
        for constraint in table.constraints:
            assert constraint.name, f"{table.name}: {constraint}"


def test_from_nothing_to_the_head_and_no_further(empty_database_url: str) -> None:
    assert runner.current(empty_database_url) is None
    assert runner.upgrade(empty_database_url)
    assert runner.current(empty_database_url) == runner.head()
    runner.check(empty_database_url)
    assert not runner.upgrade(empty_database_url)


def test_two_upgrades_at_a_time_are_one_after_the_other(empty_database_url: str) -> None:
    done: list[bool] = []
    both = [threading.Thread(target=lambda: done.append(runner.upgrade(empty_database_url))) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(done) == [False, True]


def test_a_broken_upgrade_changes_nothing(empty_database_url: str) -> None:
    with connected(empty_database_url) as connection:
        connection.execute(text("CREATE TABLE tables (in_the_way int)"))
        connection.commit()
    with pytest.raises(UnavailableError, match="already exists"):
        runner.upgrade(empty_database_url)
    assert runner.current(empty_database_url) is None
    with connected(empty_database_url) as connection:
        assert connection.scalar(text("SELECT to_regclass('catalogs')")) is None


def test_an_empty_database_is_rejected_with_the_command_that_creates_the_schema(empty_database_url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"no schema yet.*metastore db upgrade --database-url") as raised:
        runner.check(empty_database_url)
    assert "\n" not in str(raised.value)


def test_a_later_schema_is_rejected(database_url: str) -> None:
    with connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        connection.commit()
    for use in (runner.check, runner.upgrade):
        with pytest.raises(ConfigurationError, match="revision 9999, which this version does not know"):
            use(database_url)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("postgresql+psycopg2://alice:secret@127.0.0.1:1/x", UnavailableError),
        ("postgresql+psycopg2://alice:secret@127.0.0.1:port/x", ConfigurationError),
    ],
)
def test_a_database_that_does_not_answer_is_one_line(url: str, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        runner.check(url)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)
    assert "127.0.0.1" in str(raised.value)


@pytest.mark.parametrize(
    ("state", "message", "error"),
    [
        ("53300", "tut mir leid, schon zu viele Verbindungen", UnavailableError),
        ("57P03", "система баз данных запускается", UnavailableError),
        ("28P01", "l'authentification par mot de passe a échoué", ConfigurationError),
        ("3D000", "la base de données n'existe pas", ConfigurationError),
    ],
)
def test_a_rejected_connection_is_classified_by_its_sqlstate(state: str, message: str, error: type[Exception]) -> None:
    with rejecting_server(state, "FATALE", message) as url, pytest.raises(error, match=message):
        runner.check(url)


def test_an_upgrade_reports_the_reason_why_a_database_accepts_no_writes(empty_database_url: str) -> None:
    execute(
        empty_database_url,
        f"ALTER DATABASE {make_url(empty_database_url).database} SET default_transaction_read_only = on",
    )
    with pytest.raises(ConfigurationError, match="turn off its setting default_transaction_read_only"):
        runner.upgrade(empty_database_url)


def test_a_server_and_an_upgrade_use_the_search_path_of_the_url(empty_database_url: str) -> None:
    execute(empty_database_url, "CREATE SCHEMA apart")
    url = f"{empty_database_url}{'&' if '?' in empty_database_url else '?'}options=-csearch_path%3Dapart"
    assert runner.upgrade(url)
    engine = make_engine(Settings(), url)
    with engine.connect() as connection:
        runner.check_schema(connection, url)
        assert connection.scalar(text("SELECT 'tables'::regclass = 'apart.tables'::regclass"))
        assert connection.scalar(text("SHOW lock_timeout")) == f"{Settings().lock_timeout:g}s"
    engine.dispose()
    for command in (runner.check, runner.upgrade):
        with pytest.raises(ConfigurationError, match="schema apart, which is not in the search_path"):
            command(empty_database_url)
