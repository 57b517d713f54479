"""The switch with a follower, and the way back."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from metastore.cli.commands import run
from metastore.client.connection import Connection, NoReplyError
from metastore.domain.names import DatabaseName
from metastore.errors import ConflictError, InvalidOperationError, MetastoreError, UnavailableError
from metastore.importing.sources.objects import Batch, Selection, Stage
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.source import Source
from metastore.importing.sources.thrift_calls import ThriftCalls
from metastore.importing.takeover import switch
from metastore.importing.verifier import Difference
from metastore.importing.way_back.returner import Returner
from metastore.services.files.ownership import borrowed
from metastore.storage.importing.imports import BORROWED, COPIED, RETURNING, SWITCHED
from tests.fixtures.database import execute
from tests.fixtures.server import Server, connected
from tests.wire.builders import partition, table
from tests.wire.importing.changing import CHANGES, altered, commit, function, granted
from tests.wire.importing.moving import compare, copy, followed, opened
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    InvalidOperationException,
    MetaException,
    PrincipalType,
    Role,
)

SALES, WEB = (DatabaseName("hive", name) for name in ("sales", "web"))
KINDS = ("table", "partition", "database", "functions")
ICE = {"table_type": "ICEBERG", "metadata_location": "1"}


@pytest.fixture(scope="module")
def servers(
    make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Server]]:
    """A source, and a server that follows it in its own process."""

    def fill(client: Any) -> None:
        client.create_database(Database("sales"))
        client.create_table(table("sales", "logs", [("ds", "string")]))
        client.create_table(table("sales", "plain"))
        client.create_table(table("sales", "ice", parameters=dict(ICE)))

    with followed(make_database, tmp_path_factory, fill, "sales") as both:
        yield both


@contextmanager
def unlocked(source: Server, target: Server, wrap: Callable[[Any], Any] = lambda calls: calls) -> Iterator[Returner]:
    with (
        opened(target.database_url) as store,
        closing(open_source(target.uri)) as ours,
        closing(open_source(source.uri)) as theirs,
        closing(ThriftCalls(source.uri)) as calls,
    ):
        yield Returner(store, source.uri, ours, theirs, wrap(calls))


@contextmanager
def returner(source: Server, target: Server) -> Iterator[Returner]:
    with unlocked(source, target) as one, one.lock():
        yield one


class PausedCalls:
    """Calls that wait for `go`, once they are `inside`."""

    def __init__(self, calls: ThriftCalls) -> None:
        self._calls = calls
        self.inside, self.go = threading.Event(), threading.Event()
        self.made: list[str] = []

    def call(self, method: str, *arguments: Any) -> Any:
        self.made.append(method)
        self.inside.set()
        assert self.go.wait(60)
        return self._calls.call(method, *arguments)


LOCKS = """
    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND datname = current_database() AND state = '{state}'
"""


@contextmanager
def interrupted(source: Server, target: Server, lost: Sequence[str]) -> Iterator[tuple[PausedCalls, Future[Any]]]:
    """Yields a process that has lost its lock in the middle of a batch, and does not know.

    `lost`: the states of its connections that break: with its lock, and with its transaction.
    """
    made: list[PausedCalls] = []

    def wrap(calls: ThriftCalls) -> PausedCalls:
        made.append(PausedCalls(calls))
        return made[0]

    with ThreadPoolExecutor(1) as pool, unlocked(source, target, wrap) as one:
        lock = one.lock()
        lock.__enter__()
        step = pool.submit(one.step)
        assert made[0].inside.wait(60)
        for state in lost:
            execute(target.database_url, LOCKS.format(state=state))
        try:
            yield made[0], step
        finally:
            made[0].go.set()
            with suppress(MetastoreError):
                lock.__exit__(None, None, None)


def differing(source: Server, target: Server) -> list[Difference]:
    """Returns what differs, except what the source sets itself when an object is created."""
    differences = compare(source.uri, target.uri, Selection(frozenset([SALES])))
    return [
        one
        for one in differences
        if one.field != "createTime" and one.kind in ("table", "partition", "database", "functions")
    ]


def grants(source: Server, target: Server) -> set[str]:
    """Returns the roles, members and privileges that differ."""
    differences = compare(source.uri, target.uri, Selection(frozenset([SALES])))
    kinds = ("roles", "grants of roles", "privileges")
    return {one.object for one in differences if one.kind in kinds and "Time" not in one.field}


def until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.05)


def test_the_switch_awaits_the_follower(
    servers: tuple[Server, Server], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fence is a command. It writes once more, as a writer that was faster than the fence."""
    source, target = servers

    def is_followed() -> bool:
        run(["import", "status", "--database-url", target.database_url])
        return "copied, followed" in capsys.readouterr().out

    until(is_followed)
    with pytest.raises(InvalidOperationError, match="there is nothing to give back"), returner(source, target):
        pass
    with connected(source) as client:
        for number in range(50):
            client.add_partition(partition("sales", "logs", [f"before{number}"]))
        commit(client, "1", "2")
    options = ["--database-url", target.database_url, "--warehouse", target.warehouse, "--allowed-locations", "/"]
    failing = ["import", "switch", source.uri, "--fence", "false", "--unfence", f"touch {tmp_path}/reopened"]
    assert run([*failing, *options]) == 1
    assert (tmp_path / "reopened").exists()

    class Late:
        def close(self) -> None:
            with connected(source) as client:
                client.create_table(table("sales", "late"))

        def open(self) -> None:
            raise AssertionError

    with opened(target.database_url) as store:
        done = switch(store, source.uri, fence=Late())
    assert done.databases == [SALES]
    assert done.doubts == []
    with connected(target) as client:
        assert len(client.get_partition_names("sales", "logs", -1)) == 50
        assert "late" in client.get_all_tables("sales")
        assert client.get_table("sales", "ice").parameters["metadata_location"] == "2"


def test_changes_are_returned_to_the_source(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with connected(target) as client, returner(source, target) as one:
        for number, change in enumerate(CHANGES):
            change(client)
            one.catch_up()
            if number % 6 == 5:
                assert differing(source, target) == []
        assert differing(source, target) == []
        assert one.step().events == 0


def test_a_batch_can_be_applied_twice(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with connected(target) as client, returner(source, target) as one:
        before = one.catch_up().position
        client.add_partition(partition("sales", "logs", ["twice"]))
        altered(client, "plain", lambda struct: struct.parameters.update(twice="1"))
        one.catch_up()
        with opened(target.database_url) as store, store.transaction() as work:
            work.following.returned_to(work.imports.all()[0].id, before)
        assert one.catch_up().events > 0
        assert differing(source, target) == []


def test_a_second_process_waits_for_the_batch_of_one_that_lost_its_lock(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with connected(target) as client:
        altered(client, "plain", lambda struct: struct.parameters.update(second="1"))
    with interrupted(source, target, ["idle"]) as (paused, step), unlocked(source, target) as second:
        with pytest.raises(ConflictError, match="is applying a change"), second.lock():
            pass
        paused.go.set()
        assert step.result(60).events > 0
    with returner(source, target) as one:
        assert one.step().events == 0
    assert differing(source, target) == []


def test_a_process_without_its_transaction_makes_no_further_call(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with connected(target) as client:
        for name in ("plain", "logs", "keyed"):
            altered(client, name, lambda struct: struct.parameters.update(third="1"))
    lost = ["idle", "idle in transaction"]
    with interrupted(source, target, lost) as (paused, step), returner(source, target) as second:
        assert second.catch_up().events > 0
        assert differing(source, target) == []
        paused.go.set()
        with pytest.raises(MetastoreError):
            step.result(60)
        assert len(paused.made) == 1
        assert second.step().events == 0
    assert differing(source, target) == []


def test_a_process_that_another_one_has_replaced_changes_nothing(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with unlocked(source, target) as first:
        with first.lock():
            first.catch_up()
        with connected(target) as client, returner(source, target) as second:
            altered(client, "plain", lambda struct: struct.parameters.update(fourth="1"))
            with pytest.raises(ConflictError, match="Another process returns changes now"):
                first.step()
            assert second.catch_up().events > 0
    assert differing(source, target) == []


def test_no_iceberg_commit_is_lost(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with connected(target) as client, connected(source) as theirs, returner(source, target) as one:
        commit(client, "2", "3")
        commit(client, "3", "4")
        one.catch_up()
        assert theirs.get_table("sales", "ice").parameters["metadata_location"] == "4"
        commit(theirs, "4", "somebody else's")
        commit(client, "4", "5")
        one.catch_up()
        assert theirs.get_table("sales", "ice").parameters["metadata_location"] == "somebody else's"
        with opened(target.database_url) as store, store.read() as work:
            kinds = {each.kind for each in work.imports.findings(work.imports.all()[0].id)}
        assert "Iceberg commit at the source that this server does not have" in kinds
        commit(theirs, "somebody else's", "5")


class Hiding:
    """A server that shows its caller no privileges: with METASTORE_AUTHORIZATION=grants, users see only their own."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def read(self, stage: Stage, after: str, selection: Selection) -> Iterator[Batch]:
        return iter(()) if stage is Stage.PRIVILEGES else self._source.read(stage, after, selection)


def test_privileges_that_the_caller_does_not_see_stay_at_the_source(servers: tuple[Server, Server]) -> None:
    source, target = servers
    for server in servers:
        with connected(server) as client, suppress(MetaException):  # an earlier test has granted it
            granted(client, "plain")
    with returner(source, target) as one:
        one._grants._ours = Hiding(one._ours)  # type: ignore[assignment] # it passes everything else on
        with pytest.raises(InvalidOperationError, match="as an administrator"):
            one.give_back()
    with opened(target.database_url) as store, store.read() as work:
        assert work.imports.all()[0].state == COPIED
        assert work.imports.databases() == {SALES: SWITCHED}


def test_the_source_owns_the_databases_again(servers: tuple[Server, Server], tmp_path: Path) -> None:
    source, target = servers
    with connected(target) as client, connected(source) as theirs:
        client.add_partition(partition("sales", "logs", ["last"]))
        location = client.get_table("sales", "logs").sd.location
        client.create_role(Role("analysts", 0, "me"))
        client.grant_role("analysts", "carol", PrincipalType.USER, "me", PrincipalType.USER, True)
        granted(client, "logs")
        granted(theirs, "ice")  # it is removed again
    assert grants(source, target) != set()
    report = tmp_path / "report.json"
    options = ["--uri", target.uri, "--database-url", target.database_url, "--report", str(report)]
    assert run(["import", "back", source.uri, "--give-back", *options]) == 0
    returned = json.loads(report.read_text())
    assert (returned["error"], int(returned["digests"]["events"], 16) > 0) == (None, True)
    assert differing(source, target) == []
    assert grants(source, target) == set()
    with opened(target.database_url) as store, store.read() as work:
        assert work.imports.databases() == {SALES: BORROWED}
        assert borrowed(work, [location]) == {location}
    with connected(target) as client, pytest.raises((InvalidOperationException, MetaException), match="read-only here"):
        client.drop_table("sales", "logs", True)
    with connected(source) as client:
        client.create_table(table("sales", "after"))
    with connected(target) as client:
        until(lambda: "after" in client.get_all_tables("sales"))  # the follower goes on
    sales = Selection(frozenset([SALES]))  # also the times that the source has set
    until(lambda: not [one for one in compare(source.uri, target.uri, sales) if one.kind in ("table", "partition")])
    with opened(target.database_url) as store:
        assert switch(store, source.uri).databases == [SALES]


def test_only_databases_that_were_switched_are_given_back(servers: tuple[Server, Server]) -> None:
    """The copy of another database may be behind the source, which must not lose objects that are missing here."""
    source, target = servers
    with connected(source) as client:
        client.create_database(Database("web"))
        client.create_function(function("web", "theirs"))
    with opened(target.database_url) as store, store.read() as work:
        followed_to = work.imports.all()[0].position
    copy(source.uri, target.database_url, "web")
    with opened(target.database_url) as store, store.transaction() as work:
        work.bulk_changes.delete_functions(work.bulk_load.database_ids([WEB]).values())
    with connected(target) as client:
        client.create_function(function("sales", "ours"))
        client.drop_function("sales", "ours")
        client.create_function(function("sales", "ours", "com.example.Other"))
    with returner(source, target) as one:
        assert one.give_back().events >= 3
    with connected(source) as client:
        assert client.get_functions("web", "*") == ["theirs"]
        assert client.get_function("sales", "ours").className == "com.example.Other"
    with opened(target.database_url) as store, store.read() as work:
        assert work.imports.databases() == {SALES: BORROWED, WEB: BORROWED}
        assert work.imports.all()[0].position >= (followed_to or 0)


def test_the_way_back_that_was_interrupted_is_finished_first(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with opened(target.database_url) as store, store.transaction() as work:
        work.imports.set_state(work.imports.all()[0].id, RETURNING)
    with pytest.raises(InvalidOperationError, match="finish it first with metastore import back"):
        copy(source.uri, target.database_url)
    with opened(target.database_url) as store, pytest.raises(InvalidOperationError, match="are being given back"):
        switch(store, source.uri)
    with returner(source, target) as one:
        one.give_back()
    with opened(target.database_url) as store, store.read() as work:
        assert work.imports.all()[0].state == COPIED


def test_changes_that_run_are_known(servers: tuple[Server, Server]) -> None:
    _, target = servers
    with opened(target.database_url) as store, store.read() as other:
        before = other.blocking.running_changes()
        with store.transaction() as work:
            work.imports.set_state(work.imports.all()[0].id, COPIED)
            running = other.blocking.running_changes() - before
            assert running
        until(lambda: not running & other.blocking.running_changes())  # the follower's, too


def test_a_change_without_a_reply_is_an_outage_and_no_end(servers: tuple[Server, Server]) -> None:
    """The source was killed in the middle of a change: `import back` goes on, and compares again."""
    source, _ = servers
    died = patch.object(Connection, "call", side_effect=NoReplyError(OSError("it died"), timed_out=False))
    with closing(ThriftCalls(source.uri)) as calls, died, pytest.raises(UnavailableError, match="outcome is unknown"):
        calls.call("create_database", Database("unknown"))


def test_a_source_that_cannot_be_written_to(servers: tuple[Server, Server], capsys: pytest.CaptureFixture[str]) -> None:
    _, target = servers
    options = ["--uri", target.uri, "--database-url", target.database_url]
    assert run(["import", "back", "postgresql://u:secret@h/d", "--once", *options]) == 1
    error = capsys.readouterr().err
    assert "changes go back through Thrift. Add --to thrift://host:9083" in error
    assert "secret" not in error
