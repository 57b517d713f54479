"""Cleaning while others publish, renew and clean: the second one sees what the first did, and no file is lost."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text

from metastore.app.worker import Application
from metastore.domain.names import TableName
from metastore.errors import NotFoundError
from tests.fixtures.application import called
from tests.fixtures.server import Server, connected
from tests.wire.builders import descriptor, new_table, partition, table
from tests.wire.writing import clean, day, files_below, let_die, local, publish, write_file
from thrift_idl.gen.hive_metastore.ttypes import Database, EnvironmentContext
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CleanRequest,
    PublishMode,
    PublishRequest,
    RenewWriteRequest,
    ScanRequest,
)

NAME = ("db", "t")
Call = Callable[..., Any]


@pytest.fixture
def root(tmp_path: Path) -> str:
    return f"file:{tmp_path}/t"


@pytest.fixture
def call(application: Application, root: str) -> Call:
    """Handlers by wire method, and a table whose day 1 was overwritten, so that ds=1 is retired."""
    call = partial(called, application)
    application.services.databases.create("hive", Database(name="db"))
    call("create_table", table(*NAME, [("ds", "string")], sd=descriptor(root)))
    call("add_partition", partition(*NAME, ["1"]))
    write_file(f"{root}/ds=1/part-0")
    moved = day(root, "1", PublishMode.OVERWRITE, location=f"{root}/_versions/q/ds=1")
    call("publish", PublishRequest(*NAME, "q", [moved]))
    return call


def begin(call: Call) -> str:
    return str(call("begin_write", BeginWriteRequest(*NAME)).queryId)


def clean_now(call: Call) -> list[Any]:
    return list(call("clean", CleanRequest(*NAME, graceMillis=0)).locations)


@contextmanager
def in_background() -> Iterator[Callable[..., Future[Any]]]:
    with ThreadPoolExecutor(2) as threads:
        yield threads.submit


def wait_for_a_lock(database_url: str, until: Callable[[], bool] = lambda: False) -> None:
    """Waits until a session waits for a lock of the database, or a condition is true."""
    deadline, waiting = monotonic() + 60, 0
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with create_engine(database_url, poolclass=NullPool, isolation_level="AUTOCOMMIT").connect() as connection:
        while not waiting and not until():
            assert monotonic() < deadline, "nobody waits"
            waiting = connection.execute(query).scalar_one()


class Stopped:
    """A file operation of the warehouse that stops before its first directory until it may continue."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str = "delete_directory") -> None:
        from metastore.warehouse.filesystem import Warehouse

        self.reached, self.go_on = threading.Event(), threading.Event()
        action = getattr(Warehouse, name)

        def stopped(warehouse: Warehouse, *locations: str, **options: bool) -> bool:
            self.reached.set()
            assert self.go_on.wait(60)
            return bool(action(warehouse, *locations, **options))

        monkeypatch.setattr(Warehouse, name, stopped)


def test_an_earlier_reference_keeps_the_files(
    application: Application, call: Call, database_url: str, root: str
) -> None:
    with in_background() as start, application._store.transaction() as work:
        stored = work.tables.find(TableName("hive", *NAME), lock="share")
        new = call_prepared(application, root)
        work.partitions_write.insert(stored.ref, [new])  # type: ignore[union-attr]
        assert work.file_operations.lock_for_reference([f"{root}/ds=1"]) == []  # as a call does
        cleaning = start(clean_now, call)
        wait_for_a_lock(database_url)
        work.commit()
        assert cleaning.result(60) == []
    assert "ds=1/part-0" in files_below(root)


def call_prepared(application: Application, root: str) -> Any:
    """Returns day 2 at the old location of day 1, as the service would store it."""
    from metastore.services.rules.partitions import PartitionRules

    rules = PartitionRules(application.services.tables.get(TableName("hive", *NAME)).decode())
    return rules.prepare(partition(*NAME, ["2"], sd=descriptor(f"{root}/ds=1")), 0)


def test_a_later_reference_waits(call: Call, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from metastore.services.files.journal import Journal

    stopped, waits, clear = Stopped(monkeypatch, "move_to_trash"), threading.Event(), Journal.unblock
    monkeypatch.setattr(Journal, "unblock", lambda *given: (waits.set(), clear(*given)) if given[1] else clear(*given))
    with in_background() as start:
        cleaning = start(clean_now, call)
        assert stopped.reached.wait(60)
        adding = start(call, "publish", PublishRequest(*NAME, "r", [day(root, "2", location=f"{root}/ds=1")]))
        assert waits.wait(60)
        assert not adding.done()
        stopped.go_on.set()
        assert len(cleaning.result(60)) == 1
        assert adding.result(60).replaced == []
    assert not local(f"{root}/ds=1").exists()


@pytest.mark.parametrize("ending", ["renew", "publish"])
def test_a_late_writer_that_is_first_keeps_its_files(
    application: Application, call: Call, database_url: str, root: str, ending: str
) -> None:
    write = begin(call)
    write_file(f"{root}/_versions/{write}/ds=3/part-0")
    let_die(database_url, write)
    with in_background() as start, application._store.transaction() as work:
        if ending == "renew":
            assert work.writes.renew(write)
        else:
            stored = work.tables.find(TableName("hive", *NAME))
            assert work.writes.publish(write, stored.ref.id)  # type: ignore[union-attr]
        cleaning = start(clean_now, call)
        wait_for_a_lock(database_url)
        work.commit()
        assert [each.queryId for each in cleaning.result(60)] == ["q"]
    assert local(f"{root}/_versions/{write}/ds=3/part-0").exists()


def test_a_late_writer_that_comes_second_does_not_publish(
    call: Call, database_url: str, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = begin(call)
    write_file(f"{root}/_versions/{write}/ds=3/part-0")
    let_die(database_url, write)
    stopped = Stopped(monkeypatch)
    with in_background() as start:
        cleaning = start(clean_now, call)
        assert stopped.reached.wait(60)
        assert call("plan_scan", ScanRequest(*NAME)).openWrites == [1]
        with pytest.raises(NotFoundError):
            call("renew_write", RenewWriteRequest(write))
        with pytest.raises(NotFoundError):
            call("publish", PublishRequest(*NAME, write, [day(root, "3")]))
        assert call("clean", CleanRequest(*NAME)).locations == []  # another server is working on it
        stopped.go_on.set()
        assert {each.queryId for each in cleaning.result(60)} == {write, "q"}
    assert call("plan_scan", ScanRequest(*NAME)).openWrites == []


def test_a_cleaner_that_dies_is_followed_by_another(
    call: Call, database_url: str, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metastore.storage.postgres import clock
    from metastore.warehouse.filesystem import Warehouse

    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    write = begin(call)
    write_file(f"{root}/_versions/{write}/ds=3/part-0")
    let_die(database_url, write)

    def killed(_: Warehouse, location: str) -> bool:
        raise SystemExit(location)

    with monkeypatch.context() as patched:
        patched.setattr(Warehouse, "delete_directory", killed)
        with pytest.raises(SystemExit):
            clean_now(call)
    assert call("plan_scan", ScanRequest(*NAME)).openWrites == [1]
    with pytest.raises(NotFoundError):
        call("publish", PublishRequest(*NAME, write, [day(root, "3")]))
    assert len(clean_now(call)) == 2
    assert files_below(root) == set()


def test_a_place_is_not_granted_before_a_drop_has_emptied_it(
    call: Call, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("add_partition", partition(*NAME, ["2"]))
    write = begin(call)
    stopped = Stopped(monkeypatch, "move_to_trash")
    with in_background() as start:
        dropping = start(call, "drop_partition", *NAME, ["2"], True)
        assert stopped.reached.wait(60)
        assert call("get_partition_names", *NAME, -1).decode() == ["ds=1"]
        assert call("renew_write", RenewWriteRequest(write, [f"{root}/ds=2"])).granted == [False]
        stopped.go_on.set()
        dropping.result(60)
    assert call("renew_write", RenewWriteRequest(write, [f"{root}/ds=2"])).granted == [True]


def test_a_drop_that_was_broken_off_is_finished(call: Call, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from metastore.storage.postgres import clock
    from metastore.warehouse.filesystem import Warehouse

    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    call("add_partition", partition(*NAME, ["2"]))
    write_file(f"{root}/ds=2/part-0")

    def killed(_: Warehouse, location: str) -> bool:
        raise SystemExit(location)

    with monkeypatch.context() as patched:
        patched.setattr(Warehouse, "delete_directory", killed)
        purge = EnvironmentContext({"ifPurge": "true"})
        with pytest.raises(SystemExit):
            call("drop_partition_with_environment_context", *NAME, ["2"], True, purge)
    assert {(each.location, each.reason) for each in clean_now(call)} == {
        (f"{root}/ds=1", "replaced"),
        (f"{root}/ds=2", "dropped by its owner"),
    }
    assert files_below(root) == set()


def test_several_cleaners_share_the_work(metastore_client: Any, metastore_server: Server, root: str) -> None:
    name = new_table(metastore_client, [("ds", "string")], sd=descriptor(root))
    doomed = set()
    for number in range(40):
        write = metastore_client.begin_write(BeginWriteRequest(*name)).queryId
        write_file(f"{root}/_versions/{write}/part-0")
        doomed.add(f"{root}/_versions/{write}")
        if number % 2:
            let_die(metastore_server.database_url, write)
        else:
            publish(metastore_client, name, write, retired=[f"{root}/_versions/{write}"])
    start, actual = threading.Barrier(4), []

    def run() -> None:
        with connected(metastore_server) as client:
            start.wait()
            actual.extend(clean(client, name).locations)

    cleaners = [threading.Thread(target=run) for _ in range(4)]
    for cleaner in cleaners:
        cleaner.start()
    for cleaner in cleaners:
        cleaner.join()
    assert [each.error for each in actual if each.error] == []
    assert Counter(each.location for each in actual) == Counter(doomed)
    assert files_below(root) == set()


def test_the_background_cleans_by_itself(start_metastore: Any, database_url: str, root: str) -> None:
    servers = [
        start_metastore(database_url, "--cleanup-interval", "1", "--replaced-file-retention", "0") for _ in range(2)
    ]
    with connected(servers[0]) as client:
        name = new_table(client, [("ds", "string")], sd=descriptor(root))
        write = client.begin_write(BeginWriteRequest(*name)).queryId
        write_file(f"{root}/_versions/{write}/part-0")
        let_die(database_url, write)
        deadline = monotonic() + 60
        while client.plan_scan(ScanRequest(*name)).openWrites:
            assert monotonic() < deadline
    assert files_below(root) == set()
