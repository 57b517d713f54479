"""Following: changes of a source arrive here exactly, in spite of any failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from itertools import count
from typing import Any

import pytest

from metastore.cli.commands import run
from metastore.domain.names import DatabaseName, TableName
from metastore.errors import AlreadyExistsError, ConflictError, InvalidObjectError, UnavailableError
from metastore.importing import last_changes
from metastore.importing.attached_objects import BEYOND
from metastore.importing.batches import apply
from metastore.importing.follower.follower import Follower, Step
from metastore.importing.last_changes import compared_by_follower
from metastore.importing.rewrites import Rewriting
from metastore.importing.sources.objects import Stage
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.source import Source
from metastore.importing.sources.thrift_calls import ThriftCalls
from metastore.importing.target import Target
from metastore.storage.figures import read_figures
from metastore.storage.unit_of_work import UnitOfWork
from tests.fixtures.database import execute
from tests.fixtures.server import Server, connected
from tests.wire.authorization.granting import ROLE, bag, everywhere, on_database
from tests.wire.builders import partition, table
from tests.wire.importing.changing import CHANGES, UNLOGGED, altered, granted, statistics
from tests.wire.importing.followers import Without, caught_up, follower
from tests.wire.importing.moving import compare, opened
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    HiveObjectRef,
    InvalidOperationException,
    MetaException,
    PrincipalType,
    Role,
)


def test_each_change_arrives(source: Server, target: Server) -> None:
    with connected(source) as client, follower(source.uri, target.database_url) as one:
        for number, change in enumerate(CHANGES):
            change(client)
            one.catch_up()
            if number % 6 == 5 or change is CHANGES[-1]:
                assert compare(source.uri, target.uri) == []
        assert one.catch_up() == Step(0, client.get_current_notificationEventId().eventId)


def test_unlogged_changes_arrive_with_a_full_comparison(source: Server, target: Server) -> None:
    with connected(source) as client, follower(source.uri, target.database_url) as one:
        for change in UNLOGGED:
            change(client)
            assert compare(source.uri, target.uri) != []
            one.catch_up(whole=True)
            assert compare(source.uri, target.uri) == []


def test_sweeps_and_comparisons_run_beside_the_batches(source: Server, target: Server) -> None:
    with (
        connected(source) as client,
        closing(open_source(source.uri)) as opened_source,
        opened(target.database_url) as store,
    ):
        one = Follower(opened_source, store, another=partial(open_source, source.uri))
        with one.lock():
            client.update_table_column_statistics(statistics("sales", "plain", 5))
            granted(client, "logs")
            one._round_due = 0.0
            assert compare(source.uri, target.uri) != []
            for number in count():
                client.add_partition(partition("sales", "logs", [f"beside{number}"]))
                assert one.step().events > 0
                if not compare(source.uri, target.uri):
                    break


def test_a_sweep_that_fails_ends_the_follower(source: Server, target: Server) -> None:
    def broken() -> Source:
        raise ValueError("broken")

    with closing(open_source(source.uri)) as opened_source, opened(target.database_url) as store:
        one = Follower(opened_source, store, another=broken)
        with one.lock():
            one.step()
            assert one._sweep is not None
            assert one._sweep._thread is not None
            one._sweep._thread.join()
            with pytest.raises(UnavailableError, match="ValueError: broken"):
                one.step()


def test_many_changes_of_one_object_are_applied_once(source: Server, target: Server) -> None:
    caught_up(source, target)
    with connected(source) as client:
        for _ in range(2):
            client.create_database(Database("twice"))
            client.create_table(table("twice", "t", [("ds", "string")]))
            client.add_partition(partition("twice", "t", ["1"]))
            client.drop_database("twice", True, True)
        client.create_database(Database("twice"))
        client.create_table(table("twice", "t", [("hour", "int")]))
    assert caught_up(source, target).events > 8
    assert compare(source.uri, target.uri) == []


def test_partitions_that_are_gone_are_asked_for_together(
    source: Server, target: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [[f"gone{number}"] for number in range(3)]
    with connected(source) as client:
        client.add_partitions([partition("sales", "logs", one) for one in values])
        caught_up(source, target)
        for one in values:
            client.drop_partition("sales", "logs", one, True)
    methods: list[str] = []
    call = ThriftCalls.call

    def counted(self: ThriftCalls, method: str, *arguments: Any) -> Any:
        methods.append(method)
        return call(self, method, *arguments)

    monkeypatch.setattr(ThriftCalls, "call", counted)
    assert caught_up(source, target).events == len(values)
    assert methods.count("get_partitions_by_names") == 1
    assert compare(source.uri, target.uri) == []


def test_the_databases_are_read_only_here(source: Server, target: Server) -> None:
    kinds = (InvalidOperationException, MetaException)
    with connected(target) as client:
        for change in (
            lambda: client.create_table(table("sales", "mine")),
            lambda: client.drop_table("sales", "plain", False),
            lambda: client.add_partition(partition("sales", "logs", ["9"])),
            lambda: client.drop_database("sales", False, True),
            lambda: granted(client, "plain"),
        ):
            with pytest.raises(kinds, match=r"read-only here: it was imported from the metastore 127\.0\.0\.1-"):
                change()
        client.create_database(Database("own"))
        client.create_table(table("own", "t"))
        client.drop_database("own", True, True)
    assert compare(source.uri, target.uri) == []


def test_the_delay_is_measured_as_long_as_a_process_follows(source: Server, target: Server) -> None:
    def delay() -> tuple[float, float]:
        with store._engine.connect() as connection:
            figures = read_figures(connection)
        return figures["metastore_import_behind_seconds"][""], figures["metastore_import_behind_events"][""]

    with closing(open_source(source.uri)) as opened_source, opened(target.database_url) as store:
        lasting, once = Follower(opened_source, store, lasting=True), Follower(opened_source, store)
        with lasting.lock():
            while lasting.step().events:
                pass
            behind = "UPDATE imports SET current_at = now() - interval '1 hour', source_event = position + 5"
            execute(target.database_url, behind)
            assert delay() >= (3600, 5)
            lasting._noted = 0.0
            lasting._note_delay(lasting._state()._replace(position=None))  # without a log, between two rounds
            assert delay() >= (3600, 5)
        with lasting.lock():  # it died, and is started again
            lasting._noted = 0.0
            lasting.step()
            assert delay() < (3600, 1)
        execute(target.database_url, behind)
        with once.lock():
            once.catch_up()
            assert delay() == (0, 0)


def test_the_second_follower_waits_and_stores_nothing(source: Server, target: Server) -> None:
    with connected(source) as client, follower(source.uri, target.database_url) as first:
        with closing(open_source(source.uri)) as another, opened(target.database_url) as store:
            second = Follower(another, store)
            with second.lock() as is_held:
                assert not is_held
            altered(client, "plain", lambda one: one.parameters.update(two="1"))
            with pytest.raises(ConflictError):  # a follower that lost its lock without noticing
                second.step()
        assert first.catch_up().events == 1
    assert compare(source.uri, target.uri) == []


def test_a_comparison_while_following_shows_lasting_differences(
    source: Server, target: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two differences, the follower removes one before the second comparison."""
    caught_up(source, target)
    with opened(target.database_url) as store, store.transaction() as work:
        plain = work.tables.find(TableName("hive", "sales", "keyed"))
        assert plain is not None
        struct = plain.encoded.decode()
        struct.owner = "somebody"
        work.tables.update(plain.ref.id, plain.ref.database_id, struct)
    with connected(source) as client:
        altered(client, "plain", lambda one: one.parameters.update(lag="1"))
    own, sleep = threading.get_ident(), time.sleep

    def follow_meanwhile(seconds: float) -> None:
        if threading.get_ident() == own:
            caught_up(source, target)
        else:  # a thread of another library
            sleep(seconds)

    monkeypatch.setattr(time, "sleep", follow_meanwhile)
    assert run(["import", "verify", source.uri, "--uri", target.uri, "--lasting"]) == 1
    shown = capsys.readouterr().out
    assert "owner" in shown
    assert "parameters.lag" not in shown
    monkeypatch.undo()
    with follower(source.uri, target.database_url) as one:
        one.catch_up(whole=True)
    assert run(["import", "verify", source.uri, "--uri", target.uri]) == 0


def test_an_object_that_cannot_be_stored_is_reported_and_the_others_arrive(source: Server, target: Server) -> None:
    class Spoiled(Without):
        def tables(self, names: Sequence[TableName]) -> Any:
            structs = self._source.tables(names)
            for name in structs.keys() & {TableName("hive", "sales", "plain")}:
                structs[name].parameters["nul"] = "a\0b"
            return structs

    before = caught_up(source, target).position or 0
    with connected(source) as client:
        altered(client, "plain", lambda one: one.parameters.update(spoiled="1"))
        altered(client, "logs", lambda one: one.parameters.update(spoiled="1"))
        client.create_database(Database("beside"))
    with closing(open_source(source.uri)) as real, opened(target.database_url) as store:
        one = Follower(Spoiled(real, lambda _: False), store)  # type: ignore[arg-type] # it passes everything else on
        with one.lock():
            assert one.catch_up().position == before + 3
        with store.read() as work:
            actual = [one for one in work.imports.findings(work.imports.all()[0].id) if "cannot store" in one.kind]
    assert [one.object for one in actual] == ["sales.plain"]
    assert actual[0].detail.startswith("it was not changed: ")
    assert {one.object for one in compare(source.uri, target.uri)} == {"sales.plain"}
    with follower(source.uri, target.database_url) as one:
        one.catch_up(whole=True)
    assert compare(source.uri, target.uri) == []


def test_a_refresh_does_not_wait_for_a_source_that_is_down_or_a_follower_that_stores_nothing(
    source: Server, target: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Down(Without):
        def log(self) -> Any:
            raise UnavailableError("it does not answer")

    with (
        closing(open_source(source.uri)) as real,
        follower(source.uri, target.database_url),  # it makes no step
        opened(target.database_url) as store,
    ):
        with store.read() as work:
            state = work.imports.all()[0]
        with pytest.raises(UnavailableError, match="it does not answer"):
            compared_by_follower(store, state, Down(real, lambda _: False))  # type: ignore[arg-type] # it passes on
        monkeypatch.setattr(last_changes, "_SILENCE", 0.0)
        with pytest.raises(UnavailableError, match=r"has stored nothing for 0 s\. Look at its log, or"):
            compared_by_follower(store, state, real)
    execute(target.database_url, "UPDATE imports SET options = options - 'compare'")


class KilledError(Exception):
    """Stands for the end of a process."""


def test_a_follower_that_is_killed_in_a_batch_stores_nothing_of_it(
    source: Server, target: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = caught_up(source, target).position
    with connected(source) as client:
        client.create_table(table("sales", "killed", [("ds", "string")]))
        client.add_partitions([partition("sales", "killed", [str(number)]) for number in range(3)])
        altered(client, "plain", lambda one: one.parameters.update(killed="1"))
    commit = UnitOfWork.commit
    for step in range(2):

        def killed(work: UnitOfWork, at: list[int] = [step + 1]) -> None:  # noqa: B006 - counts, from the lock on
            at[0] -= 1
            if at[0] < 0:
                raise KilledError
            commit(work)

        monkeypatch.setattr(UnitOfWork, "commit", killed)
        with pytest.raises(KilledError):
            caught_up(source, target)
        monkeypatch.undo()
        with opened(target.database_url) as store, store.read() as work:
            assert (work.imports.all()[0].position == before) == (step == 0)
    caught_up(source, target)
    assert compare(source.uri, target.uri) == []


def test_a_source_grants_nothing_on_other_databases(source: Server, target: Server) -> None:
    """Also not by members of a role that has rights on them."""
    with connected(source) as theirs, connected(target) as ours:
        for client in (theirs, ours):
            for role in ("keepers", "inner"):
                client.create_role(Role(role, 0, "me"))
        ours.create_role(Role("movers", 0, "me"))
        ours.grant_privileges(bag(everywhere("file:/w"), "LOCATION", "movers", ROLE))
        theirs.create_role(Role("movers", 0, "me"))
        theirs.grant_role("movers", "mallory", PrincipalType.USER, "me", PrincipalType.USER, False)
        caught_up(source, target)
        assert [role.roleName for role in ours.list_roles("mallory", PrincipalType.USER)] == ["public"]
        for client in (ours, theirs):
            client.drop_role("movers")
        ours.create_database(Database("own"))
        ours.grant_privileges(bag(on_database("own"), "ALL", "keepers", ROLE))
        ours.grant_role("keepers", "inner", PrincipalType.ROLE, "me", PrincipalType.USER, False)
        ours.grant_role("keepers", "alice", PrincipalType.USER, "me", PrincipalType.USER, False)
        theirs.grant_privileges(bag(everywhere(), "ALL", "mallory"))
        theirs.create_role(Role("harmless", 0, "me"))
        for role in ("keepers", "harmless"):
            theirs.grant_role(role, "mallory", PrincipalType.USER, "me", PrincipalType.USER, False)
        theirs.grant_role("inner", "mallory", PrincipalType.USER, "me", PrincipalType.USER, False)
        caught_up(source, target)
        caught_up(source, target)
        assert [role.roleName for role in ours.list_roles("mallory", PrincipalType.USER)] == ["harmless", "public"]
        assert [role.roleName for role in ours.list_roles("alice", PrincipalType.USER)] == ["keepers", "public"]
        assert ours.list_privileges("mallory", PrincipalType.USER, HiveObjectRef()) == []
        with opened(target.database_url) as store, store.read() as work:
            found = work.imports.findings(work.imports.all()[0].id)
        beyond = [one.object for one in found if one.kind == BEYOND]
        assert sorted(beyond) == ["privileges on everything", "role inner", "role keepers", "role movers"]
        ours.drop_database("own", True, True)
        for role in ("keepers", "inner"):
            ours.drop_role(role)
        caught_up(source, target)
    with opened(target.database_url) as store, store.read() as work:
        assert not work.import_rights.has_other_databases(work.imports.all()[0].id)
    assert compare(source.uri, target.uri) == []


def test_a_source_cannot_use_up_the_numbers_of_this_server(target: Server) -> None:
    with opened(target.database_url) as store, store.read() as work:
        with pytest.raises(InvalidObjectError, match="no numbers"):
            work.bulk_objects.raise_last_event(2**63 - 1)
        with pytest.raises(InvalidObjectError, match="no numbers"):
            work.bulk_objects.raise_transaction_marks(1, {TableName("hive", "sales", "plain"): 2**63 - 1})


def test_a_source_that_answers_with_another_database_does_not_replace_it(
    source: Server, target: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source names the database as usual, and then sends one with the name of a database of this server."""
    original = ThriftCalls.call

    def call(calls: ThriftCalls, method: str, *arguments: Any) -> Any:
        reply = original(calls, method, *arguments)
        if isinstance(reply, Database) and reply.name == "sales":
            reply.name, reply.ownerName = "own", "mallory"
        return reply

    with connected(source) as theirs, connected(target) as ours:
        ours.create_database(Database("own"))
        before = ours.get_database("own")
        database = theirs.get_database("sales")
        database.parameters = {"changed": "yes"}
        theirs.alter_database("sales", database)
        monkeypatch.setattr(ThriftCalls, "call", call)
        caught_up(source, target)
        assert ours.get_database("own") == before
        assert ours.get_database("sales").parameters["changed"] == "yes"
        ours.drop_database("own", True, True)
    with opened(target.database_url) as store, store.transaction() as work:
        number = work.imports.all()[0].id
        work.bulk_load.insert_databases([Database("own", locationUri="file:/own", catalogName="hive")])
        with pytest.raises(AlreadyExistsError, match=r"were not replaced: own"):
            apply(work, Target(number, Rewriting(()), keeps_events=False), Stage.DATABASES, [before])
        work.databases.delete(work.bulk_load.database_ids([DatabaseName("hive", "own")]).popitem()[1])
    late = Database("late", locationUri="file:/late", catalogName="hive")  # somebody creates it after the check
    with opened(target.database_url) as store:
        with store.transaction() as work:
            work.bulk_load.insert_databases([late], ())
        with pytest.raises(AlreadyExistsError), store.transaction() as work:
            work.bulk_load.insert_databases([late], ())
    with connected(target) as ours:
        ours.drop_database("late", True, True)
    monkeypatch.undo()
    with connected(source) as theirs:
        theirs.alter_database("sales", theirs.get_database("sales"))
    caught_up(source, target)
