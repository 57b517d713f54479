"""Readers: roles of PostgreSQL that see the views of Hive's schema and nothing else."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from psycopg2.errors import InsufficientPrivilege
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, ProgrammingError

from metastore.cli.commands import run
from migrations import runner
from tests.fixtures.database import execute

GUIDE = Path(__file__).parents[2] / "docs/how-to/read-by-sql.md"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def name(database_url: str, postgres_url: str) -> Iterator[str]:
    """A name for a role of `database_url`, which is dropped at the end."""
    name = f"reader {uuid.uuid4().hex[:8]}"
    yield name
    if value(postgres_url, f"SELECT count(*) FROM pg_roles WHERE rolname = '{name}'"):
        execute(database_url, f'DROP OWNED BY "{name}"')
    execute(postgres_url, f'DROP ROLE IF EXISTS "{name}"')


def reader(*arguments: str, url: str) -> int:
    return run(["db", "reader", arguments[0], "--database-url", url, *arguments[1:]])


def value(url: str, query: str, role: str | None = None) -> object:
    """Returns the first value of a query in a session of `role`, which PostgreSQL's settings of the role apply to."""
    as_role = make_url(url).set(username=role) if role else make_url(url)
    with create_engine(as_role, poolclass=NullPool).connect() as connection:
        return connection.execute(text(query)).scalar()


def test_a_reader_sees_only_the_views(database_url: str, name: str, capsys: Capture) -> None:
    assert reader("add", name, url=database_url) == 0
    said = capsys.readouterr()
    assert "currentSchema=hive" in said.out
    assert reader("list", url=database_url) == 0
    assert capsys.readouterr().out == f"{name}\n"
    for query in (
        'SELECT count(*) FROM "DBS"',
        "SELECT count(*) FROM dbs",
        "SELECT count(*) FROM hive.notification_log",
    ):
        assert value(database_url, query, name) is not None
    for query in (
        "SELECT 1 FROM public.tables",
        "SELECT 1 FROM public.issued_tokens",
        "SELECT 1 FROM public.locks_id_seq",
    ):
        with pytest.raises(DBAPIError) as raised:
            value(database_url, query, name)
        assert isinstance(raised.value.orig, InsufficientPrivilege)
    for statement in (
        """INSERT INTO "DBS" ("NAME") VALUES ('x')""",
        'SET default_transaction_read_only = off; COMMIT; DELETE FROM "DBS"',
    ):
        with pytest.raises(DBAPIError) as raised:
            value(database_url, statement, name)
        assert isinstance(raised.value.orig, InsufficientPrivilege)
    assert value(database_url, "SHOW default_transaction_read_only", name) == "on"


def test_the_server_gets_the_hash_of_a_password(database_url: str, name: str, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "password"
    file.write_text("the secret\nrest")
    assert reader("add", name, "--password-file", str(file), url=database_url) == 0
    stored = value(database_url, f"SELECT rolpassword FROM pg_authid WHERE rolname = '{name}'")
    assert str(stored).startswith("SCRAM-SHA-256$")
    assert "the secret" not in capsys.readouterr().out
    assert reader("add", name, url=database_url) == 0
    assert "keeps its password" in capsys.readouterr().out
    assert value(database_url, f"SELECT rolpassword FROM pg_authid WHERE rolname = '{name}'") == stored


def test_a_removed_reader_is_gone_unless_it_reads_another_database(
    database_url: str, make_database: Callable[[], str], name: str, capsys: Capture
) -> None:
    other = make_database()
    for url in (database_url, other):
        assert reader("add", name, url=url) == 0
    assert reader("remove", name, url=database_url) == 0
    assert "The role stays" in capsys.readouterr().out
    with pytest.raises(ProgrammingError, match="permission denied for schema hive"):
        value(database_url, "SELECT 1 FROM hive.dbs", name)
    assert reader("remove", name, url=other) == 0
    assert value(database_url, f"SELECT count(*) FROM pg_roles WHERE rolname = '{name}'") == 0
    assert reader("remove", name, url=other) == 1
    assert "is not a reader" in capsys.readouterr().err


@pytest.fixture
def owned(empty_database_url: str, postgres_url: str) -> Iterator[str]:
    """A database of an owner who is no superuser, without the schema."""
    owner = f"owner_{uuid.uuid4().hex[:8]}"
    database = make_url(empty_database_url).database
    execute(postgres_url, f"CREATE ROLE {owner} LOGIN")
    execute(postgres_url, f"ALTER DATABASE {database} OWNER TO {owner}")
    execute(empty_database_url, f"ALTER SCHEMA public OWNER TO {owner}")
    yield make_url(empty_database_url).set(username=owner).render_as_string(hide_password=False)
    execute(postgres_url, f"ALTER DATABASE {database} OWNER TO CURRENT_USER")
    execute(empty_database_url, f"DROP OWNED BY {owner}")
    execute(postgres_url, f"DROP ROLE {owner}")


def test_an_owner_needs_createrole(
    owned: str, postgres_url: str, empty_database_url: str, name: str, capsys: Capture
) -> None:
    assert runner.upgrade(owned)
    assert reader("add", name, url=owned) == 1
    said = capsys.readouterr().err
    assert "CREATEROLE" in said
    assert said.count("\n") == 1
    execute(postgres_url, f"ALTER ROLE {make_url(owned).username} CREATEROLE")
    assert reader("add", name, url=owned) == 0
    assert value(owned, "SELECT count(*) FROM dbs", name) == 0
    lock = "SELECT pg_try_advisory_lock(1)"
    assert value(owned, lock, name)
    (statement,) = re.findall(r"```sql\n(DO .*?)```", GUIDE.read_text(), re.DOTALL)
    execute(empty_database_url, statement.replace("TO metastore", f"TO {make_url(owned).username}"))
    with pytest.raises(DBAPIError, match="permission denied for function pg_try_advisory_lock"):
        value(owned, lock, name)
    assert value(owned, lock)
    assert reader("remove", name, url=owned) == 0


def test_readers_are_added_again_after_a_restore(
    database_url: str, empty_database_url: str, name: str, tmp_path: Path, capsys: Capture
) -> None:
    assert reader("add", name, url=database_url) == 0
    file = tmp_path / "backup"
    assert run(["db", "backup", str(file), "--database-url", database_url]) == 0
    assert run(["db", "restore", str(file), "--database-url", empty_database_url]) == 0
    capsys.readouterr()
    assert reader("list", url=empty_database_url) == 0
    assert capsys.readouterr().out == ""
    assert reader("add", name, url=empty_database_url) == 0
    assert value(empty_database_url, 'SELECT "SCHEMA_VERSION" FROM "VERSION"', name) == "3.1.0"
    for url in (database_url, empty_database_url):
        assert reader("remove", name, url=url) == 0


def test_a_reader_that_can_create_objects_is_reported(database_url: str, name: str, capsys: Capture) -> None:
    """Before PostgreSQL 15, every role may create objects in the schema public."""
    execute(database_url, "GRANT CREATE ON SCHEMA public TO PUBLIC")
    fix = "REVOKE CREATE ON SCHEMA"
    run(["doctor", "--database-url", database_url])
    assert fix not in capsys.readouterr().out
    assert reader("add", name, url=database_url) == 0
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1
    run(["doctor", "--database-url", database_url])
    assert fix in capsys.readouterr().out
    assert "GRANT CREATE ON SCHEMA public TO" in warning
    execute(database_url, warning.partition("run:  ")[2])
    for command in (["db", "reader", "add", name], ["doctor"]):
        run([*command, "--database-url", database_url])
        said = capsys.readouterr()
        assert fix not in said.out + said.err


@pytest.mark.parametrize("wrong", ["pg_reader", "", "x" * 64, "public", "two\nlines", "\x1b[31m", "\udcff"])
def test_names_that_no_role_can_have(wrong: str, database_url: str, capsys: Capture) -> None:
    reason = "reserves it" if wrong in ("pg_reader", "public") else "choose 1 to 63 bytes"
    for action in ("add", "remove"):
        assert reader(action, wrong, url=database_url) == 1
        assert "cannot be the name of a role" in (error := capsys.readouterr().err)
        assert reason in error


def test_unusual_role_names_are_quoted(database_url: str, name: str, capsys: Capture) -> None:
    for odd in ('"; DROP TABLE tables; --', "it's %s {role}", "-x", "current_user", "ünï"):
        odd_name = f"{odd} {name}"
        assert reader("add", "--", odd_name, url=database_url) == 0
        assert f"Reader {odd_name} created" in capsys.readouterr().out
        assert value(database_url, "SELECT count(*) FROM dbs", odd_name) == 0
        assert reader("remove", "--", odd_name, url=database_url) == 0
    assert value(database_url, "SELECT count(*) FROM tables") == 0


def test_a_role_with_more_rights_is_no_reader(database_url: str, capsys: Capture) -> None:
    assert reader("add", str(make_url(database_url).username or "postgres"), url=database_url) == 1
    assert "has more rights" in capsys.readouterr().err
