"""Waiters that share one stream: told, and reading the catalog when they cannot be told."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from metastore.airflow import hub as hubs
from metastore.airflow import link as linking
from metastore.airflow.hub import Hub
from metastore.airflow.link import Link, until
from metastore.airflow.settings import Settings
from metastore.airflow.waits import State, Wait
from metastore.client import Credentials
from metastore.client.errors import AuthenticationError, MetastoreUnavailableError
from metastore.client.events import Message

PATIENCE = 120.0  # seconds: threads and an event loop that take turns are slow on a busy machine


class Log:
    """A notification log, and the streams that read it."""

    def __init__(self) -> None:
        self.opened: list[Opened] = []

    def open(self, after: int | None) -> Opened:
        self.opened.append(Opened(after))
        return self.opened[-1]


class Opened:
    def __init__(self, after: int | None) -> None:
        self.after = after
        self._messages = queue.Queue[Message | Exception | None]()

    def close(self) -> None:
        self._messages.put(None)

    def send(self, number: int, kind: str = "", table: str = "t", **fields: Any) -> None:
        event = {"id": number, "type": kind, "database": "d", "table": table, **fields} if kind else None
        self._messages.put((number, event))

    def add(self, number: int, table: str = "t", **values: str) -> None:
        self.send(number, "ADD_PARTITION", table, partitions=[values])

    def fail(self, error: Exception) -> None:
        self._messages.put(error)

    def __iter__(self) -> Iterator[Message]:
        while (message := self._messages.get()) is not None:
            if isinstance(message, Exception):
                raise message
            yield message


class Catalog:
    """Partitions by table, as `waits.read` sees them. Counts readings."""

    def __init__(self) -> None:
        self.partitions: dict[str, set[str]] = {}
        self.bases: dict[str, str] = {}
        self.readings = 0
        self.errors: list[Exception] = []
        self._read = asyncio.Event()

    def read(self, client: Any, wait: Wait, left: Any = ()) -> State:
        assert client is not None
        existing = self.partitions.get(wait.table, set())  # before it counts: a test then changes the partitions
        self.readings += 1
        self._loop.call_soon_threadsafe(self._read.set)
        if self.errors:
            raise self.errors.pop()
        tables = {wait.key, ("d", self.bases.get(wait.table, wait.table))}
        return State(tuple(each for each in wait.partitions if each not in existing), frozenset(tables))

    async def when_read(self, times: int = 1) -> None:
        for _ in range(times):
            await self._read.wait()
            self._read.clear()

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Link, Log, Catalog], Awaitable[None]]], None]:
    """Runs a coroutine function with a link, whose hub reads a log, and a catalog."""
    monkeypatch.setattr(linking, "_PAUSE", 0.0)
    monkeypatch.setattr(hubs, "_REWIND", 0.0)

    def start(test: Callable[[Link, Log, Catalog], Awaitable[None]]) -> None:
        async def running() -> None:
            log, catalog = Log(), Catalog()
            await catalog.start()
            monkeypatch.setattr(linking, "read", catalog.read)
            link = Link(Settings("thrift://h:1", None, "u", Credentials()))
            link.hub = Hub(log.open)
            await asyncio.wait_for(test(link, log, catalog), PATIENCE)
            link.close()

        asyncio.run(running())

    return start


Run = Callable[[Callable[[Link, Log, Catalog], Awaitable[None]]], None]


def waiting(link: Link, *waits: Wait) -> asyncio.Task[None]:
    return asyncio.ensure_future(until(link, waits or (Wait.of("d.t", "ds=1"),), PATIENCE))


def test_what_exists_needs_no_event(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        catalog.partitions["t"] = {"ds=1"}
        await waiting(link)

    run(test)


def test_an_event_ends_a_wait_and_others_cost_no_reading(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        task = waiting(link)
        await catalog.when_read()
        (stream,) = log.opened
        stream.send(1)
        await catalog.when_read()  # the stream has begun
        for number in range(2, 50):
            stream.add(number, ds="0")
            stream.add(number, "other", ds="1")
        catalog.partitions["t"] = {"ds=1"}
        stream.add(50, ds="1")
        await task
        assert catalog.readings == 3

    run(test)


def test_a_table_that_does_not_exist_is_waited_for(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        task = waiting(link)
        await catalog.when_read()
        log.opened[0].send(1)
        await catalog.when_read()
        log.opened[0].send(2, "CREATE_TABLE")
        await catalog.when_read()
        catalog.partitions["t"] = {"ds=1"}
        log.opened[0].add(3, ds="1")
        await task

    run(test)


@pytest.mark.parametrize("kind", ["MISSED", "REWOUND"])
def test_the_catalog_is_read_again_when_events_are_missing(run: Run, kind: str) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        task = waiting(link)
        await catalog.when_read()
        log.opened[0].send(1)
        await catalog.when_read()
        catalog.partitions["t"] = {"ds=1"}
        log.opened[0].send(9, kind, "")
        await task

    run(test)


def test_changes_of_bases_end_a_wait(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        catalog.bases["t"] = "base"
        task = waiting(link, Wait.of("d.t", "ds=1", dependencies=True))
        await catalog.when_read(2)  # the second time with the bases known
        log.opened[0].send(1)
        await catalog.when_read()
        catalog.partitions["t"] = {"ds=1"}
        log.opened[0].add(2, "base", ds="7")
        await task

    run(test)


def test_a_server_that_is_away_is_asked_again(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        catalog.errors = [MetastoreUnavailableError("away")] * 3
        catalog.partitions["t"] = {"ds=1"}
        await waiting(link)
        assert catalog.readings == 4

    run(test)


def test_rejected_credentials_end_all_waits(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        tasks = [waiting(link) for _ in range(3)]
        await catalog.when_read()
        log.opened[0].fail(AuthenticationError("no"))
        for task in tasks:
            with pytest.raises(AuthenticationError):
                await task

    run(test)


def test_a_stream_that_has_failed_is_an_error_for_later_waiters(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        assert link.hub
        task = waiting(link)
        rewinding = asyncio.ensure_future(link.hub.rewind(("d", "nobody"), 1))
        await catalog.when_read()
        log.opened[0].fail(AuthenticationError("no"))
        for each in (task, rewinding, waiting(link)):
            with pytest.raises(AuthenticationError):
                await each

    run(test)


def test_thousands_of_waiters_share_one_stream(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        tasks = [waiting(link, Wait.of(f"d.t{number}", "ds=1")) for number in range(2_000)]
        while catalog.readings < 2_000:
            await catalog.when_read()
        (stream,) = log.opened
        before = catalog.readings
        catalog.partitions = {f"t{number}": {"ds=1"} for number in range(2_000)}
        stream.add(1, "t7", ds="1")  # the first message: all of them read the catalog
        await asyncio.gather(*tasks)
        assert (len(log.opened), catalog.readings) == (1, before + 2_000)

    run(test)


def test_a_rewind_repeats_events_once_for_those_who_ask_together(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        assert link.hub
        with link.hub.subscribed({("d", "t")}, lambda _: True, is_source=True) as one:
            log.opened[0].send(50)
            assert [event["type"] for event in await one.next(PATIENCE)] == ["BEGUN"]
            await asyncio.gather(*(link.hub.rewind(("d", "t"), after) for after in (48, 40, 60)))
            log.opened[0].add(51, ds="lost with the closed stream")
            while len(log.opened) == 1:
                await asyncio.sleep(0)
            log.opened[1].add(41, ds="1")
            assert [event["id"] for event in await one.next(PATIENCE)] == [41]
            assert [stream.after for stream in log.opened] == [None, 40]

    run(test)


def test_events_say_whether_they_come_before_a_rewind(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        assert link.hub
        with link.hub.subscribed({("d", "t")}, lambda _: True, is_source=True) as one:
            log.opened[0].send(50)
            log.opened[0].add(51, ds="1")
            while link.hub.position != 51:
                await asyncio.sleep(0)
            assert await link.hub.rewind(("d", "t"), 51) == 1, "nothing comes again"
            assert await link.hub.rewind(("d", "t"), 40) == 2
            assert [event["connection"] for event in await one.next(PATIENCE)] == [1, 1]
            while len(log.opened) == 1:
                await asyncio.sleep(0)
            log.opened[1].add(41, ds="1")
            assert [event["connection"] for event in await one.next(PATIENCE)] == [2]

    run(test)


def test_who_waits_before_the_stream_has_begun_is_told_after_a_rewind(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        assert link.hub
        with link.hub.subscribed({("d", "t")}, lambda _: True, is_source=True) as one:
            await link.hub.rewind(("d", "t"), 40)
            while len(log.opened) == 1:
                await asyncio.sleep(0)
            log.opened[1].send(41)
            assert [event["type"] for event in await one.next(PATIENCE)] == ["BEGUN"]

    run(test)


def test_a_rewind_waits_for_the_source_of_those_who_ask(run: Run) -> None:
    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        assert link.hub
        with link.hub.subscribed({("d", "t")}, lambda _: True) as sensor:
            log.opened[0].send(50)
            await sensor.next(PATIENCE)
            rewinding = asyncio.ensure_future(link.hub.rewind(("d", "t"), 40))
            await asyncio.sleep(0)
            assert (rewinding.done(), len(log.opened)) == (False, 1)
            with link.hub.subscribed({("d", "t")}, lambda _: True, is_source=True):
                await rewinding
                while len(log.opened) == 1:
                    await asyncio.sleep(0)
                assert log.opened[1].after == 40

    run(test)


def test_a_rewind_after_a_restore_that_nobody_waited_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "_LINGER", 0.0)

    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        hub = link.hub
        assert hub
        with hub.subscribed({("d", "t")}, lambda _: True) as one:
            log.opened[0].send(1000)
            await one.next(PATIENCE)
        while hub._stream is not None:
            await asyncio.sleep(0)
        with hub.subscribed({("d", "t")}, lambda _: True, is_source=True) as one:
            log.opened[1].send(50)  # the numbers of a restored database are lower
            await one.next(PATIENCE)
            await hub.rewind(("d", "t"), 40)
            while len(log.opened) == 2:
                await asyncio.sleep(0)
            assert log.opened[2].after == 40

    run(test)


def test_a_waiter_that_is_far_behind_reads_the_catalog(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "_KEPT", 10)

    async def test(link: Link, log: Log, catalog: Catalog) -> None:
        assert link.hub
        with link.hub.subscribed({("d", "t")}, lambda _: True) as one:
            log.opened[0].send(1)
            for number in range(2, 20):
                log.opened[0].add(number, ds="1")
            while link.hub.position != 19:
                await asyncio.sleep(0)
            events = await one.next(PATIENCE)
            assert events[0]["type"] == "MISSED"
            assert events[-1]["id"] == 19

    run(test)
