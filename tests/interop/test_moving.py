"""Imports from real metastores: schemas that Hive's scripts create, filled by rows or by Hive's own servers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy.engine import URL, make_url

from metastore import errors
from metastore.cli.commands import run
from metastore.importing.sources.database_source import NUL
from metastore.importing.sources.opening import open_source
from tests.fixtures.database import execute
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.server import connected, running
from tests.interop import mariadb as maria
from tests.interop.hive_schema import servers as hive
from tests.interop.hive_schema.catalog import fill as fill_catalog
from tests.interop.maven import UnavailableError
from tests.wire.importing.filling import fill
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

TABLES, PARTITIONS = 40, 5_000
WAREHOUSE = "hive.metastore.warehouse.dir"


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
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[URL]:
    folder = tmp_path_factory.mktemp("postgres")
    for one in (folder, folder.parent, folder.parent.parent):
        one.chmod(0o755)
    (folder / "data").mkdir()
    with installed_postgres(folder / "data", tls=False) as url:
        yield make_url(url)


@pytest.mark.parametrize("version", ["2.3", "3.1", "4.0"])
def test_a_real_server_on_postgresql_moves(version: str, postgres: URL, database_url: str, tmp_path: Path) -> None:
    name = f"hive_{version.replace('.', '_')}"
    url = postgres.set(database=name)
    execute(postgres.render_as_string(False), f"CREATE DATABASE {name}")
    for script in hive.scripts(version, "postgres"):
        hive.psql(url, "-f", script.name, folder=script.parent)
    jdbc = hive.Jdbc(f"jdbc:postgresql://{url.host}:{url.port}/{name}", str(url.username), str(url.password))
    source = url.set(drivername="postgresql").render_as_string(False)
    with pytest.raises(errors.UnavailableError, match=r":\*\*\*@.* cannot be read: .*password authentication failed"):
        open_source(url.set(drivername="postgresql", password="wrong").render_as_string(False))
    moves(version, jdbc, source, database_url, tmp_path)


@pytest.mark.parametrize("version", ["2.3", "3.1", "4.0"])
def test_a_real_server_on_mariadb_moves(version: str, database_url: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    tmp_path.parent.chmod(0o755)
    tmp_path.parent.parent.chmod(0o755)
    name = f"hive_{version.replace('.', '_')}"
    try:
        with hive.mariadb(tmp_path / "mariadb") as (jdbc, socket):
            hive.mysql(socket, f"CREATE DATABASE {name} CHARACTER SET latin1 COLLATE latin1_bin")
            for script in hive.scripts(version, "mysql"):
                hive.mysql(socket, database=name, file=script)
            reached = hive.Jdbc(jdbc.url + name, jdbc.user, jdbc.password)
            source = jdbc.url.replace("jdbc:mysql://", f"mysql://{jdbc.user}:{jdbc.password}@") + name
            moves(version, reached, source, database_url, tmp_path)
    except UnavailableError as error:
        pytest.skip(str(error))


def moves(version: str, jdbc: hive.Jdbc, source: str, target: str, folder: Path) -> None:
    """Fills Hive's server through Thrift, moves its database and compares: both databases, and both servers."""
    with hive.running(version, folder / "hive", jdbc, **{WAREHOUSE: f"file:{folder}/theirs"}) as real:
        with connected(real, ThriftHiveMetastore) as client:
            fill_catalog(client, TABLES, PARTITIONS, indexes=version == "2.3")
        files = content_of(folder / "theirs")
        assert run(["import", "plan", source, "--database-url", target, "--warehouse", str(folder / "ours")]) == 0
        assert run(["import", "run", source, "--database-url", target]) == 0
        with running(target, folder) as server:
            assert compare(source, server.uri) == []
            differences = compare(real.uri, server.uri)
            # Hive 2.3 on PostgreSQL fails to read skewed tables.
            unreadable = "skewed" if (version, "postgresql" in jdbc.url) == ("2.3", True) else "\0"
            assert [one for one in differences if unreadable not in one.object] == []
        assert content_of(folder / "theirs") == files


def content_of(folder: Path) -> dict[str, str]:
    """Returns all paths below a folder, with digests of the files."""
    paths = sorted(folder.rglob("*"))
    return {str(path): sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for path in paths}
