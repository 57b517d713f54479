"""Sources that cannot be read, die in the middle, or have cleaned their log: one line, and the next run goes on."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
from sqlalchemy.engine import URL

from metastore.cli.commands import run
from metastore.errors import UnavailableError
from metastore.importing.sources import connections, database_tables, thrift_source
from metastore.importing.sources.opening import open_source
from tests.fixtures.server import connected, running
from tests.interop.sources import Databases, RealSource
from tests.wire.builders import partition, table
from tests.wire.importing.moving import compare, copy
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Database

pytestmark = pytest.mark.timeout(1800)
VERSION, NEW_VERSION = "2.3", "3.1"
PARTITIONS, BATCH = 1_000, 100
TIME_TO_LIVE = "1s"
"""Of events. The listener of Hive 2.3 cleans the log every minute."""
PATIENCE = 180.0  # seconds


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    with Databases() as databases:
        yield databases


@pytest.fixture(scope="module")
def postgres(databases: Databases) -> URL:
    return databases.postgresql


@pytest.fixture(params=["postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of the source's database."""
    return str(request.param)


@pytest.fixture
def source(kind: str, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealSource]:
    """Hive 2.3.10 with a table of many batches of partitions, and a notification log that is cleaned soon."""
    for module in (database_tables, thrift_source):
        monkeypatch.setattr(module, "_PARTITIONS", BATCH)
    settings = {"hive.metastore.event.db.listener.timetolive": TIME_TO_LIVE}
    with databases.source(kind, VERSION, tmp_path, **settings) as source:
        with connected(source.hive, ThriftHiveMetastore) as client:
            client.create_database(Database("db"))
            client.create_table(table("db", "t", [("ds", "string")]))
            client.add_partitions([partition("db", "t", [str(number)]) for number in range(PARTITIONS)])
        yield source


def line_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Runs a command that fails, and returns its only line."""
    capsys.readouterr()
    assert run(list(arguments)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line


def test_wrong_sources_are_one_line(postgres: URL, database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    url = postgres.set(drivername="postgresql")
    sources = {
        url.render_as_string(False): "is not a database of a Hive metastore: it has no table DBS",
        url.set(password="wrong").render_as_string(False): "password authentication failed",
        url.set(database="absent").render_as_string(False): 'database "absent" does not exist',
        url.set(port=1).render_as_string(False): "Connection refused",
        f"thrift://127.0.0.1:{url.port}": "",
        "thrift://127.0.0.1:1": "127.0.0.1:1",
        "jdbc:oracle:thin:@host": "is not a source",
    }
    for source, reason in sources.items():
        for command in (["plan"], ["run"], ["verify", "--uri", "thrift://127.0.0.1:1"]):
            options = [] if command[0] == "verify" else ["--database-url", database_url]
            line = line_of(capsys, "import", command[0], source, *command[1:], *options)
            assert reason in line
            assert "the-first-password" not in line
            assert "Traceback" not in line


def test_a_silent_server_is_not_awaited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_CONNECT_TIMEOUT", 1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        for kind in ("mysql", "postgresql"):
            with pytest.raises(UnavailableError, match=rf"^{kind}://u:\*\*\*@.* cannot be read: .*time"):
                open_source(f"{kind}://u:p@127.0.0.1:{port}/d")


class Death:
    """Ends the source after the first batch of partitions, and counts the partitions that are stored."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._end = end
        self.stored = 0

    def __call__(self, kind: str, number: int) -> None:
        if kind == "partitions":
            if not self.stored:
                self._end()
            self.stored += number


def died(source: str, target: str, end: Callable[[], object]) -> int:
    """Copies until the source dies. Returns the stored partitions."""
    death = Death(end)
    with pytest.raises(UnavailableError) as raised:
        copy(source, target, on_batch=death)
    assert "\n" not in str(raised.value)
    assert 0 < death.stored < PARTITIONS
    return death.stored


def goes_on(source: str, target: str, stored: int, folder: Path) -> None:
    """Copies the rest, and compares."""
    rest = Death(lambda: None)
    copy(source, target, on_batch=rest)
    assert rest.stored == PARTITIONS - stored
    with running(target, folder) as server:
        assert compare(source, server.uri) == []


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"], indirect=True)
def test_a_run_continues_after_the_database_was_killed(
    kind: str, source: RealSource, databases: Databases, database_url: str, tmp_path: Path
) -> None:
    stored = died(source.database, database_url, lambda: databases.kill(kind))
    goes_on(source.database, database_url, stored, tmp_path)


def test_a_run_continues_after_the_server_was_killed(
    source: RealSource, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = source.hive.uri

    def kill() -> None:
        source.hive.process.kill()
        source.hive.process.wait()  # until then, its port still accepts connections

    stored = died(address, database_url, kill)
    assert "refused" in line_of(capsys, "import", "run", address, "--database-url", database_url)
    with source.running_again(tmp_path / "again", notifies=True):
        goes_on(address, database_url, stored, tmp_path)


@pytest.mark.parametrize("through", ["database", "thrift"])
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"], indirect=True)
def test_a_source_that_is_upgraded_in_the_middle(
    through: str, source: RealSource, databases: Databases, kind: str, database_url: str, tmp_path: Path
) -> None:
    """The copy begins with Hive 2.3.10, and goes on with 3.1.3. Then changes of the new server are followed."""
    address = source.hive.uri if through == "thrift" else source.database

    def upgrade() -> None:
        source.hive.process.kill()
        databases.kill(kind)  # ends the importer's snapshot, which would block the scripts
        source.upgrade()

    stored = died(address, database_url, upgrade)
    with source.running_again(tmp_path / "again", NEW_VERSION, notifies=True) as hive:
        goes_on(address, database_url, stored, tmp_path)
        with connected(hive, ThriftHiveMetastore) as client, running(database_url, tmp_path) as server:
            client.drop_partition("db", "t", ["7"], True)
            client.create_table(table("db", "new"))
            assert run(["import", "follow", address, "--once", "--database-url", database_url]) == 0
            for side in (source.database, source.hive.uri):
                assert compare(side, server.uri) == []


def test_a_second_importer_is_rejected(
    source: RealSource, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []

    def second() -> None:
        for address in (source.database, source.hive.uri):
            lines.append(line_of(capsys, "import", "run", address, "--database-url", database_url))

    copy(source.database, database_url, on_batch=Death(second))
    assert lines == ["metastore: Another metastore import runs on this database. Wait until it ends"] * 2
    with running(database_url, tmp_path) as server:
        assert compare(source.database, server.uri) == []


def test_a_log_that_was_cleaned_or_has_a_gap_is_made_up_for(
    source: RealSource, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy(source.database, database_url)
    with connected(source.hive, ThriftHiveMetastore) as client, running(database_url, tmp_path) as server:
        client.drop_partition("db", "t", ["7"], True)
        client.create_table(table("db", "new"))
        until = time.monotonic() + PATIENCE
        while rows_of(source, 'SELECT 1 FROM "NOTIFICATION_LOG"') and time.monotonic() < until:
            time.sleep(1)
        assert "are missing in the log" in followed(source, database_url, capsys)
        assert compare(source.database, server.uri) == []
        for name in ("a", "b", "c"):
            client.create_table(table("db", name))
        middle = """
            DELETE FROM "NOTIFICATION_LOG"
            WHERE "EVENT_ID" = (SELECT "NEXT_EVENT_ID" - 2 FROM "NOTIFICATION_SEQUENCE")
        """
        source.execute(middle)
        assert "are missing in the log" in followed(source, database_url, capsys)
        assert compare(source.database, server.uri) == []


def followed(source: RealSource, target: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Follows once, and returns the line that says what was done."""
    capsys.readouterr()
    assert run(["import", "follow", source.database, "--once", "--database-url", target]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    return line


def rows_of(source: RealSource, query: str) -> list[tuple[object, ...]]:
    with closing(psycopg2.connect(source.database)) as link, link.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())
