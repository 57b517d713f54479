"""Files follow the catalog, after the death of any process at any step, and after the loss of any reply to COMMIT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg2  # type: ignore[import-untyped] # it has no types
import pytest
from psycopg2.extensions import cursor
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.encoding.binary import EncodedList, EncodedStruct
from metastore.errors import ConnectionLostError
from metastore.settings import Settings
from metastore.storage.postgres import clock
from metastore.storage.queries.file_operations import ASYNCHRONOUS_COMMIT
from tests.fixtures.application import called, cursors
from tests.wire.builders import descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    Catalog,
    CreateCatalogRequest,
    Database,
    GetCatalogRequest,
    Partition,
    Table,
)
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CheckFilesRequest,
    CleanRequest,
    PublishMode,
    PublishPartition,
    PublishRequest,
)

pytestmark = pytest.mark.slow

KEYS = [("ds", "string")]


class Killed(BaseException):
    """Kills the process as kill -9 does: no cleanup runs."""


class Installation:
    """A metastore, its warehouse, and tables with rows. Each file contains the name of its owner."""

    def __init__(self, database_url: str, folder: Path, undrop: float = 0.0) -> None:
        self.warehouse = folder / "warehouse"
        self.uri = str(self.warehouse)
        self.steps: list[str] = []
        self.die_at: str | None = None
        self.write: str | None = None
        self.is_published = False
        settings = Settings(
            warehouse=str(self.warehouse),
            allowed_locations=str(folder),
            database_url=database_url,
            drop_retention=undrop,
        )
        self.application = Application(settings, database_url, self.step)
        self.application.services.databases.bootstrap()
        self.fill()

    def call(self, name: str, *arguments: Any) -> Any:
        """Answers a call as the server would."""
        actual = called(self.application, name, *arguments)
        return actual.decode() if isinstance(actual, EncodedStruct | EncodedList) else actual

    def put(self, location: str, text: str) -> None:
        """Writes a file of rows, as an engine does."""
        folder = self.warehouse / location
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rows").write_text(text)

    def fill(self) -> None:
        """Creates three databases, and four tables with rows."""
        for name in ("db", "other", "doomed"):
            self.call("create_database", Database(name))
        for name in ("db.plain", "db.days", "db.more", "doomed.t"):
            self.call("create_table", table(*name.split("."), KEYS if name in ("db.days", "db.more") else ()))
        for day in ("1", "2"):
            self.call("add_partition", partition("db", "days", [day]))
        for location in ("db.db/plain", "db.db/days/ds=1", "db.db/days/ds=2", "doomed.db/t"):
            self.put(location, location)

    def step(self, name: str) -> None:
        self.steps.append(name)
        if self.die_at == name:
            raise Killed(name)

    def recover(self) -> None:
        """Does what the next server does."""
        self.die_at = None
        self.application.journal.recover()
        self.call("clean", CleanRequest(graceMillis=0))

    def objects(self) -> dict[str, set[str]]:
        """Returns the locations in the catalog, and the rows that are read there."""
        actual = {}
        for each in self.call("get_catalogs").names:
            if each != "hive":
                actual[self.call("get_catalog", GetCatalogRequest(each)).catalog.locationUri] = set()
        for database in self.call("get_all_databases"):
            actual[self.call("get_database", database).locationUri] = set()
            for name in self.call("get_all_tables", database):
                one = self.call("get_table", database, name)
                actual[one.sd.location] = set() if one.partitionKeys else self.rows(one)
                for each in self.call("get_partitions", database, name, -1) if one.partitionKeys else ():
                    actual[each.sd.location] = self.rows(each)
        return actual

    def rows(self, of: Table | Partition) -> set[str]:
        directory = Path(of.sd.location.removeprefix("file:"))
        assert directory.is_dir(), f"{directory} is missing"
        return {path.read_text() for path in directory.iterdir() if path.is_file()}

    def agrees(self) -> None:
        """Checks that every object has its directory, every directory its object, and that the journal is empty."""
        places = {value.removeprefix("file:") for value in self.objects()}
        assert {location for location in places if not Path(location).is_dir()} == set()
        there = {str(path) for path in self.warehouse.rglob("*") if path.is_dir() and "/.metastore_" not in str(path)}
        above = {str(parent) for location in places for parent in Path(location).parents}
        assert there - places - above == set()
        trash = self.warehouse.parent / ".metastore_trash"
        assert [*trash.glob("*"), *(self.warehouse / ".metastore_trash").glob("*")] == []
        assert self.call("check_files", CheckFilesRequest()).problems == []
        with self.application._store.read() as work:
            query = text("SELECT kind, location, reason, error FROM file_operations WHERE kind <> 'moved'")
            assert [tuple(row) for row in work.connection.execute(query)] == []


@pytest.fixture
def installation(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    installation = Installation(database_url, tmp_path)
    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    installation.steps.clear()
    yield installation
    installation.application.close()


def renamed(installation: Installation, database: str, name: str) -> None:
    one = installation.call("get_table", "db", "days")
    one.dbName, one.tableName = database, name
    installation.call("alter_table", "db", "days", one)


def published(installation: Installation) -> None:
    """Overwrites day 1, as our client does. The old data are retired."""
    if installation.write is None:
        installation.write = installation.call("begin_write", BeginWriteRequest("db", "days")).queryId
    location = f"db.db/days/_versions/{installation.write}/ds=1"
    installation.put(location, "new")
    entry = PublishPartition(["1"], PublishMode.OVERWRITE, f"{installation.uri}/{location}", [])
    installation.call("publish", PublishRequest("db", "days", installation.write, [entry]))
    installation.is_published = True


def cleaned(installation: Installation) -> None:
    if not installation.is_published:
        published(installation)
    for location in installation.call("clean", CleanRequest(graceMillis=0)).locations:
        if location.error:
            raise ConnectionLostError(location.error)


CALLS: dict[str, Callable[[Installation], object]] = {
    "create_database": lambda installation: installation.call("create_database", Database("new")),
    "create_catalog": lambda installation: installation.call("create_catalog", CreateCatalogRequest(Catalog("new"))),
    "create_table": lambda installation: installation.call("create_table", table("db", "new")),
    "create_table elsewhere": lambda installation: installation.call(
        "create_table", table("db", "new", sd=descriptor(f"{installation.uri}/a/b/c"))
    ),
    "add_partition": lambda installation: installation.call("add_partition", partition("db", "days", ["3"])),
    "add_partitions": lambda installation: installation.call(
        "add_partitions", [partition("db", "days", [n]) for n in "34567"]
    ),
    "drop_table": lambda installation: installation.call("drop_table", "db", "plain", True),
    "drop_table of partitions": lambda installation: installation.call("drop_table", "db", "days", True),
    "drop_partition": lambda installation: installation.call("drop_partition", "db", "days", ["1"], True),
    "drop_database": lambda installation: installation.call("drop_database", "doomed", True, True),
    "truncate": lambda installation: installation.call("truncate_table", "db", "days", None),
    "rename table": lambda installation: renamed(installation, "other", "t2"),
    "rename partition": lambda installation: installation.call(
        "rename_partition", "db", "days", ["1"], partition("db", "days", ["9"], sd=descriptor(None))
    ),
    "publish": lambda installation: published(installation),
    "clean": lambda installation: cleaned(installation),
    "exchange": lambda installation: installation.call("exchange_partitions", {"ds": "1"}, "db", "days", "db", "more"),
}
MAKING = ("intended", "made")
REMOVING = ("committed", "claimed", "put away", "removed", "done")
MOVING = ("committed", "claimed", "moved", "done")
STEPS = {
    name: MAKING if name.startswith(("create", "add")) else MOVING if name.startswith(("rename", "ex")) else REMOVING
    for name in CALLS
    if name != "publish"  # leaves files to the cleaners
}


def commits(name: str) -> int:
    """The number of consecutive commits of a call that are lost."""
    return 2 if name == "publish" or STEPS[name] == MAKING else 3


LEFT = {  # rows that exist afterwards
    "drop_table": {"db.db/days/ds=1", "db.db/days/ds=2", "doomed.db/t"},
    "drop_table of partitions": {"db.db/plain", "doomed.db/t"},
    "drop_partition": {"db.db/plain", "db.db/days/ds=2", "doomed.db/t"},
    "drop_database": {"db.db/plain", "db.db/days/ds=1", "db.db/days/ds=2"},
    "truncate": {"db.db/plain", "doomed.db/t"},
    "publish": {"db.db/plain", "new", "db.db/days/ds=2", "doomed.db/t"},
    "clean": {"db.db/plain", "new", "db.db/days/ds=2", "doomed.db/t"},
}
ALL = {"db.db/plain", "db.db/days/ds=1", "db.db/days/ds=2", "doomed.db/t"}


def rows(installation: Installation) -> set[str]:
    return {row for each in installation.objects().values() for row in each}


@pytest.mark.parametrize(("name", "step"), [(name, step) for name, steps in STEPS.items() for step in steps])
def test_after_any_crash_catalog_and_disk_agree(name: str, step: str, installation: Installation) -> None:
    before = set(installation.objects())
    installation.die_at = step
    with pytest.raises(Killed):
        CALLS[name](installation)
    installation.recover()
    installation.agrees()
    if step in MAKING:
        assert set(installation.objects()) == before
        CALLS[name](installation)
        installation.agrees()
        assert set(installation.objects()) > before
    assert rows(installation) == LEFT.get(name, ALL)


def forgetting(installation: Installation, step: str) -> Callable[[str], None]:
    """Returns an `on_step` function: at this step, PostgreSQL crashes and loses asynchronous commits."""

    def run(statement: str) -> None:
        with installation.application._store.transaction() as work:
            work.connection.execute(text(statement))

    def told(name: str) -> None:
        if name == "committed":
            run("DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT * FROM file_operations")
        if name == step:
            run("DELETE FROM file_operations; INSERT INTO file_operations OVERRIDING SYSTEM VALUE SELECT * FROM kept")
            raise Killed(name)

    return told


@pytest.mark.parametrize(
    ("name", "step"),
    [("drop_table", "put away"), *((name, steps[-1]) for name, steps in STEPS.items() if steps != MAKING)],
)
def test_notes_that_were_lost_are_not_needed(name: str, step: str, installation: Installation) -> None:
    installation.application.journal._step = installation.application.journal._runner._step = forgetting(
        installation, step
    )
    with pytest.raises(Killed):
        CALLS[name](installation)
    installation.application.journal._step = installation.application.journal._runner._step = installation.step
    installation.recover()
    installation.agrees()
    assert rows(installation) == LEFT.get(name, ALL)


def test_a_directory_with_a_lost_note_is_created_again(installation: Installation) -> None:
    """Nothing is left if the call is not repeated."""

    def told(name: str) -> None:
        installation.steps.append(name)
        if installation.steps.count(name) == 1 and name == "made":
            with installation.application._store.transaction() as work:
                work.connection.execute(text("DELETE FROM file_operations"))

    installation.application.journal._step = told
    installation.call("create_table", table("db", "new"))
    assert installation.steps.count("made") == 2
    installation.agrees()


def test_a_truncation_does_not_remove_later_files(installation: Installation) -> None:
    installation.die_at = "committed"
    with pytest.raises(Killed):
        installation.call("truncate_table", "db", "plain", None)
    (installation.warehouse / "db.db/plain/new").write_text("new")
    installation.recover()
    assert rows(installation) == {"db.db/days/ds=1", "db.db/days/ds=2", "doomed.db/t", "new"}


@pytest.mark.parametrize("step", REMOVING)
def test_a_reused_name_does_not_contain_leftovers(installation: Installation, step: str) -> None:
    for drop, create, location in (
        (("drop_table", "db", "plain", True), ("create_table", table("db", "plain")), "db.db/plain"),
        (
            ("drop_partition", "db", "days", ["1"], True),
            ("add_partition", partition("db", "days", ["1"])),
            "db.db/days/ds=1",
        ),
        (("drop_database", "doomed", True, True), ("create_database", Database("doomed")), "doomed.db"),
    ):
        installation.die_at = step
        with pytest.raises(Killed):
            installation.call(*drop)
        installation.die_at = None
        installation.call(*create)
        assert list((installation.warehouse / location).iterdir()) == []
    installation.recover()
    installation.agrees()
    assert rows(installation) == {"db.db/days/ds=2"}


def test_an_alter_with_a_stale_location_uses_the_new_one(installation: Installation) -> None:
    """Alters as engines do that write statistics, and with a real move."""
    read = installation.call("get_partitions", "db", "days", -1)
    renamed(installation, "db", "weeks")
    for each in read:
        each.tableName, each.parameters = "weeks", {**each.parameters, "numRows": "7"}
        installation.call("alter_partition", "db", "weeks", each)
    installation.agrees()
    actual = installation.call("get_partitions", "db", "weeks", -1)
    assert [(each.sd.location, each.parameters["numRows"]) for each in actual] == [
        (f"file:{installation.warehouse}/db.db/weeks/ds={n}", "7") for n in "12"
    ]


@contextmanager
def lost_commit(installation: Installation, number: int, *, before: bool) -> Iterator[list[str]]:
    """Breaks the connection at the nth commit: before it reaches PostgreSQL, or before its reply arrives."""
    seen: list[str] = []

    class Cutting(cursor):  # type: ignore[misc] # it has no types
        def execute(self, statement: str, *given: Any) -> None:
            if statement.endswith("COMMIT") or ASYNCHRONOUS_COMMIT in statement:
                seen.append(statement)
                if len(seen) == number:
                    if not before:
                        super().execute(statement, *given)
                    self.connection.close()
                    raise psycopg2.OperationalError("server closed the connection unexpectedly")
            super().execute(statement, *given)

    with cursors(installation.application, Cutting):
        yield seen


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name in CALLS for number in range(1, commits(name) + 1)]
)
def test_the_answer_to_a_commit_is_lost(name: str, before: bool, number: int, installation: Installation) -> None:
    """The call succeeds, or nothing was done and it is repeated, as the dispatcher does."""
    with lost_commit(installation, number, before=before) as seen:
        for attempt in range(2):
            try:
                CALLS[name](installation)
                break
            except ConnectionLostError:
                assert before
                assert attempt == 0
    assert len(seen) >= number
    installation.recover()
    installation.agrees()
    assert rows(installation) == LEFT.get(name, ALL)
