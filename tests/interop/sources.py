"""Hive's own metastores as sources of imports: on PostgreSQL and MariaDB, with an empty schema of their version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import URL, make_url

from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.real_hive import RealHive
from tests.interop.hive_schema import servers

VERSIONS = tuple(servers.SCRIPTS)
WAREHOUSE = "hive.metastore.warehouse.dir"


@dataclass(frozen=True)
class RealSource:
    """A server of Hive. `database`: the URL of its database, as an import takes it. `files`: its warehouse."""

    version: str
    hive: RealHive
    database: str
    files: Path


@contextmanager
def postgresql() -> Iterator[URL]:
    """Starts PostgreSQL, and yields its URL."""
    with reachable_folder() as folder:
        folder.chmod(0o755)
        with installed_postgres(folder, tls=False) as url:
            yield make_url(url)


@contextmanager
def on_postgresql(version: str, server: URL, folder: Path, *, notifies: bool = False) -> Iterator[RealSource]:
    """Starts a server of Hive on a new database. `notifies`: it writes a notification log."""
    name = f"hive_{version.replace('.', '_')}_{folder.name}"
    url = server.set(database=name)
    execute(server.render_as_string(False), f'CREATE DATABASE "{name}"')
    for script in servers.scripts(version, "postgres"):
        servers.psql(url, "-f", script.name, folder=script.parent)
    jdbc = servers.Jdbc(f"jdbc:postgresql://{url.host}:{url.port}/{name}", str(url.username), str(url.password))
    database = url.set(drivername="postgresql").render_as_string(False)
    with _running(version, jdbc, database, folder, notifies=notifies) as source:
        yield source


@contextmanager
def on_mariadb(version: str, server: servers.Jdbc, socket: Path, folder: Path) -> Iterator[RealSource]:
    """Starts a server of Hive on a new database, whose texts are latin1, as Hive's scripts create them."""
    name = empty_on_mariadb(version, socket, "hive")
    jdbc = servers.Jdbc(server.url + name, server.user, server.password)
    with _running(version, jdbc, reached_on_mariadb(server, name), folder) as source:
        yield source


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
    version: str, jdbc: servers.Jdbc, database: str, folder: Path, *, notifies: bool = False
) -> Iterator[RealSource]:
    files = folder / "theirs"
    options = {WAREHOUSE: f"file:{files}"}
    with servers.running(version, folder / "hive", jdbc, notifies=notifies, **options) as hive:
        yield RealSource(version, hive, database, files)
