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
from tests.wire.test_file_faults import ALL, Installation, Killed, published, renamed, rows
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, CleanRequest, FileProblem

pytestmark = pytest.mark.slow

LONG = "x" * 300  # no file system allows such names


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Installation:
    return Installation(database_url, tmp_path)


def failing(installation: Installation, monkeypatch: pytest.MonkeyPatch, error: Exception) -> list[object]:
    """While this list is empty, dropped files cannot be moved to the trash."""
    repaired: list[object] = []
    put_away: Callable[..., bool] = installation.application.journal.warehouse.move_to_trash

    def broken(*given: Any, **more: Any) -> bool:
        if not repaired:
            raise error
        return put_away(*given, **more)

    monkeypatch.setattr(installation.application.journal.warehouse, "move_to_trash", broken)
    return repaired


def problems(installation: Installation, *, repair: bool = False) -> list[FileProblem]:
    actual_problems: list[FileProblem] = installation.call("check_files", CheckFilesRequest(repair=repair)).problems
    return actual_problems


def waits(installation: Installation) -> list[tuple[float, bool]]:
    """Returns the seconds that each operation waits, and whether it is parked."""
    with installation.application._store.read() as work:
        query = "SELECT extract(epoch FROM lease_ends_at - clock_timestamp())::float, parked FROM file_operations"
        return [(row[0], row[1]) for row in work.connection.execute(text(query))]


def failed_for(installation: Installation, seconds: float) -> None:
    with installation.application._store.transaction() as work:
        work.connection.execute(
            text("UPDATE file_operations SET lease_ends_at = now(), failing_since = now() - make_interval(secs => :s)"),
            {"s": seconds},
        )


def test_failed_operations_are_retried_after_growing_delays(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    repaired = failing(installation, monkeypatch, UnavailableError("nobody answers"))
    installation.call("drop_table", "db", "plain", True)
    for seconds, wait in ((0, 10), (40, 40), (3600 * 24, 600)):
        failed_for(installation, seconds)
        installation.application.journal.recover()
        ((left, parked),) = waits(installation)
        assert wait / 2 < left <= wait + 5
        assert not parked
    told = [(problem.problem, problem.repairable, problem.repaired) for problem in problems(installation)]
    assert told == [("unfinished: dropped by its owner, nobody answers", True, False)]
    repaired.append(1)
    installation.application.journal.recover()
    assert (installation.warehouse / "db.db/plain/rows").exists()  # its retry is not due yet
    assert [problem.repaired for problem in problems(installation, repair=True)] == [True]
    installation.agrees()
    assert rows(installation) == ALL - {"db.db/plain"}


def test_operations_that_cannot_succeed_are_parked_with_a_remedy(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    repaired = failing(installation, monkeypatch, InvalidOperationError("it leads out of the warehouse"))
    with caplog.at_level(logging.ERROR, "metastore.files"):
        installation.call("drop_table", "db", "plain", True)
        failed_for(installation, 3600)
        installation.application.journal.recover()
    (line,) = [record.getMessage() for record in caplog.records]
    location = f"file:{installation.warehouse}/db.db/plain"
    why = f"remove of {location} (dropped by its owner) failed: it leads out of the warehouse."
    assert line == f"{why} Fix the cause, then run  metastore check --repair"
    assert [parked for _, parked in waits(installation)] == [True]
    assert [problem.repairable for problem in problems(installation)] == [False]
    with pytest.raises(ConflictError, match=r"plain is blocked: remove of .* metastore check --repair"):
        installation.call("create_table", table("db", "plain"))
    repaired.append(1)
    assert [problem.repaired for problem in problems(installation, repair=True)] == [True]
    installation.call("create_table", table("db", "plain"))
    installation.agrees()


def test_a_failed_undo_is_repeated_later(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    installation.die_at = "made"
    with pytest.raises(Killed):
        installation.call("create_table", table("db", "new"))
    installation.die_at = None
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "unblock", lambda *_: fail(ConflictError("somebody is there")))
        failed_for(installation, 0)
        installation.application.journal.recover()
    ((left, parked),) = waits(installation)
    assert 5 < left <= 15
    assert not parked
    assert [problem.problem for problem in problems(installation)] == ["unfinished: made, it could not be undone"]
    assert [problem.repaired for problem in problems(installation, repair=True)] == [True]
    installation.agrees()


def fail(error: Exception) -> None:
    raise error


def test_a_move_that_could_not_be_done_is_rejected(installation: Installation) -> None:
    with pytest.raises(InvalidInputError, match="too long; no file can exist there"):
        installation.call("rename_partition", "db", "days", ["1"], partition("db", "days", [LONG], sd=descriptor(None)))
    assert rows(installation) == ALL
    installation.agrees()


def test_an_impossible_directory_is_not_truncated(installation: Installation) -> None:
    one = installation.call("get_partition", "db", "days", ["1"])
    one.sd.location = f"{installation.uri}/{LONG}"
    installation.call("alter_partition", "db", "days", one)
    installation.call("truncate_table", "db", "days", None)
    assert waits(installation) == []
    assert rows_of(installation, "2") == set()


def rows_of(installation: Installation, day: str) -> set[str]:
    return installation.rows(installation.call("get_partition", "db", "days", [day]))


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead server is replaced at once."""
    monkeypatch.setattr(clock, "LEASE", timedelta(0))


@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize("drop", ["table", "partition"])
def test_tables_dropped_before_their_move_are_removed(installation: Installation, drop: str) -> None:
    """The operation moves files first, so that nothing arrives at a location that was just cleared."""
    installation.die_at = "committed"
    with pytest.raises(Killed):
        renamed(installation, "db", "weeks")
    installation.die_at = None
    if drop == "table":
        installation.call("drop_table", "db", "weeks", True)
    else:
        installation.call("drop_partition", "db", "weeks", ["1"], True)
    installation.recover()
    installation.recover()
    installation.agrees()
    assert rows(installation) == {"db.db/plain", "doomed.db/t"} | (
        {"db.db/days/ds=2"} if drop == "partition" else set()
    )


@pytest.mark.usefixtures("followed")
def test_replaced_files_are_moved_before_they_are_cleaned(installation: Installation) -> None:
    published(installation)
    installation.die_at = "committed"
    with pytest.raises(Killed):
        renamed(installation, "db", "weeks")
    installation.die_at = None
    installation.call("clean", CleanRequest(graceMillis=0))
    installation.recover()
    installation.recover()
    installation.agrees()
    assert rows(installation) == {"db.db/plain", "db.db/days/ds=2", "doomed.db/t", "new"}


@pytest.mark.usefixtures("followed")
def test_dropping_a_database_keeps_files_with_a_pending_move_out_of_it(installation: Installation) -> None:
    installation.die_at = "committed"
    with pytest.raises(Killed):
        renamed(installation, "other", "weeks")
    installation.die_at = None
    installation.call("drop_database", "db", True, True)
    installation.recover()
    installation.recover()
    installation.agrees()
    assert rows(installation) == {"db.db/days/ds=1", "db.db/days/ds=2", "doomed.db/t"}


def test_paths_too_long_for_a_file_system_fail_in_one_line(installation: Installation) -> None:
    with pytest.raises(InvalidInputError, match="too long; no file can exist there"):
        installation.call("create_table", table("db", "new", sd=descriptor(f"{installation.uri}/{LONG}")))
    with pytest.raises(InvalidInputError, match="too long; no file can exist there"):
        installation.call("create_database", Database("new", locationUri=f"{installation.uri}/{LONG}"))
    installation.agrees()


def test_a_full_disk_does_not_park_the_operation(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.rename", full)
        installation.call("drop_table", "db", "plain", True)
    assert [parked for _, parked in waits(installation)] == [False]
    failed_for(installation, 1)
    installation.application.journal.recover()
    installation.agrees()
