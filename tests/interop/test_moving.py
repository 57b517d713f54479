"""Imports from real metastores: schemas that Hive's scripts create, filled by rows or by Hive's own servers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy.engine import URL, make_url

from metastore import errors
from metastore.cli.commands import run
from metastore.importing.sources.database_source import NUL
from metastore.importing.sources.opening import open_source
from tests.fixtures.database import reachable_folder
from tests.fixtures.server import connected, running
from tests.interop import mariadb as maria
from tests.interop import odd_rows
from tests.interop.hive_schema import servers
from tests.interop.hive_schema.catalog import fill as fill_catalog
from tests.interop.maven import UnavailableError
from tests.interop.sources import (
    VERSIONS,
    RealSource,
    empty_on_mariadb,
    on_mariadb,
    on_postgresql,
    postgresql,
    reached_on_mariadb,
)
from tests.wire.importing.filling import fill
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

pytestmark = pytest.mark.timeout(1800)
TABLES, PARTITIONS = 40, 5_000


@pytest.fixture(scope="module")
def mariadb() -> Iterator[tuple[Path, int]]:
    with tempfile.TemporaryDirectory() as name:
        try:
            with maria.mariadb(Path(name)) as port:
                yield Path(name), port
        except UnavailableError as error:
            pytest.skip(str(error))


@pytest.mark.parametrize("version", maria.SCRIPTS)
def test_a_source_on_mysql_comes_along(
    mariadb: tuple[Path, int], version: str, database_url: str, tmp_path: Path
) -> None:
    """UTF-8 texts in latin1 columns are read as UTF-8. The user may only read."""
    source = maria.hive_on_mariadb(*mariadb, version)
    fill(source, f"file:{tmp_path}/theirs", transactions=False)
    source.insert("TABLE_PARAMS", TBL_ID=1, PARAM_KEY="nul", PARAM_VALUE="a\0b")
    source.insert("PARTITION_PARAMS", PART_ID=1, PARAM_KEY="nul", PARAM_VALUE="c\0d\\u0000")
    url = source.url.replace("root@", f"{maria.USER}:{quote(maria.PASSWORD, safe='')}@")
    with pytest.raises(errors.UnavailableError, match=r"^mysql://mover:\*\*\*@.* cannot be read: Access denied"):
        open_source(url.replace(quote(maria.PASSWORD, safe=""), "wrong"))
    before = source.content()
    state = copy(url, database_url)
    assert maria.PASSWORD not in state.source
    assert source.content() == before
    with opened(database_url) as store, store.read() as work:
        findings = [finding for finding in work.imports.findings(state.id) if finding.kind == NUL]
    assert {finding.object for finding in findings} == {"a\u2400b", "c\u2400d\\u0000"}
    with running(database_url, tmp_path) as server:
        assert compare(url, server.uri) == []
        with connected(server) as client:
            plain = client.get_table("sales", "plain")
            assert plain.parameters["comment"] == "Größe"
            assert plain.parameters["nul"] == "a\u2400b"
            assert client.get_partition("sales", "logs", ["1", "0"]).parameters["nul"] == "c\u2400d\\u0000"
            assert plain.sd.cols[0].comment == "größe"
            assert client.get_partition("sales", "logs", ["a/b:c", "7"]).sd.location == "hdfs://old:8020/logs"


@pytest.fixture(scope="module")
def postgres() -> Iterator[URL]:
    with postgresql() as url:
        yield url


@pytest.mark.parametrize("version", VERSIONS)
def test_a_real_server_on_postgresql_moves(version: str, postgres: URL, database_url: str, tmp_path: Path) -> None:
    with on_postgresql(version, postgres, tmp_path) as source:
        moves(source, database_url, tmp_path)
        wrong = make_url(source.database).set(password="wrong").render_as_string(False)
        with pytest.raises(errors.UnavailableError, match=r":\*\*\*@.* cannot be read: .*password authentication"):
            open_source(wrong)


@pytest.fixture(scope="module")
def real_mariadb() -> Iterator[tuple[servers.Jdbc, Path]]:
    with reachable_folder() as folder:
        folder.chmod(0o755)
        try:
            with servers.mariadb(folder / "mariadb") as reached:
                yield reached
        except UnavailableError as error:
            pytest.skip(str(error))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_real_server_on_mariadb_moves(
    version: str, real_mariadb: tuple[servers.Jdbc, Path], database_url: str, tmp_path: Path
) -> None:
    with on_mariadb(version, *real_mariadb, tmp_path) as source:
        moves(source, database_url, tmp_path)


def moves(source: RealSource, target: str, folder: Path) -> None:
    """Fills Hive's server through Thrift, moves its database and compares: both databases, and both servers."""
    with connected(source.hive, ThriftHiveMetastore) as client:
        fill_catalog(client, TABLES, PARTITIONS, indexes=source.version == "2.3")
    files = content_of(source.files)
    assert run(["import", "plan", source.database, "--database-url", target, "--warehouse", str(folder / "ours")]) == 0
    assert run(["import", "run", source.database, "--database-url", target]) == 0
    with running(target, folder) as server:
        assert compare(source.database, server.uri) == []
        differences = compare(source.hive.uri, server.uri)
        # Hive 2.3 on PostgreSQL fails to read skewed tables.
        fails = source.version == "2.3" and source.database.startswith("postgresql")
        unreadable = "skewed" if fails else "\0"
        assert [one for one in differences if unreadable not in one.object] == []
    assert content_of(source.files) == files


@pytest.fixture(scope="module")
def filled(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The database of a server of ours with objects of every kind."""
    url = make_database()
    with running(url, tmp_path_factory.mktemp("filled")) as server, connected(server, ThriftHiveMetastore) as client:
        fill_catalog(client, TABLES, PARTITIONS, indexes=False)
    return url


@pytest.mark.parametrize("version", VERSIONS)
def test_odd_rows_on_mariadb_come_along_or_are_reported(
    version: str, filled: str, real_mariadb: tuple[servers.Jdbc, Path], database_url: str, tmp_path: Path
) -> None:
    """The rows of an export of ours, in Hive's own schema, and rows as old sites have them."""
    jdbc, socket = real_mariadb
    file = tmp_path / "rows.sql"
    options = ["--schema", version, "--dialect", "mysql", "--database-url", filled]
    assert run(["export", "--hive-sql", str(file), *options]) == 0
    name = empty_on_mariadb(version, socket, "odd")
    servers.mysql(socket, database=name, file=file)
    for statement in odd_rows.ODD_ROWS:
        servers.mysql(socket, statement, name)
    source = reached_on_mariadb(jdbc, name)
    assert run(["import", "run", source, "--database-url", database_url]) == 0
    assert odd_rows.missing_findings(database_url) == {}
    with running(database_url, tmp_path) as server:
        assert compare(source, server.uri) == []
        with connected(server) as client:
            assert client.get_table("sales", "plain_0").parameters["utf8"] == odd_rows.TEXT
            assert client.get_table("sales", "odd/name").createTime


def content_of(folder: Path) -> dict[str, str]:
    """Returns all paths below a folder, with digests of the files."""
    paths = sorted(folder.rglob("*"))
    return {str(path): sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for path in paths}
