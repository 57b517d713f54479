"""Restores after overwrites: clients rename replaced files themselves, or leave markers beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from metastore.services.files.reconciliation import ReconciliationService
from tests.fixtures.database import execute
from tests.wire.builders import descriptor, partition, table
from tests.wire.restore.catalog import TRASH, RestoredCatalog
from tests.wire.restore.test_restored_command import interrupted, reconcile
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CleanRequest,
    PublishMode,
    PublishPartition,
    PublishRequest,
    Rename,
    RenewWriteRequest,
    ScanRequest,
)

pytestmark = pytest.mark.slow
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def catalog(make_database: Callable[..., str], tmp_path: Path) -> Iterator[RestoredCatalog]:
    catalog = RestoredCatalog(make_database, tmp_path)
    catalog.create("whole", "before")
    catalog.call("create_table", table("db", "days", [("ds", "string")]))
    catalog.call("add_partitions", [partition("db", "days", [day]) for day in "12"])
    for day in "12":
        (catalog.warehouse / f"db.db/days/ds={day}/part-0").write_text(f"before {day}")
    yield catalog
    catalog.close()


class InPlace:
    """An overwrite of the table `whole`, or of the first day of `days`, as our client makes it."""

    def __init__(self, catalog: RestoredCatalog, name: str, place: Path | None = None) -> None:
        self.catalog, self.name = catalog, name
        self.query = str(catalog.call("begin_write", BeginWriteRequest("db", name)).queryId)
        root = place or catalog.warehouse / "db.db" / name
        if name == "whole":
            self.folder = root
            self.away = [(file, root / f"_temp_{self.query}" / file.name) for file in sorted(root.glob("part-*"))]
        else:
            self.folder = root / "ds=1"
            self.away = [(self.folder, root / f"_temp_{self.query}_ds~1")]
        renames = [Rename(f"file:{source}", f"file:{target}") for source, target in self.away]
        staged = f"file:{root}/_staging/{self.query}/part-{self.query}"
        renames.append(Rename(staged, f"file:{self.folder}/part-{self.query}"))
        catalog.call("renew_write", RenewWriteRequest(self.query, renames=renames))

    def rename(self) -> InPlace:
        for source, target in self.away:
            target.parent.mkdir(exist_ok=True)
            source.rename(target)
        self.folder.mkdir(exist_ok=True)
        return self

    def publish(self, text: str) -> None:
        (self.folder / f"part-{self.query}").write_text(text)
        values = [] if self.name == "whole" else ["1"]
        entry = PublishPartition(values, PublishMode.OVERWRITE, f"file:{self.folder}", [])
        retired = [f"file:{target}" for _, target in self.away]
        self.catalog.call("publish", PublishRequest("db", self.name, self.query, [entry], retired=retired))

    def undo(self) -> None:
        for source, target in self.away:
            if source.is_dir():
                source.rmdir()
            target.rename(source)


def folders(catalog: RestoredCatalog) -> list[Path]:
    return [catalog.warehouse / "db.db" / place for place in ("whole", "days/ds=1", "days/ds=2")]


def shown(catalog: RestoredCatalog) -> list[list[str]]:
    """Returns the texts of both tables, also of files that readers do not see."""
    return [catalog.rows(name) for name in ("whole", "days")]


def actions(told: str) -> list[str]:
    """Returns what was told, without names in the trash, which are random."""
    return [line.partition("\t")[2] or line for line in told.splitlines()[:-1]]


BEFORE = [["before"], ["before 1", "before 2"]]


@pytest.mark.parametrize("times", [1, 3])
def test_overwrites_in_place(catalog: RestoredCatalog, capsys: Capture, times: int) -> None:
    file = catalog.back_up()
    for number in range(times):
        for name in ("whole", "days"):
            InPlace(catalog, name).rename().publish(f"later {name} {number}")
    every = catalog.contents()
    catalog.restore(file)
    planned = reconcile(catalog, capsys, "--dry-run")
    assert catalog.rows("whole") != BEFORE[0], "nothing was changed"
    told = reconcile(catalog, capsys)
    assert actions(planned) == actions(told)
    assert shown(catalog) == BEFORE
    assert catalog.contents() == every, "later rows are in the trash"
    assert told.count("moved back from its later location") == 2
    assert not [problem for problem in catalog.check() if not problem.startswith(TRASH)]
    assert "put back" not in reconcile(catalog, capsys)
    catalog.background()
    assert shown(catalog) == BEFORE


def test_an_interrupted_run_is_continued(
    catalog: RestoredCatalog, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = catalog.back_up()
    for name in ("whole", "days", "days"):
        InPlace(catalog, name).rename().publish("later")
    catalog.restore(file)
    with monkeypatch.context() as patch:
        patch.setattr(ReconciliationService, "_restart", interrupted)
        assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) != 0
    aside = sorted((catalog.warehouse / TRASH).iterdir())
    for _ in range(2):
        reconcile(catalog, capsys)
        assert shown(catalog) == BEFORE
        assert sorted((catalog.warehouse / TRASH).iterdir()) == aside


@pytest.mark.parametrize("is_root", [True, False])
def test_a_log_that_cannot_be_written_does_not_stop_a_write(
    make_database: Callable[..., str], tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture, is_root: bool
) -> None:
    """A restore moves nothing in a table whose directory is itself a root."""
    root = tmp_path / "place"
    place = root if is_root else root / "t"
    place.mkdir(parents=True)
    catalog = RestoredCatalog(make_database, tmp_path, allowed_locations=str(root))
    sd, external = descriptor(f"file:{place}"), {"EXTERNAL": "TRUE"}
    catalog.call("create_table", table("db", "whole", sd=sd, tableType="EXTERNAL_TABLE", parameters=external))
    (place / "part-0").write_text("before")
    if not is_root:
        (root / ".metastore_moves").touch()
    file = catalog.back_up()
    write = InPlace(catalog, "whole", place)
    assert ("are not logged" in caplog.text) is not is_root
    write.rename().publish("later")
    catalog.restore(file)
    if is_root:
        reconcile(catalog, capsys, "--allowed-locations", str(root))
    assert [path.read_text() for path in place.glob("part-*")] == ["later"]
    catalog.close()


def test_an_overwrite_before_the_restored_moment(catalog: RestoredCatalog, capsys: Capture) -> None:
    for name in ("whole", "days"):
        InPlace(catalog, name).rename().publish("later")
    file, rows = catalog.back_up(), shown(catalog)
    catalog.drop("whole")
    catalog.restore(file)
    reconcile(catalog, capsys)
    assert shown(catalog) == rows


def test_overwritten_tables_that_were_dropped_or_renamed(catalog: RestoredCatalog, capsys: Capture) -> None:
    file = catalog.back_up()
    for name in ("whole", "days"):
        InPlace(catalog, name).rename().publish("later")
    catalog.drop("whole")
    renamed = catalog.call("get_table", "db", "days").decode()
    renamed.tableName = "moved"
    catalog.call("alter_table", "db", "days", renamed)
    catalog.restore(file)
    reconcile(catalog, capsys)
    assert shown(catalog) == BEFORE


def test_overwritten_tables_whose_drops_were_undone(catalog: RestoredCatalog, capsys: Capture) -> None:
    names = "whole", "days"
    for name in names:
        catalog.drop(name)
    file = catalog.back_up()
    for name in names:
        catalog.undrop(name)
        InPlace(catalog, name).rename().publish("later")
    catalog.restore(file)
    reconcile(catalog, capsys)
    for name in names:
        catalog.undrop(name)
    assert shown(catalog) == BEFORE


@pytest.mark.parametrize("end", ["undone", "never renamed", "cleaned", "killed"])
def test_overwrites_that_were_not_published(catalog: RestoredCatalog, capsys: Capture, end: str) -> None:
    file = catalog.back_up()
    for name in ("whole", "days"):
        write = InPlace(catalog, name)
        if end != "never renamed":
            write.rename()
        if end in ("killed", "cleaned"):
            (write.folder / f"part-{write.query}").write_text("half a write")
        if end == "undone":
            write.undo()
        if end in ("undone", "never renamed"):
            catalog.call("end_write", write.query)
    if end == "cleaned":
        execute(catalog.url, "UPDATE open_writes SET lease_ends_at = now() - interval '1 day'")
        catalog.call("clean", CleanRequest(graceMillis=0))
    catalog.create("lost")  # the restore must be noticed
    catalog.restore(file)
    told = reconcile(catalog, capsys)
    assert shown(catalog) == BEFORE
    assert "missing" not in told
    assert told.count("moved back from its later location") == (2 if end == "killed" else 0)


@pytest.mark.parametrize("lost", [False, True])
def test_overwrites_between_the_restore_and_the_reconciliation_stay(
    catalog: RestoredCatalog, capsys: Capture, lost: bool
) -> None:
    file = catalog.back_up()
    if lost:
        for name in ("whole", "days"):
            InPlace(catalog, name).rename().publish("later")
    catalog.create("lost")
    catalog.restore(file)
    for name in ("whole", "days"):
        InPlace(catalog, name).rename().publish(f"present {name}")
    every = catalog.contents()
    reconcile(catalog, capsys)
    visible = [sorted(file.read_text() for file in folder.glob("part-*")) for folder in folders(catalog)]
    assert visible == [["present whole"], ["present days"], ["before 2"]]
    assert catalog.contents() == every


def test_markers_of_lost_overwrites(catalog: RestoredCatalog, capsys: Capture) -> None:
    """The first overwrite of day 2 is known, and its marker stays."""

    def overwrite(day: str) -> None:
        query = catalog.call("begin_write", BeginWriteRequest("db", "days")).queryId
        root = catalog.warehouse / "db.db/days"
        place = root / "_versions" / query / f"ds={day}"
        place.mkdir(parents=True)
        (place / f"part-{query}").write_text(f"of {query}")
        entry = PublishPartition([day], PublishMode.OVERWRITE, f"file:{place}", [])
        catalog.call("publish", PublishRequest("db", "days", query, [entry]))
        for marked in (root, root / f"ds={day}"):
            if not list(marked.glob(f"{NEWER_ROWS_MARKER}*")):
                (marked / f"{NEWER_ROWS_MARKER}{query}").touch()

    def marked() -> list[str]:
        root = catalog.warehouse / "db.db/days"
        return sorted(str(file.parent.relative_to(root)) for file in root.rglob(f"{NEWER_ROWS_MARKER}*"))

    first = catalog.back_up()
    overwrite("2")
    second = catalog.back_up()
    overwrite("1")
    overwrite("2")
    assert marked() == [".", "ds=1", "ds=2"]
    catalog.restore(second)
    assert reconcile(catalog, capsys).count("deleted: the rows that it announces") == 1
    assert marked() == [".", "ds=2"]
    catalog.restore(first)
    reconcile(catalog, capsys, "--dry-run")
    assert marked() == [".", "ds=2"]
    reconcile(catalog, capsys)
    assert marked() == []


def test_markers_beside_files_that_were_put_back(catalog: RestoredCatalog, capsys: Capture) -> None:
    """The versions of the lost writes stay in the trash, because the table was used before the reconciliation."""
    file = catalog.back_up()
    root = catalog.warehouse / "db.db/days"
    for day in "12":
        query = catalog.call("begin_write", BeginWriteRequest("db", "days")).queryId
        place = root / "_versions" / query / f"ds={day}"
        place.mkdir(parents=True)
        (place / f"part-{query}").write_text("later")
        entry = PublishPartition([day], PublishMode.OVERWRITE, f"file:{place}", [])
        catalog.call("publish", PublishRequest("db", "days", query, [entry]))
        (root / f"ds={day}" / f"{NEWER_ROWS_MARKER}{query}").touch()
    catalog.drop("days")
    catalog.restore(file)
    write = catalog.call("begin_write", BeginWriteRequest("db", "days")).queryId
    (root / "ds=1").mkdir(parents=True)
    (root / "ds=1" / f"part-{write}").write_text("between")
    entry = PublishPartition(["1"], PublishMode.APPEND, f"file:{root}/ds=1", [])
    catalog.call("publish", PublishRequest("db", "days", write, [entry]))
    reconcile(catalog, capsys)
    assert sorted(path.name for path in (root / "ds=2").iterdir()) == ["part-0"]
    assert "between" in catalog.rows("days")


def test_rows_appended_since_are_shown_at_once(catalog: RestoredCatalog, capsys: Capture) -> None:
    def highest() -> int:
        return int(catalog.call("plan_scan", ScanRequest("db", "whole")).highestWrite)

    catalog.call("begin_write", BeginWriteRequest("db", "whole"))
    file = catalog.back_up()
    lost = catalog.call("begin_write", BeginWriteRequest("db", "whole")).queryId
    number = int(lost.rpartition("-")[2])
    catalog.restore(file)
    reconcile(catalog, capsys)
    assert highest() > number
    before = highest()
    new = catalog.call("begin_write", BeginWriteRequest("db", "whole")).queryId
    assert int(new.rpartition("-")[2]) > before, "readers that planned before must not see its files"
    assert not list((catalog.warehouse / TRASH).glob("*"))
