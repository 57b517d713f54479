"""Databases that cannot be used are rejected with the reason, at the start and by `db upgrade`."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from metastore.errors import ConfigurationError
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from migrations import runner
from tests.fixtures.database import execute
from tests.fixtures.server import running


def test_read_only_database_is_rejected_unless_the_server_only_reads(database_url: str) -> None:
    execute(database_url, f"ALTER DATABASE {make_url(database_url).database} SET default_transaction_read_only = on")
    with pytest.raises(ConfigurationError, match=r"default_transaction_read_only.*METASTORE_READ_ONLY=true"):
        runner.check(database_url)
    runner.check(database_url, read_only=True)


def test_database_of_encoding_sql_ascii_is_not_upgraded(postgres_url: str) -> None:
    execute(postgres_url, "CREATE DATABASE ascii_only TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    url = make_url(postgres_url).set(database="ascii_only").render_as_string(hide_password=False)
    try:
        with pytest.raises(ConfigurationError, match="SQL_ASCII") as raised:
            runner.upgrade(url)
        assert "psycopg2" not in str(raised.value)
    finally:
        execute(postgres_url, "DROP DATABASE ascii_only WITH (FORCE)")


def test_default_isolation_of_the_database_does_not_matter(database_url: str, tmp_path: Path) -> None:
    name = make_url(database_url).database
    execute(database_url, f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    engine = make_engine(Settings(), database_url)
    with engine.connect() as connection:
        assert connection.scalar(text("SHOW transaction_isolation")) == "read committed"
    engine.dispose()
    with running(database_url, tmp_path) as server:
        assert server.process.poll() is None
