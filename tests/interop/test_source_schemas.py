"""Schemas of Hive 2.3 to 4.1 as sources: created and upgraded by Hive's scripts, and told apart by their columns.

The scripts of 4.1 are not on Maven Central: its changes of columns that imports read are made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from metastore.cli.commands import run
from metastore.importing.sources.opening import open_source
from tests.fixtures.server import connected, running
from tests.interop.hive_schema import servers
from tests.interop.hive_schema.catalog import fill
from tests.interop.sources import Databases, empty_on_mariadb, empty_on_postgresql, reached_on_mariadb
from tests.wire.importing.moving import compare, copy
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

pytestmark = pytest.mark.timeout(1800)
TABLES, PARTITIONS = 40, 500
DROPPED_BY_4_1 = {
    "TAB_COL_STATS": ("CAT_NAME", "DB_NAME", "TABLE_NAME"),
    "PART_COL_STATS": ("CAT_NAME", "DB_NAME", "TABLE_NAME", "PARTITION_NAME"),
}


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    with Databases() as databases:
        yield databases


@pytest.fixture(scope="module")
def filled(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The database of a server of ours with objects of every kind."""
    url = make_database()
    with running(url, tmp_path_factory.mktemp("filled")) as server, connected(server, ThriftHiveMetastore) as client:
        fill(client, TABLES, PARTITIONS, indexes=False)
    return url


class Source:
    """A database with Hive's schema of 2.3 on PostgreSQL or MariaDB, filled by an export of ours."""

    def __init__(self, kind: str, databases: Databases, rows: Path) -> None:
        self._kind = kind
        if kind == "postgres":
            self._database = empty_on_postgresql("2.3", databases.postgresql, "schemas")
            self.url = self._database.render_as_string(hide_password=False)
        else:
            self._socket = databases.mariadb.socket
            self.url = reached_on_mariadb(databases.mariadb.jdbc, empty_on_mariadb("2.3", self._socket, "schemas"))
        self._load(rows)

    def upgrade(self, version: str) -> None:
        """Upgrades the schema by one version."""
        if version == "4.1":
            self._drop_columns()
        for script in servers.upgrade(version, self._kind):
            self._load(script)

    def _load(self, file: Path) -> None:
        if self._kind == "postgres":
            servers.psql(self._database, "-v", "ON_ERROR_STOP=1", "-f", file.name, folder=file.parent)
        else:
            servers.mysql(self._socket, database=make_url(self.url).database or "", file=file)

    def _drop_columns(self) -> None:
        for table, columns in DROPPED_BY_4_1.items():
            statement = f'ALTER TABLE "{table}" ' + ", ".join(f'DROP COLUMN "{column}"' for column in columns)
            if self._kind == "postgres":
                servers.psql(self._database, "-c", statement)
            else:
                servers.mysql(self._socket, statement.replace('"', ""), make_url(self.url).database or "")


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_every_schema_is_a_source(
    kind: str, databases: Databases, filled: str, make_database: Callable[[], str], tmp_path: Path
) -> None:
    rows = tmp_path / "rows.sql"
    dialect = {"postgres": "postgresql"}.get(kind, kind)
    options = ["--schema", "2.3", "--dialect", dialect, "--database-url", filled]
    assert run(["export", "--hive-sql", str(rows), *options]) == 0
    source = Source(kind, databases, rows)
    for version in ("2.3", *servers.UPGRADES, "4.1"):
        if version != "2.3":
            source.upgrade(version)
        with closing(open_source(source.url)) as opened:
            assert opened.version == version
        target = make_database()
        copy(source.url, target)
        (folder := tmp_path / version).mkdir()
        with running(target, folder) as server:
            assert compare(source.url, server.uri) == []
