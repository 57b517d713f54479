"""Following a log with gaps, repeated numbers or an older state, or a source without a log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from metastore.importing.follower.follower import Follower, Step
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.source import LogState, Source
from metastore.storage.importing.imports import COPIED
from tests.fixtures.database import execute
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import partition, table
from tests.wire.importing.changing import altered, statistics
from tests.wire.importing.followers import Without, caught_up, follower
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore.ttypes import Database


@pytest.mark.parametrize("kept", [0, 1])
def test_a_gap_in_the_log_makes_it_compare_everything(kept: int, source: Server, target: Server) -> None:
    before = caught_up(source, target).position or 0
    with connected(source) as client:
        altered(client, "plain", lambda one: one.parameters.update(gap=str(kept)))
        client.add_partition(partition("sales", "logs", [f"gap{kept}"]))
        altered(client, "logs", lambda one: one.parameters.update(gap=str(kept)))
    lines: list[str] = []
    with closing(open_source(source.uri)) as real, opened(target.database_url) as store:
        cut = Without(real, lambda number: number > before and number <= before + 3 - kept)
        one = Follower(cut, store, lines.append)  # type: ignore[arg-type] # it passes everything else on
        with one.lock():
            step = one.catch_up()
    assert step.compared
    assert step.position == before + 3
    assert [line for line in lines if "are missing in the log" in line]
    assert compare(source.uri, target.uri) == []


class Repeating(Without):
    """A source that gave the ID `number` to two events, as Hive 2.3 does. It commits the second one late."""

    repeats_event_ids = True

    def __init__(self, source: Source, number: int) -> None:
        super().__init__(source, lambda _: False)
        self._number = number
        self.is_late = True

    def log(self) -> LogState:
        state = self._source.log()
        assert state
        repeated = int(state.last > self._number)
        return replace(state, last=state.last - repeated, sequence=state.sequence - repeated)

    def events(self, after: int, limit: int) -> list[Any]:
        found = self._source.events(max(0, after - 1), limit)
        found = [one for one in found if one.eventId != self._number + 1 or not self.is_late]
        for one in found:
            one.eventId -= one.eventId > self._number
        return [one for one in found if one.eventId > after]


def test_an_event_that_appears_late_with_a_repeated_id_is_applied(source: Server, target: Server) -> None:
    before = caught_up(source, target).position or 0
    lines: list[str] = []
    with closing(open_source(source.uri)) as real, opened(target.database_url) as store:
        repeating = Repeating(real, before)
        one = Follower(repeating, store, lines.append)  # type: ignore[arg-type] # it passes everything else on
        with one.lock():
            one.catch_up()  # reads the latest events again
            with connected(source) as client:
                altered(client, "plain", lambda one: one.parameters.update(late="1"))
                client.add_partition(partition("sales", "logs", ["late"]))
            assert one.catch_up() == Step(1, before + 1)
            assert [each.field for each in compare(source.uri, target.uri)] == ["parameters.late"]
            execute(target.database_url, "UPDATE imports SET event_digest = NULL")  # as after a copy
            repeating.is_late = False
            assert one.catch_up() == Step(1, before + 1)
            with connected(source) as client:
                altered(client, "plain", lambda one: one.parameters.update(late="2"))
            assert one.catch_up() == Step(1, before + 2)
    assert lines == []
    assert compare(source.uri, target.uri) == []
    assert caught_up(source, target).position == before + 3


class Restored(Without):
    """A source whose log was restored, and has counted up to the same number again: events have other times."""

    def events(self, after: int, limit: int) -> list[Any]:
        found = self._source.events(after, limit)
        for one in found:
            one.eventTime += 5
        return found


def test_a_source_that_was_restored_makes_it_compare_everything(source: Server, target: Server) -> None:
    with connected(source) as client:
        altered(client, "plain", lambda one: one.parameters.update(restored="0"))
        before = caught_up(source, target).position
        client.update_table_column_statistics(statistics("sales", "plain", 7))  # it is in no log
    assert compare(source.uri, target.uri) != []
    lines: list[str] = []
    with closing(open_source(source.uri)) as real, opened(target.database_url) as store:
        restored = Restored(real, lambda _: False)
        for compares in (True, False):
            one = Follower(restored, store, lines.append)  # type: ignore[arg-type] # it passes everything else on
            with one.lock():
                assert one.catch_up() == Step(0, before, compared=compares)
    assert [line for line in lines if "the source was restored" in line] == lines != []
    assert compare(source.uri, target.uri) == []
    with follower(source.uri, target.database_url) as again:
        assert again.catch_up().compared


def test_a_database_that_was_restored_follows_from_its_own_position(
    source: Server, target: Server, make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    url, restored = make_database(), make_database()
    copy(source.uri, url)
    with connected(source) as client:
        client.add_partition(partition("sales", "logs", ["before"]))
        with follower(source.uri, url) as one:
            one.catch_up()
        clone(url, restored)
        client.drop_partition("sales", "logs", ["before"], True)
        client.add_partition(partition("sales", "logs", ["after"]))
    for each in (url, restored):
        with follower(source.uri, each) as one:
            assert one.catch_up().events == 2
    with running(restored, tmp_path_factory.mktemp("restored")) as server:
        assert compare(source.uri, server.uri) == []
    caught_up(source, target)


def clone(url: str, restored: str) -> None:
    """Replaces a database by the present state of another one, whose sessions are ended."""
    before, after = (make_url(each).database for each in (url, restored))
    admin = make_url(url).set(database="postgres").render_as_string(hide_password=False)
    execute(admin, f'DROP DATABASE "{after}"')
    ended = f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '{before}'"
    execute(admin, ended)
    execute(admin, f'CREATE DATABASE "{after}" TEMPLATE "{before}"')


def test_without_a_log_everything_is_compared(source: Server, target: Server) -> None:
    with connected(source) as client:
        client.create_database(Database("unlogged"))
        client.create_table(table("unlogged", "t", [("ds", "string")]))
        client.add_partition(partition("unlogged", "t", ["1"]))
        client.drop_table("sales", "plain", True)
    with closing(open_source(source.uri)) as real, opened(target.database_url) as store:
        with store.transaction() as work:
            work.imports.set_state(work.imports.all()[0].id, COPIED)
        blind = Without(real, lambda _: True, has_log=False)
        one = Follower(blind, store)  # type: ignore[arg-type] # it passes everything else on
        with one.lock():
            assert one.catch_up().compared
    assert compare(source.uri, target.uri) == []
