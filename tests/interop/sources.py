"""Hive's own metastores as sources of imports: on PostgreSQL and MariaDB, with an empty schema of their version."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import psycopg2
import pytest
from sqlalchemy.engine import URL, make_url

from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.real_hive import RealHive
from tests.interop.hive_schema import servers
from tests.interop.maven import UnavailableError

VERSIONS = tuple(servers.SCRIPTS)
_PATIENCE = 60.0  # seconds in which PostgreSQL recovers
WAREHOUSE = "hive.metastore.warehouse.dir"


@dataclass(frozen=True)
class RealSource:
    """A server of Hive. `database`: the URL of its database, as an import takes it. `files`: its warehouse."""

    version: str
    hive: RealHive
    jdbc: servers.Jdbc
    database: str
    files: Path
    socket: Path | None = None
    """Of MariaDB."""

    @contextmanager
    def running_again(self, folder: Path, version: str | None = None, *, notifies: bool) -> Iterator[RealHive]:
        """Starts a server of Hive in place of one that was killed. `version`: default is the version it had."""
        options = {WAREHOUSE: f"file:{self.files}"}
        port = self.hive.port
        with servers.running(
            version or self.version, folder, self.jdbc, notifies=notifies, port=port, **options
        ) as hive:
            yield hive

    def upgrade(self) -> None:
        """Upgrades the schema of 2.3 to 3.1 with Hive's scripts."""
        kind = "postgres" if self.socket is None else "mysql"
        for script in (*servers.upgrade("3.0", kind), *servers.upgrade("3.1", kind)):
            if self.socket is None:
                servers.psql(make_url(self.database), "-f", script.name, folder=script.parent)
            else:
                servers.mysql(self.socket, database=make_url(self.database).database or "", file=script)

    def execute(self, statements: str) -> None:
        """Changes the database. Names are in double quotes, and backslashes are plain characters."""
        if self.socket is None:
            servers.psql(make_url(self.database), "-v", "ON_ERROR_STOP=1", "-c", statements)
        else:
            mode = "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES';\n"
            servers.mysql(self.socket, mode + statements, make_url(self.database).database or "")


@contextmanager
def postgresql() -> Iterator[URL]:
    """Starts PostgreSQL, and yields its URL."""
    with reachable_folder() as folder:
        folder.chmod(0o755)
        with installed_postgres(folder, tls=False) as url:
            yield make_url(url)


@contextmanager
def on_postgresql(
    version: str, server: URL, folder: Path, *, notifies: bool = False, **settings: str
) -> Iterator[RealSource]:
    """Starts a server of Hive on a new database. `notifies`: it writes a notification log."""
    url = empty_on_postgresql(version, server, f"hive_{folder.name}")
    # Hive 3.1 compares keys of the type DATE with parameters that its driver sends as texts.
    address = f"jdbc:postgresql://{url.host}:{url.port}/{url.database}?stringtype=unspecified"
    jdbc = servers.Jdbc(address, str(url.username), str(url.password))
    database = url.render_as_string(False)
    with _running(version, jdbc, database, folder, notifies=notifies, **settings) as source:
        yield source


def empty_on_postgresql(version: str, server: URL, prefix: str) -> URL:
    """Creates a database by Hive's scripts, and returns its URL."""
    name = f"{prefix}_{version.replace('.', '_')}"
    url = server.set(database=name, drivername="postgresql")
    execute(server.render_as_string(False), f'CREATE DATABASE "{name}"')
    for script in servers.scripts(version, "postgres"):
        servers.psql(url, "-f", script.name, folder=script.parent)
    return url


@contextmanager
def on_mariadb(
    version: str, server: servers.Jdbc, socket: Path, folder: Path, *, notifies: bool = False, **settings: str
) -> Iterator[RealSource]:
    """Starts a server of Hive on a new database, whose texts are latin1, as Hive's scripts create them."""
    name = empty_on_mariadb(version, socket, f"hive_{folder.name}")
    jdbc = servers.Jdbc(server.url + name, server.user, server.password)
    with _running(version, jdbc, reached_on_mariadb(server, name), folder, notifies=notifies, **settings) as source:
        yield replace(source, socket=socket)


def empty_on_mariadb(version: str, socket: Path, prefix: str) -> str:
    """Creates a database by Hive's scripts, and returns its name."""
    name = f"{prefix}_{version.replace('.', '_')}"
    servers.mysql(socket, f"CREATE DATABASE {name} CHARACTER SET latin1 COLLATE latin1_bin")
    for script in servers.scripts(version, "mysql"):
        servers.mysql(socket, database=name, file=script)
    return name


def reached_on_mariadb(server: servers.Jdbc, name: str) -> str:
    """Returns the URL of a database, as an import takes it."""
    return server.url.replace("jdbc:mysql://", f"mysql://{server.user}:{server.password}@") + name


@contextmanager
def _running(
    version: str, jdbc: servers.Jdbc, database: str, folder: Path, *, notifies: bool, **settings: str
) -> Iterator[RealSource]:
    files = folder / "theirs"
    options = {WAREHOUSE: f"file:{files}", **settings}
    with servers.running(version, folder / "hive", jdbc, notifies=notifies, **options) as hive:
        yield RealSource(version, hive, jdbc, database, files)


class Databases:
    """PostgreSQL and MariaDB, started when they are needed first."""

    def __enter__(self) -> Databases:
        self._stack = ExitStack()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def postgresql(self) -> URL:
        return self._stack.enter_context(postgresql())

    @cached_property
    def mariadb(self) -> servers.MariaDb:
        """Skips the test if it is not installed."""
        folder = self._stack.enter_context(reachable_folder())
        folder.chmod(0o755)
        try:
            return self._stack.enter_context(servers.mariadb_server(folder / "mariadb"))
        except UnavailableError as error:
            pytest.skip(str(error))

    @contextmanager
    def source(self, kind: str, version: str, folder: Path, **settings: str) -> Iterator[RealSource]:
        """Starts a server of Hive with a notification log. `kind`: of the database."""
        if kind == "postgresql":
            opened = on_postgresql(version, self.postgresql, folder, notifies=True, **settings)
        else:
            server = self.mariadb
            opened = on_mariadb(version, server.jdbc, server.socket, folder, notifies=True, **settings)
        with opened as source:
            yield source

    def kill(self, kind: str) -> None:
        """Kills the database with SIGKILL, and starts it again."""
        if kind == "mariadb":
            self.mariadb.kill()
            self.mariadb.start()
            return
        url = self.postgresql.set(drivername="postgresql").render_as_string(hide_password=False)
        with closing(psycopg2.connect(url)) as link, link.cursor() as cursor:
            os.kill(link.info.backend_pid, signal.SIGKILL)  # then PostgreSQL ends all sessions, and recovers
            with suppress(psycopg2.Error):
                cursor.execute("SELECT 1")
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with suppress(psycopg2.Error):
                psycopg2.connect(url).close()
                return
            time.sleep(0.1)
