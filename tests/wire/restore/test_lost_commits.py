"""The database loses acknowledged commits in a fail-over, and a server that goes on running notices it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url

from metastore.context import AuditNote, Caller, CurrentCall, caller
from metastore.domain.events import Event
from metastore.errors import ConnectionLostError, InvalidOperationError
from metastore.services.files.lineage import LineageGuard
from metastore.settings import database_url
from metastore.storage.postgres.history import CommitHistory, shared_history
from metastore.storage.queries.repository import Session
from metastore.storage.repositories.commits import Commits
from metastore.storage.repositories.lineage import Lineages
from metastore.storage.unit_of_work import Undo, UnknownCommit
from migrations import runner
from tests.fixtures.database import reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.standby import control, cut_off, hot_standby
from tests.wire.restore.catalog import RestoredCatalog
from thrift_idl.gen.metastore.ttypes import BeginWriteRequest, CleanRequest


@pytest.fixture
def catalog(make_database: Callable[..., str], tmp_path: Path) -> Iterator[RestoredCatalog]:
    catalog = RestoredCatalog(make_database, tmp_path)
    yield catalog
    catalog.close()


def test_a_witness_that_cannot_be_read_is_no_restore(catalog: RestoredCatalog) -> None:
    guard = catalog.application.journal.lineage
    guard.note()
    (witness,) = catalog.warehouse.glob(".metastore_catalog*")
    content = witness.read_text()
    witness.write_text("{")
    assert "cannot be read, so files are not cleaned" in str(guard.problem())
    witness.write_text(content)
    guard._valid_until = 0.0
    assert guard.states()[0].problem_since is None
    assert guard.problem() is None


def test_a_smaller_number_of_a_transaction_shows_the_loss(
    catalog: RestoredCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    catalog.create("one")
    store = catalog.application._store
    caches = store._caches
    assert catalog.application.journal.lineage.problem() is None
    store._history.committed(2**60)  # as if this database had lost it
    write = catalog.call("begin_write", BeginWriteRequest("db", "one")).queryId
    assert "lost acknowledged changes" in str(catalog.application.journal.lineage.problem())
    assert int(write.rpartition("-")[2]) > 10**15, "numbers of writes may recur"
    assert store._history.losses == 1
    catalog.create("two")
    assert store._caches is not caches
    assert store._history.losses == 1
    with pytest.raises(InvalidOperationError, match="metastore db restored"):
        catalog.call("clean", CleanRequest())
    assert len([one for one in caplog.records if one.levelname == "ERROR"]) == 1
    assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) == 0
    catalog.application.journal.lineage._valid_until = 0.0
    assert catalog.application.journal.lineage.problem() is None


def test_workers_share_their_history() -> None:
    shared = shared_history(2)
    first, second = (CommitHistory(shared, worker) for worker in range(2))
    first.committed(7)
    first.committed(5)
    second.committed(6)
    assert (first.latest(), second.latest(), first.losses) == (7, 7, 0)
    second.lost()
    assert (first.latest(), first.losses) == (0, 1)


def test_the_number_of_a_lost_transaction_is_not_taken_for_its_outcome(catalog: RestoredCatalog) -> None:
    """After a fail-over, PostgreSQL gives numbers again that the standby had not received."""
    catalog.create("one")
    store = catalog.application._store
    with store.transaction() as work:
        (number, event) = work.number, Event("TEST", "hive", "db", "one", '{"server":"","table":"one"}')
        work.record(event)
    with store.read() as work:
        assert work.commits.outcome(number) == "committed"
        assert work.commits.outcome(number, [event]) == "committed"
        assert work.commits.outcome(number, [event._replace(message='{"server":"","table":"two"}')]) == "aborted"
        assert work.commits.outcome(str(int(number) + 1000)) == "aborted"
    undone: list[str] = []

    def undoing(name: str) -> Undo:
        return lambda _: undone.append(name)

    other = event._replace(message='{"server":"","table":"two"}')
    store._unknown.append(UnknownCommit(number, undoing("mine"), [event]))
    store._unknown.append(UnknownCommit(number, undoing("another's"), [other]))
    store._unknown.append(UnknownCommit(str(int(number) + 1000), undoing("lost")))
    store.resolve_unknown_commits()
    assert undone == ["mine"]


def test_the_audit_line_of_a_call_that_notices_the_loss_is_written_once(catalog: RestoredCatalog) -> None:
    store = catalog.application._store
    store._history.committed(2**60)
    note = AuditNote("1", "me", None, "", "create_table", [])
    token = caller.set(Caller("test", call=CurrentCall(note=note)))
    try:
        with suppress(KeyError), store.transaction():
            assert not note.is_written
            raise KeyError
        with store.transaction():
            pass
    finally:
        caller.reset(token)
    assert store._history.losses == 1
    with store._engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM audit_log WHERE request = '1'")) == 1


def test_a_new_timeline_counts_as_a_loss_unless_a_server_went_on_running(
    catalog: RestoredCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create("one")
    guard = catalog.application.journal.lineage
    guard.note()
    store, warehouse = catalog.application._store, catalog.application._warehouse
    with store.read() as work:
        timeline = work.lineage.timeline()
    assert timeline == 1
    monkeypatch.setattr(Lineages, "timeline", lambda _: 2)  # promoted
    started = LineageGuard(store, warehouse)
    for _ in range(2):
        started.note()
        assert "promoted or recovered while no server ran (timeline 1, now 2)" in str(started.problem())
    guard.note()
    started.note()
    assert (guard.problem(), started.problem()) == (None, None)
    monkeypatch.setattr(Lineages, "timeline", lambda _: 3)
    catalog.close()
    catalog.open()
    catalog.application.journal.lineage.note()
    assert "(timeline 2, now 3)" in str(catalog.application.journal.lineage.problem())
    assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) == 0
    catalog.application.journal.lineage.note()
    assert catalog.application.journal.lineage.problem() is None


def test_a_standby_that_lagged_is_promoted(tmp_path: Path) -> None:
    with reachable_folder() as folder, installed_postgres(folder, tls=False) as primary:
        runner.upgrade(primary)
        with hot_standby(folder, primary) as standby:
            first, second = make_url(primary), make_url(standby)
            hosts = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
            url = f"postgresql://{first.username}:{first.password}@{hosts}/{first.database}"
            catalog = RestoredCatalog(lambda **_: database_url(url), tmp_path)
            try:
                for name in ("one", "two"):
                    catalog.create(name)
                with create_engine(standby, poolclass=NullPool).connect() as connection:
                    outcome = Commits(Session(connection)).outcome(str(10**9))
                    assert outcome == "in progress"  # it may arrive before promotion
                cut_off(primary, standby)
                catalog.drop("one")
                catalog.create("late")
                before = catalog.contents()
                control(folder, "data", "--mode=immediate", "stop")
                control(folder, "standby", "promote")
                with suppress(ConnectionLostError):  # a connection of a client repeats the call
                    catalog.call("get_all_tables", "db")
                assert set(catalog.call("get_all_tables", "db")) == {"one", "two"}
                catalog.drop("two")
                assert "lost acknowledged changes" in str(catalog.application.journal.lineage.problem())
                with catalog.application._store.read() as work:
                    assert work.lineage.timeline() == 2
                catalog.background()
                catalog.check(repair=True)
                assert catalog.contents() == before
                assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) == 0
                assert catalog.rows("one") == ["one"]
                catalog.undrop("two")
                assert catalog.rows("two") == ["two"]
                assert catalog.contents() == before
            finally:
                catalog.close()
                control(folder, "data", "start")  # the fixture stops it
