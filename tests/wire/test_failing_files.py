"""Failing file operations: they are retried with growing pauses, or parked if a retry cannot help; nothing is lost."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from metastore.errors import ConflictError, InvalidInputError, InvalidOperationError, UnavailableError
from metastore.services.files.journal import Journal
from metastore.storage.postgres import clock
from tests.wire.builders import descriptor, partition, table
from tests.wire.test_file_faults import ALL, House, Killed, published, renamed, rows
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, CleanRequest, FileProblem

pytestmark = pytest.mark.slow

LONG = "x" * 300  # no file system allows such names


@pytest.fixture
def house(database_url: str, tmp_path: Path) -> House:
    return House(database_url, tmp_path)


def failing(house: House, monkeypatch: pytest.MonkeyPatch, error: Exception) -> list[object]:
    """While this list is empty, dropped files cannot be moved to the trash."""
    mended: list[object] = []
    put_away: Callable[..., bool] = house.application.journal._warehouse.move_to_trash

    def broken(*given: Any, **more: Any) -> bool:
        if not mended:
            raise error
        return put_away(*given, **more)

    monkeypatch.setattr(house.application.journal._warehouse, "move_to_trash", broken)
    return mended


def problems(house: House, *, repair: bool = False) -> list[FileProblem]:
    actual_problems: list[FileProblem] = house.call("check_files", CheckFilesRequest(repair=repair)).problems
    return actual_problems


def waits(house: House) -> list[tuple[float, bool]]:
    """Returns the seconds that each operation waits, and whether it is parked."""
    with house.application._store.read() as work:
        query = "SELECT extract(epoch FROM lease_ends_at - clock_timestamp())::float, parked FROM file_operations"
        return [(row[0], row[1]) for row in work._connection.execute(text(query))]


def failed_for(house: House, seconds: float) -> None:
    with house.application._store.transaction() as work:
        work._connection.execute(
            text("UPDATE file_operations SET lease_ends_at = now(), failing_since = now() - make_interval(secs => :s)"),
            {"s": seconds},
        )


def test_failed_operations_are_retried_after_growing_delays(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    mended = failing(house, monkeypatch, UnavailableError("nobody answers"))
    house.call("drop_table", "db", "plain", True)
    for seconds, wait in ((0, 10), (40, 40), (3600 * 24, 600)):
        failed_for(house, seconds)
        house.application.journal.recover()
        ((left, parked),) = waits(house)
        assert wait / 2 < left <= wait + 5
        assert not parked
    told = [(problem.problem, problem.mendable, problem.mended) for problem in problems(house)]
    assert told == [("unfinished: dropped, nobody answers", True, False)]
    mended.append(1)
    house.application.journal.recover()
    assert (house.warehouse / "db.db/plain/rows").exists()  # its retry is not due yet
    assert [problem.mended for problem in problems(house, repair=True)] == [True]
    house.agrees()
    assert rows(house) == ALL - {"db.db/plain"}


def test_operations_that_cannot_succeed_are_parked_with_a_remedy(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mended = failing(house, monkeypatch, InvalidOperationError("it leads out of the warehouse"))
    with caplog.at_level(logging.ERROR, "metastore.files"):
        house.call("drop_table", "db", "plain", True)
        failed_for(house, 3600)
        house.application.journal.recover()
    (line,) = [record.getMessage() for record in caplog.records]
    location = f"file:{house.warehouse}/db.db/plain"
    why = f"remove of {location} (dropped) failed: it leads out of the warehouse. Fix the cause, then run  metastore"
    assert line == f"{why} check --repair"
    assert [parked for _, parked in waits(house)] == [True]
    assert [problem.mendable for problem in problems(house)] == [False]
    with pytest.raises(ConflictError, match=r"plain is blocked: remove of .* metastore check --repair"):
        house.call("create_table", table("db", "plain"))
    mended.append(1)
    assert [problem.mended for problem in problems(house, repair=True)] == [True]
    house.call("create_table", table("db", "plain"))
    house.agrees()


def test_a_failed_undo_is_repeated_later(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.die_at = "made"
    with pytest.raises(Killed):
        house.call("create_table", table("db", "new"))
    house.die_at = None
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "unblock", lambda *_: fail(ConflictError("somebody is there")))
        failed_for(house, 0)
        house.application.journal.recover()
    ((left, parked),) = waits(house)
    assert 5 < left <= 15
    assert not parked
    assert [problem.problem for problem in problems(house)] == ["unfinished: made, it could not be undone"]
    assert [problem.mended for problem in problems(house, repair=True)] == [True]
    house.agrees()


def fail(error: Exception) -> None:
    raise error


def test_a_move_that_could_not_be_done_is_rejected(house: House) -> None:
    with pytest.raises(InvalidInputError, match="too long; no file can exist there"):
        house.call("rename_partition", "db", "days", ["1"], partition("db", "days", [LONG], sd=descriptor(None)))
    assert rows(house) == ALL
    house.agrees()


def test_an_impossible_directory_is_not_truncated(house: House) -> None:
    one = house.call("get_partition", "db", "days", ["1"])
    one.sd.location = f"{house.uri}/{LONG}"
    house.call("alter_partition", "db", "days", one)
    house.call("truncate_table", "db", "days", None)
    assert waits(house) == []
    assert rows_of(house, "2") == set()


def rows_of(house: House, day: str) -> set[str]:
    return house.rows(house.call("get_partition", "db", "days", [day]))


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead server is replaced at once."""
    monkeypatch.setattr(clock, "LEASE", timedelta(0))


@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize("drop", ["table", "partition"])
def test_tables_dropped_before_their_move_are_removed(house: House, drop: str) -> None:
    """The operation moves files first, so that nothing arrives at a location that was just cleared."""
    house.die_at = "committed"
    with pytest.raises(Killed):
        renamed(house, "db", "weeks")
    house.die_at = None
    if drop == "table":
        house.call("drop_table", "db", "weeks", True)
    else:
        house.call("drop_partition", "db", "weeks", ["1"], True)
    house.recover()
    house.recover()
    house.agrees()
    assert rows(house) == {"db.db/plain", "doomed.db/t"} | ({"db.db/days/ds=2"} if drop == "partition" else set())


@pytest.mark.usefixtures("followed")
def test_replaced_files_are_moved_before_they_are_cleaned(house: House) -> None:
    published(house)
    house.die_at = "committed"
    with pytest.raises(Killed):
        renamed(house, "db", "weeks")
    house.die_at = None
    house.call("clean", CleanRequest(graceMillis=0))
    house.recover()
    house.recover()
    house.agrees()
    assert rows(house) == {"db.db/plain", "db.db/days/ds=2", "doomed.db/t", "new"}


@pytest.mark.usefixtures("followed")
def test_a_dropped_database_does_not_take_what_is_about_to_leave_it(house: House) -> None:
    house.die_at = "committed"
    with pytest.raises(Killed):
        renamed(house, "other", "weeks")
    house.die_at = None
    house.call("drop_database", "db", True, True)
    house.recover()
    house.recover()
    house.agrees()
    assert rows(house) == {"db.db/days/ds=1", "db.db/days/ds=2", "doomed.db/t"}


def test_paths_too_long_for_a_file_system_fail_in_one_line(house: House) -> None:
    with pytest.raises(InvalidInputError, match="too long; no file can exist there"):
        house.call("create_table", table("db", "new", sd=descriptor(f"{house.uri}/{LONG}")))
    with pytest.raises(InvalidInputError, match="too long; no file can exist there"):
        house.call("create_database", Database("new", locationUri=f"{house.uri}/{LONG}"))
    house.agrees()


def test_a_disk_that_is_full_is_no_reason_to_give_up(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.rename", full)
        house.call("drop_table", "db", "plain", True)
    assert [parked for _, parked in waits(house)] == [False]
    failed_for(house, 1)
    house.application.journal.recover()
    house.agrees()
