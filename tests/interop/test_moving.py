"""Imports from real metastores: schemas that Hive's scripts create, filled by rows or by Hive's own servers.

`METASTORE_TEST_INTEROP_TABLES` and `METASTORE_TEST_INTEROP_PARTITIONS` set the size of the catalog.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy.engine import URL, make_url

from metastore import errors
from metastore.cli.commands import run
from metastore.importing.sources.objects import Selection, Stage
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.texts import NUL
from tests.fixtures.database import reachable_folder
from tests.fixtures.server import connected, running
from tests.interop import locations, odd_rows, transactions
from tests.interop import mariadb as maria
from tests.interop.hive_schema import servers
from tests.interop.hive_schema.catalog import fill as fill_catalog
from tests.interop.hive_schema.comparison import unexplained
from tests.interop.hive_schema.reads import everything
from tests.interop.maven import UnavailableError
from tests.interop.sources import (
    VERSIONS,
    RealSource,
    empty_on_mariadb,
    empty_on_postgresql,
    on_mariadb,
    on_postgresql,
    postgresql,
    reached_on_mariadb,
)
from tests.wire.importing.filling import fill
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

pytestmark = pytest.mark.timeout(1800)
TABLES = int(os.environ.get("METASTORE_TEST_INTEROP_TABLES", "40"))
PARTITIONS = int(os.environ.get("METASTORE_TEST_INTEROP_PARTITIONS", "5000"))
HIDDEN = "/(bitVectors|histogram)$"
"""Fields of statistics that Hive 3 and 4 return only with a setting."""
ACID = {"2.3": transactions.of_hive_2, "3.1": transactions.of_hive_3, "4.0": transactions.of_hive_4}


@pytest.fixture(scope="module")
def mariadb() -> Iterator[tuple[Path, int]]:
    with tempfile.TemporaryDirectory() as name:
        try:
            with maria.mariadb(Path(name)) as port:
                yield Path(name), port
        except UnavailableError as error:
            pytest.skip(str(error))


@pytest.mark.parametrize("version", maria.SCRIPTS)
def test_a_source_on_mysql_is_imported(
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


KINDS = ("TYPE", "RULE", "VERSION", "FORMAT", "STATE", "ENGINE", "MESSAGE", "TOKEN_IDENT", "LOW_VALUE", "HIGH_VALUE")
"""Endings of columns whose texts the import interprets, or that are large binary objects."""


@pytest.mark.parametrize("encoding", ["utf-8", "latin1"])
def test_every_text_of_a_latin1_database_is_read_as_it_was_written(
    mariadb: tuple[Path, int], encoding: str, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most clients of Hive write UTF-8 into latin1 columns. Those that write latin1 must not lose a text."""
    source = maria.hive_on_mariadb(*mariadb, "3.1", name=f"texts_{encoding.replace('-', '')}")
    fill(source, f"file:{tmp_path}/theirs", transactions=False)
    suffix = "ä".encode(encoding) if encoding == "utf-8" else "ä¤".encode(encoding)
    latin1 = """
        SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS
        WHERE TABLE_SCHEMA = DATABASE() AND CHARACTER_SET_NAME = 'latin1' ORDER BY 1, 2
    """
    columns = [column for column in source.rows(latin1) if not column[1].endswith(KINDS) and column[0] != "CTLGS"]
    columns = [column for column in columns if not column[1].endswith(("CTLG_NAME", "CAT_NAME"))]
    for table, column in columns:
        value = f'CONCAT("{column}", CONVERT(%s USING binary))'
        source.execute(f'UPDATE "{table}" SET "{column}" = {value} WHERE "{column}" IS NOT NULL', suffix)
    source.execute('DELETE FROM "PART_PRIVS"')  # they name partitions by values, which no longer give the names
    source.execute("""UPDATE "DBS" SET "NAME" = 'default' WHERE "NAME" LIKE 'default%%' """)
    if encoding == "latin1":
        source.insert("TABLE_PARAMS", TBL_ID=2, PARAM_KEY="literal", PARAM_VALUE="ä")
    assert run(["import", "plan", source.url, "--database-url", database_url, "--warehouse", str(tmp_path)]) == 0
    plan = capsys.readouterr().out
    copy(source.url, database_url)
    with closing(open_source(source.url)) as opened_source:
        objects = [
            one
            for stage in Stage
            if stage is not Stage.EVENTS
            for batch in opened_source.read(stage, "", Selection())
            for one in batch.objects
        ]
    texts = repr(objects)
    with running(database_url, tmp_path) as server:
        assert compare(source.url, server.uri) == []
        with connected(server) as client:
            (name,) = [name for name in client.get_all_databases() if name.startswith("sales")]
            plain = client.get_table(name, f"plain{name[5:]}")
            assert len(client.get_partition_names(name, f"logs{name[5:]}", -1)) == 35
    if encoding == "utf-8":
        assert "Ã" not in texts
        assert plain.owner == "meä"
        assert "is read as UTF-8" in plan
    else:
        assert plain.owner == "meä¤"
        assert repr("ä".encode().decode("latin1")) in texts
        assert "most texts of this database are latin1" in plan
    check_that_the_encoding_stays(source, database_url, encoding.replace("-", ""))


def check_that_the_encoding_stays(source: maria.MySqlHiveDatabase, target: str, encoding: str) -> None:
    """A later run reads texts as the first one did, although most texts have changed; another encoding is refused."""
    for number in range(2_000):
        text = "ä".encode("utf-8" if encoding == "latin1" else "latin1")
        source.insert("DATABASE_PARAMS", DB_ID=1, PARAM_KEY=f"later{number}", PARAM_VALUE=text)
    copy(source.url, target)
    with opened(target) as store, store.read() as work:
        (state,) = work.imports.all()
    assert state.options["text_encoding"] == encoding
    other = "latin1" if encoding == "utf8" else "utf8"
    assert run(["import", "run", source.url, "--database-url", target, "--text-encoding", other]) == 1


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
    """Fills Hive's server through Thrift and its database, moves it, and compares: the databases, the servers by the
    importer's forms, and the raw replies of both servers.
    """
    on_mariadb = source.database.startswith("mysql")
    with connected(source.hive, ThriftHiveMetastore) as client:
        fill_catalog(client, TABLES, PARTITIONS, indexes=source.version == "2.3")
        locations.create(client)
        source.execute("\n".join(locations.statements(ascii_only=on_mariadb)))
        theirs = everything(client)
        marks_of = ACID[source.version](client)  # clients without capabilities cannot read these tables
    files = content_of(source.files)
    assert run(["import", "plan", source.database, "--database-url", target, "--warehouse", str(folder / "ours")]) == 0
    assert run(["import", "run", source.database, "--database-url", target]) == 0
    with running(target, folder) as server, connected(server, ThriftHiveMetastore) as client:
        assert compare(source.database, server.uri) == []
        differences = compare(source.hive.uri, server.uri)
        # Hive 2.3 on PostgreSQL fails to read skewed tables.
        unreadable = "skewed" if source.version == "2.3" and not on_mariadb else "\0"
        assert [one for one in differences if unreadable not in one.object] == []
        readable = {label: reply for label, reply in theirs.items() if unreadable not in label}
        ours = {label: reply for label, reply in everything(client).items() if label in readable}
        assert ours.pop("get_all_databases()") == sorted([*readable.pop("get_all_databases()"), transactions.DATABASE])
        assert unexplained(source.version, ours, readable, HIDDEN) == {}
        with connected(source.hive, ThriftHiveMetastore) as hive:
            assert marks_of(client) == marks_of(hive)
    assert content_of(source.files) == files


@pytest.fixture(scope="module")
def filled(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The database of a server of ours with objects of every kind."""
    url = make_database()
    with running(url, tmp_path_factory.mktemp("filled")) as server, connected(server, ThriftHiveMetastore) as client:
        fill_catalog(client, TABLES, PARTITIONS, indexes=False)
    return url


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"])
@pytest.mark.parametrize("version", VERSIONS)
def test_odd_rows_are_imported_or_reported(
    version: str,
    dialect: str,
    filled: str,
    request: pytest.FixtureRequest,
    database_url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The rows of an export of ours, in Hive's own schema, and rows as old sites have them.

    On MariaDB, the export writes latin1, so that the text in UTF-8 is an exception.
    """
    file = tmp_path / "rows.sql"
    options = ["--schema", version, "--dialect", dialect, "--database-url", filled]
    assert run(["export", "--hive-sql", str(file), *options]) == 0
    if dialect == "mysql":
        jdbc, socket = request.getfixturevalue("real_mariadb")
        name = empty_on_mariadb(version, socket, "odd")
        servers.mysql(socket, database=name, file=file)
        servers.mysql(socket, odd_rows.statements(dialect), name)
        source = reached_on_mariadb(jdbc, name)
    else:
        url = empty_on_postgresql(version, request.getfixturevalue("postgres"), "odd")
        servers.psql(url, "-f", str(file))
        source = url.render_as_string(hide_password=False)
        servers.psql(url, "-v", "ON_ERROR_STOP=1", "-c", odd_rows.statements(dialect))
    capsys.readouterr()
    encoding = ["--text-encoding", "utf8"] if dialect == "mysql" else []
    assert run(["import", "plan", source, "--database-url", database_url, "--warehouse", str(tmp_path), *encoding]) == 0
    plan = capsys.readouterr().out
    expected = odd_rows.PLANNED | (odd_rows.PLANNED_ON_MARIADB if dialect == "mysql" else set())
    assert [kind for kind in expected if kind not in plan] == []
    assert run(["import", "run", source, "--database-url", database_url, *encoding]) == 0
    assert odd_rows.missing_findings(database_url) == {}
    with running(database_url, tmp_path) as server:
        assert run(["import", "verify", source, "--uri", server.uri, "--database-url", database_url]) == 0
        with connected(server) as client:
            assert client.get_table("sales", "plain_0").parameters["utf8"] == odd_rows.TEXT
            assert client.get_table("sales", "odd/name").createTime


def content_of(folder: Path) -> dict[str, str]:
    """Returns all paths below a folder, with digests of the files."""
    paths = sorted(folder.rglob("*"))
    return {str(path): sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for path in paths}
