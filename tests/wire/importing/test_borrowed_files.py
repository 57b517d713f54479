"""Files of imported databases belong to their source until the switch: nothing here touches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metastore.domain.names import DatabaseName
from metastore.importing.attached_objects import BEYOND
from metastore.importing.follower.follower import REFUSED
from metastore.importing.follower.replay import drop_database
from metastore.importing.target import OWN_FILES
from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import table
from tests.wire.importing.followers import follower
from tests.wire.importing.moving import copy, opened
from thrift_idl.gen.hive_metastore.ttypes import Database, InvalidOperationException, MetaException
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, CleanRequest


@pytest.fixture
def files(hive: HiveDatabase, tmp_path: Path) -> Path:
    """The files of the source: of each table and partition, and an empty directory that no object uses."""
    root = tmp_path / "theirs"
    prefix = f"file:{root}/"
    for (location,) in hive.rows('SELECT "LOCATION" FROM "SDS" WHERE "LOCATION" IS NOT NULL'):
        if location.startswith(prefix):
            folder = root / location.removeprefix(prefix)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "data").write_text("x")
    (root / "sales.db" / "unused").mkdir()
    (root / "other.db" / "empty").mkdir(parents=True)
    return root


@pytest.fixture
def server(hive: HiveDatabase, files: Path, database_url: str, tmp_path: Path) -> Iterator[Server]:
    copy(hive.url, database_url)
    # Without retention, a drop would delete files at once.
    with running(database_url, tmp_path, "--drop-retention", "0") as server:
        yield server


def listing(files: Path) -> list[str]:
    return sorted(str(path) for path in files.rglob("*"))


def test_clients_cannot_change_the_databases(server: Server, files: Path) -> None:
    before = listing(files)
    with connected(server) as client:
        renamed = client.get_table("sales", "plain")
        renamed.tableName = "renamed"
        changes: list[Callable[[], object]] = [
            lambda: client.drop_table("sales", "plain", True),
            lambda: client.drop_partition("sales", "logs", ["1", "3"], True),
            lambda: client.drop_database("sales", True, True),
            lambda: client.alter_table("sales", "plain", renamed),
            lambda: client.truncate_table("sales", "spark", None),
            lambda: client.create_table(table("sales", "mine")),
        ]
        for change in changes:
            with pytest.raises((InvalidOperationException, MetaException), match="was imported from the metastore "):
                change()
        assert client.get_table("sales", "plain").tableName == "plain"
    assert listing(files) == before


def test_drops_without_clients_leave_the_files(server: Server, files: Path) -> None:
    before = listing(files)
    with opened(server.database_url) as store, store.transaction() as work:
        drop_database(work, DatabaseName("hive", "sales"))
    with connected(server) as client:
        client.clean(CleanRequest(graceMillis=0, unregistered=True))
        assert "sales" not in client.get_all_databases()
    assert listing(files) == before


def test_check_and_clean_leave_them_alone(server: Server, files: Path) -> None:
    before = listing(files)
    with connected(server) as client:
        result = client.check_files(CheckFilesRequest(repair=True))
        assert [problem.location for problem in result.problems if str(files) in problem.location] == []
        client.clean(CleanRequest(graceMillis=0, unregistered=True))
    assert listing(files) == before


def test_an_own_database_inside_of_a_borrowed_one(server: Server, files: Path) -> None:
    """The database `default` of the source contains the directory. The nearest database decides."""
    with connected(server) as client:
        client.create_database(Database(name="own", locationUri=f"file:{files}/own.db"))
        client.create_table(table("own", "t"))
        assert (files / "own.db" / "t").is_dir()
        client.drop_table("own", "t", True)
        assert not (files / "own.db" / "t").exists()


def test_after_the_switch_the_files_are_ours(server: Server, files: Path) -> None:
    with opened(server.database_url) as store, store.transaction() as work:
        names = [DatabaseName("hive", "sales"), DatabaseName("hive", "default")]
        work.imports.switch(work.imports.all()[0].id, names)
    with connected(server) as client:
        client.drop_table("sales", "plain", True)
        client.drop_table("sales", "far", True)
    assert not (files / "sales.db" / "plain").exists()
    assert (files / "sales.db" / "spark" / "data").exists()


def test_a_source_does_not_take_directories_of_tables_that_are_here(
    hive: HiveDatabase, database_url: str, tmp_path: Path
) -> None:
    """A hostile source names them. Tables of the source there would let their owners move and delete the files."""
    with running(database_url, tmp_path, "--drop-retention", "0") as server, connected(server) as client:
        client.create_database(Database("mine"))
        home = client.get_database("mine").locationUri
        for name in ("t", "u"):
            client.create_table(table("mine", name))
        move = 'UPDATE "SDS" SET "LOCATION" = %s WHERE "LOCATION" LIKE %s'
        hive.execute(move, f"{home}/t", "%/sales.db/plain")
        hive.execute('UPDATE "DBS" SET "DB_LOCATION_URI" = %s WHERE "NAME" <> \'sales\'', home)
        state = copy(hive.url, database_url, "sales")
        hive.execute(move, f"{home}/u/x", "%/sales.db/logs/ds=1/hr=2")
        with follower(hive.url, database_url) as one:
            one.catch_up(whole=True)
        with opened(database_url) as store, store.read() as work:
            found = {(one.kind, one.object) for one in work.imports.findings(state.id)}
        assert {(OWN_FILES, "sales.plain"), (REFUSED, "sales.logs")} <= found
        assert (BEYOND, "delegation tokens and master keys") in found
        assert client.get_master_keys() == client.get_all_token_identifiers() == []
        assert "plain" not in client.get_all_tables("sales")
        renamed = client.get_table("mine", "t")
        renamed.tableName = "t2"
        client.alter_table("mine", "t", renamed)
        client.drop_table("mine", "u", True)
    assert {path.name for path in Path(home.removeprefix("file:")).iterdir()} == {"t2"}
