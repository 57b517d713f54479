"""`metastore db restored` puts files back that the catalog needs, and lets servers clean again."""

from __future__ import annotations

from collections.abc import Callable
from time import time

import pytest
from sqlalchemy import NullPool, create_engine, text

from metastore.services.files.reconciliation import ReconciliationService
from tests.wire.builders import partition, table
from tests.wire.restore.catalog import TRASH, RestoredCatalog
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext, NotificationEventRequest
from thrift_idl.gen.metastore.ttypes import CleanRequest

pytestmark = pytest.mark.slow
PURGE = EnvironmentContext({"ifPurge": "TRUE"})
Capture = pytest.CaptureFixture[str]


def reconcile(catalog: RestoredCatalog, capsys: Capture, *options: str) -> str:
    capsys.readouterr()
    assert catalog.command("restored", "--warehouse", str(catalog.warehouse), *options) == 0
    told = capsys.readouterr()
    return told.out + told.err


def test_dropped_tables_are_put_back(catalog: RestoredCatalog, capsys: Capture) -> None:
    for name in ("one", "two", "three"):
        catalog.create(name)
    catalog.call("create_table", table("db", "days", [("ds", "string")]))
    catalog.call("add_partitions", [partition("db", "days", [day]) for day in "12"])
    for day in "12":
        (catalog.warehouse / f"db.db/days/ds={day}/part-0").write_text(f"day {day}")
    file = catalog.back_up()
    catalog.drop("one")
    catalog.call("truncate_table", "db", "two", None)
    catalog.call("drop_table_with_environment_context", "db", "three", True, PURGE)
    catalog.call("drop_partition", "db", "days", ["1"], True)
    catalog.restore(file)
    planned = reconcile(catalog, capsys, "--dry-run")
    assert "Nothing was changed" in planned
    assert not (catalog.warehouse / "db.db/one").exists()
    told = reconcile(catalog, capsys)
    assert planned.splitlines()[:-1] == told.splitlines()[:-1]
    assert [catalog.rows(name) for name in ("one", "two", "days")] == [["one"], ["two"], ["day 1", "day 2"]]
    assert told.count("put back from the trash") == 3
    assert f"file:{catalog.warehouse}/db.db/three\tmissing" in told
    assert not list((catalog.warehouse / TRASH).iterdir())
    assert list(catalog.check()) == ["db.db/three"]
    catalog.call("clean", CleanRequest())
    assert "missing" in reconcile(catalog, capsys)
    assert reconcile(catalog, capsys).count("put back") == 0


def test_a_table_created_again_does_not_give_its_rows_to_the_restored_one(
    catalog: RestoredCatalog, capsys: Capture
) -> None:
    catalog.create("one", "before")
    file = catalog.back_up()
    catalog.drop("one")
    catalog.create("one", "later")
    catalog.restore(file)
    assert "written after the restored moment" in reconcile(catalog, capsys)
    assert catalog.rows("one") == ["before"]
    assert catalog.contents() == {"before", "later"}
    catalog.drop("one")
    catalog.undrop("one")
    assert catalog.rows("one") == ["before"]


def test_files_that_were_written_before_the_reconciliation_stay(catalog: RestoredCatalog, capsys: Capture) -> None:
    """Servers accept writes after a fail-over, until an administrator runs the command."""
    catalog.create("one", "before")
    catalog.call("create_table", table("db", "days", [("ds", "string")]))
    catalog.call("add_partitions", [partition("db", "days", [day]) for day in "12"])
    days = catalog.warehouse / "db.db/days"
    for day in "12":
        (days / f"ds={day}/part-0").write_text(f"day {day}")
    file = catalog.back_up()
    for name in ("one", "days"):
        catalog.drop(name)
    catalog.restore(file)
    catalog.call("add_partitions", [partition("db", "days", ["3"])])
    (days / "ds=3/part-0").write_text("day 3")
    (catalog.warehouse / "db.db/one").mkdir()
    (catalog.warehouse / "db.db/one/part-0").write_text("after")
    for why in ("its location has files that were written since", "kept in the trash: unknown to the catalog"):
        told = reconcile(catalog, capsys)
        assert catalog.rows("days") == ["day 1", "day 2", "day 3"]
        assert catalog.rows("one") == ["after"]
        assert f"{why}: file:{catalog.warehouse}/db.db/one" in told
    assert catalog.contents() == {"before", "after", "day 1", "day 2", "day 3"}


def test_partitions_that_were_emptied_since_do_not_get_their_old_rows(
    catalog: RestoredCatalog, capsys: Capture
) -> None:
    """An overwrite without rows leaves no file that shows it."""
    catalog.call("create_table", table("db", "days", [("ds", "string")]))
    catalog.call("add_partitions", [partition("db", "days", [day]) for day in "1234"])
    days = catalog.warehouse / "db.db/days"
    for day in "1234":
        (days / f"ds={day}/part-0").write_text(f"day {day}")
    file = catalog.back_up()
    catalog.call("drop_partition", "db", "days", ["1"], True)
    catalog.drop("days")
    catalog.restore(file)
    later = {"transient_lastDdlTime": str(int(time()) + 60)}
    for day in "12":
        catalog.call("drop_partition", "db", "days", [day], True)
        catalog.call("add_partition", partition("db", "days", [day], parameters=later))
    catalog.call("alter_partition", "db", "days", partition("db", "days", ["3"], parameters=later))
    for why in ("its partition was created or changed since", "kept in the trash: unknown to the catalog"):
        told = reconcile(catalog, capsys)
        assert catalog.rows("days") == ["day 4"], told
        assert told.count(why) >= 1
    assert catalog.contents() == {f"day {day}" for day in "1234"}


def test_a_drop_whose_move_to_the_trash_is_lost_can_be_undropped(catalog: RestoredCatalog, capsys: Capture) -> None:
    """A server records that move after the drop, so that a standby may have the one and not the other."""
    catalog.create("one")
    catalog.create("two")
    catalog.drop("one")
    catalog.call("truncate_table", "db", "two", None)
    with catalog.application._store.transaction() as work:
        work.connection.execute(text("UPDATE file_operations SET location = origin, origin = NULL"))
    catalog.restore(catalog.back_up())
    told = reconcile(catalog, capsys)
    assert "is cancelled" not in told
    catalog.background()
    for name in ("one", "two"):
        catalog.undrop(name)
        assert catalog.rows(name) == [name]


def test_the_trash_of_another_table_of_that_name_stays_there(catalog: RestoredCatalog, capsys: Capture) -> None:
    catalog.create("one", "before")
    file = catalog.back_up()
    catalog.call("drop_table_with_environment_context", "db", "one", True, PURGE)
    catalog.create("one", "later")
    catalog.drop("one")
    catalog.restore(file)
    told = reconcile(catalog, capsys)
    assert "kept in the trash" in told
    assert "missing" in told
    assert catalog.rows("one") == []
    assert catalog.contents() == {"later"}


def test_readers_of_events_see_a_gap(catalog: RestoredCatalog, capsys: Capture) -> None:
    catalog.create("one")
    file = catalog.back_up()
    catalog.create("two")
    read = catalog.call("get_current_notificationEventId").eventId
    catalog.restore(file)
    reconcile(catalog, capsys)
    assert catalog.call("get_current_notificationEventId").eventId > read
    events = catalog.call("get_next_notification", NotificationEventRequest(read)).events
    assert events[0].eventId > read + 1


def test_a_table_that_was_dropped_before_the_backup_can_be_undropped_for_the_whole_retention(
    catalog: RestoredCatalog, capsys: Capture
) -> None:
    catalog.create("one")
    catalog.drop("one")
    file = catalog.back_up()
    catalog.restore(file)
    assert "Servers clean files again" in reconcile(catalog, capsys)
    assert "Nothing to do" in reconcile(catalog, capsys)
    catalog.background()
    catalog.undrop("one")
    assert catalog.rows("one") == ["one"]


def test_the_database_that_was_replaced_cleans_no_more(
    catalog: RestoredCatalog, capsys: Capture, make_database: Callable[..., str]
) -> None:
    catalog.create("one")
    catalog.application.journal.lineage.note()
    file, first = catalog.back_up(), catalog.url
    catalog.restore(file)
    reconcile(catalog, capsys)
    catalog.close()
    catalog.url = first
    catalog.open()
    assert "Another restore of this catalog" in str(catalog.application.journal.lineage.problem())


def test_ids_of_lost_tables_do_not_recur(catalog: RestoredCatalog, capsys: Capture) -> None:
    """Readers of the schema `hive` may have kept them. Ids of restored tables stay the same."""

    def ids() -> dict[str, int]:
        with create_engine(catalog.url, poolclass=NullPool).connect() as connection:
            return dict(connection.execute(text("SELECT tbl_name, tbl_id FROM hive.tbls")).all())  # type: ignore[arg-type]

    catalog.create("kept")
    file = catalog.back_up()
    catalog.create("lost")
    lost = ids()
    catalog.restore(file)
    catalog.create("between")
    reconcile(catalog, capsys)
    catalog.create("after")
    actual_ids = ids()
    assert actual_ids.pop("kept") == lost["kept"]
    assert lost["lost"] < actual_ids["between"] < actual_ids["after"]


def test_rows_of_another_moment_are_not_put_back(catalog: RestoredCatalog, capsys: Capture) -> None:
    """However often the command runs, and even if it was interrupted."""
    catalog.create("one", "before")
    folder = catalog.warehouse / "db.db/one"
    file = catalog.back_up()
    catalog.call("truncate_table", "db", "one", None)
    (folder / "part-0").write_text("first")
    catalog.call("truncate_table", "db", "one", None)
    (folder / "part-0").write_text("second")
    for _ in range(2):  # a second restore of the same backup, after another truncation
        catalog.restore(file)
        for _ in range(3):
            reconcile(catalog, capsys)
            assert catalog.rows("one") == ["before"]
        assert catalog.contents() == {"before", "first", "second"}
        catalog.call("truncate_table", "db", "one", None)


def test_an_interrupted_run_continues(
    catalog: RestoredCatalog, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        catalog.create(name, f"{name} before")
    file = catalog.back_up()
    for name in ("one", "two"):
        catalog.call("truncate_table", "db", name, None)
        (catalog.warehouse / "db.db" / name / "part-0").write_text(f"{name} later")
        catalog.call("truncate_table", "db", name, None)
    catalog.restore(file)
    restart = ReconciliationService._restart
    monkeypatch.setattr(ReconciliationService, "_restart", interrupted)
    assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) != 0
    monkeypatch.setattr(ReconciliationService, "_restart", restart)
    for _ in range(2):
        reconcile(catalog, capsys)
        assert [catalog.rows(name) for name in ("one", "two")] == [["one before"], ["two before"]]


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_rows_that_replace_purged_ones_are_not_put_back(catalog: RestoredCatalog, capsys: Capture) -> None:
    catalog.call("create_table", table("db", "one", parameters={"auto.purge": "true"}))
    rows = catalog.warehouse / "db.db/one/part-0"
    rows.write_text("before")
    file = catalog.back_up()
    catalog.call("truncate_table", "db", "one", None)
    kept = catalog.call("get_table", "db", "one").decode()
    kept.parameters = {}
    catalog.call("alter_table", "db", "one", kept)
    rows.write_text("later")
    catalog.call("truncate_table", "db", "one", None)
    catalog.restore(file)
    reconcile(catalog, capsys)
    assert catalog.rows("one") == []
    assert catalog.contents() == {"later"}


def test_renamed_tables_are_moved_back(catalog: RestoredCatalog, capsys: Capture) -> None:
    """Also if they exchanged their names, and were dropped under the new ones."""
    for name in ("one", "two", "three"):
        catalog.create(name)
    file = catalog.back_up()
    for old, new in (("one", "spare"), ("two", "one"), ("spare", "two"), ("three", "four")):
        renamed = catalog.call("get_table", "db", old).decode()
        renamed.tableName = new
        catalog.call("alter_table", "db", old, renamed)
    catalog.drop("one")
    catalog.create("three", "another three")
    catalog.restore(file)
    planned = reconcile(catalog, capsys, "--dry-run")
    told = reconcile(catalog, capsys)
    assert f"db.db/three\tmoved back from its later location file:{catalog.warehouse}/db.db/four" in told
    assert "db.db/two\tput back from the trash" in planned
    assert "missing" not in told
    for _ in range(2):
        assert [catalog.rows(name) for name in ("one", "two", "three")] == [["one"], ["two"], ["three"]]
        assert catalog.rows("four") == []
        reconcile(catalog, capsys)
    assert catalog.contents() == {"one", "two", "three", "another three"}


def test_an_undone_drop_can_be_undone_again(catalog: RestoredCatalog, capsys: Capture) -> None:
    catalog.create("one")
    catalog.create("two", "two before")
    catalog.drop("one")
    catalog.call("truncate_table", "db", "two", None)
    file = catalog.back_up()
    (catalog.warehouse / "db.db/two/part-1").write_text("two later")
    catalog.undrop("one")
    catalog.undrop("two")
    catalog.restore(file)
    assert "its drop was undone after the restored moment" in reconcile(catalog, capsys)
    assert (catalog.rows("one"), catalog.rows("two")) == ([], ["two later"])
    for name in ("one", "two"):
        catalog.undrop(name)
    assert (catalog.rows("one"), catalog.rows("two")) == (["one"], ["two before", "two later"])


def test_later_directories_are_set_aside(catalog: RestoredCatalog, capsys: Capture) -> None:
    """So that the next table or partition of the name is empty. Files at a location of a client's choice stay."""
    catalog.call("create_table", table("db", "days", [("ds", "string")]))
    file = catalog.back_up()
    catalog.create("new", "later")
    renamed = catalog.call("get_table", "db", "new").decode()
    renamed.tableName = "renamed"
    catalog.call("alter_table", "db", "new", renamed)
    catalog.create("new", "later still")
    catalog.call("add_partition", partition("db", "days", ["1"]))
    day = catalog.warehouse / "db.db/days/ds=1"
    (day / "part-0").write_text("later day")
    chosen = table("db", "chosen", tableType="EXTERNAL_TABLE")
    chosen.sd.location, chosen.parameters = f"file:{catalog.warehouse}/chosen", {"EXTERNAL": "TRUE"}
    catalog.call("create_table", chosen)
    (catalog.warehouse / "chosen/part-0").write_text("chosen")
    catalog.restore(file)
    planned = reconcile(catalog, capsys, "--dry-run")
    assert catalog.rows("new") == ["later still"]
    told = reconcile(catalog, capsys)
    for name in ("new", "renamed", "days/ds=1"):
        line = f"moved to the trash: created after the restored moment: file:{catalog.warehouse}/db.db/{name}\n"
        assert line in planned
        assert line in told
    assert "created after" not in reconcile(catalog, capsys)
    for name in ("new", "renamed"):
        catalog.call("create_table", table("db", name))
        assert catalog.rows(name) == []
    catalog.call("add_partition", partition("db", "days", ["1"]))
    assert not list(day.iterdir())
    assert (catalog.warehouse / "chosen/part-0").read_text() == "chosen"
    assert catalog.contents() == {"later", "later still", "later day", "chosen"}


def test_an_empty_table_gets_its_directory_back(catalog: RestoredCatalog, capsys: Capture) -> None:
    catalog.call("create_table", table("db", "t"))
    file = catalog.back_up()
    catalog.call("truncate_table", "db", "t", None)  # a later drop moves the directory, but none of its files
    catalog.drop("t")
    catalog.restore(file)
    assert "missing" not in reconcile(catalog, capsys)
    assert (catalog.warehouse / "db.db/t").is_dir()


def test_directories_that_clients_made_later_are_listed(catalog: RestoredCatalog, capsys: Capture) -> None:
    """Spark writes the files of a partition before it adds the partition: the server has made no directory."""
    catalog.call("create_table", table("db", "days", [("ds", "string")]))
    file = catalog.back_up()
    for name, new in (("days/ds=1", None), ("later", table("db", "later"))):
        folder = catalog.warehouse / "db.db" / name
        folder.mkdir()
        (folder / "part-0").write_text(name)
        if new is None:
            catalog.call("add_partition", partition("db", "days", ["1"]))
        else:
            catalog.call("create_table", new)
    catalog.restore(file)
    planned = reconcile(catalog, capsys, "--dry-run")
    told = reconcile(catalog, capsys)
    for name in ("days/ds=1", "later"):
        line = f"{catalog.warehouse}/db.db/{name}\tkept: no table or partition of the restored moment has it"
        assert line in planned
        assert line in told
        assert catalog.check()[f"db.db/{name}"].problem == "directory without object"
