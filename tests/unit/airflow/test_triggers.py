"""Triggers of assets, with stand-ins for Airflow's base classes: what fires, and which position is stored."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from metastore.airflow import hub as hubs

STANDINS = {
    "airflow.sdk": ("BaseHook", "Variable"),
    "airflow.triggers.base": ("BaseEventTrigger", "BaseTrigger", "TaskSuccessEvent", "TriggerEvent"),
    "airflow.triggers.shared_stream": ("AdvanceItem", "SharedStreamProducer"),
}


class Base:
    """A trigger, a producer or an event of Airflow."""

    def __init__(self, payload: Any = None) -> None:
        self.payload = payload


@pytest.fixture
def triggers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of triggers. It is imported for each test, because Airflow is not installed here."""
    for name, classes in STANDINS.items():
        module = ModuleType(name)
        for each in classes:
            setattr(module, each, type(each, (Base,), {}))
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("airflow", "airflow.triggers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name in ("metastore.airflow.hook", "metastore.airflow.triggers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("metastore.airflow.triggers")
    for name in ("metastore.airflow.hook", "metastore.airflow.triggers"):
        del sys.modules[name]


class Link:
    """A metastore whose watchers begin after event 10, and a hub that notes what it is to send again."""

    def __init__(self, *, has_partitions: bool = True) -> None:
        self.hub = self.keeper = self
        self.rewound, self._names = list[int](), ["ds=1"] if has_partitions else []
        self.connection = 1

    async def first(self, table: tuple[str, str]) -> int:
        assert table == ("d", "t")
        return 10

    async def rewind(self, table: tuple[str, str], after: int) -> int:
        self.rewound.append(after)
        return self.connection

    async def call(self, function: Any) -> Any:
        return function(SimpleNamespace(methods=SimpleNamespace(get_partition_names=lambda *_: self._names)))


def event(number: int, kind: str = "ADD_PARTITION", **values: str) -> dict[str, Any]:
    return {"id": number, "type": kind, "database": "d", "table": "t", "partitions": [values or {"ds": "1"}]}


def fired(
    triggers: Any, monkeypatch: pytest.MonkeyPatch, link: Link, *events: dict[str, Any], **options: Any
) -> list[tuple[int, str]]:
    """Returns the number and type of the events for which a trigger fires."""

    async def link_of(name: str) -> Link:
        return link

    async def stream() -> AsyncIterator[Any]:
        yield list(events)

    async def run() -> list[tuple[int, str]]:
        trigger = triggers.PartitionEventTrigger(table="D.t", **options)
        kind, arguments = trigger.serialize()
        assert triggers.PartitionEventTrigger(**arguments).serialize() == (kind, arguments)
        return [(each.payload["id"], each.payload["type"]) async for each in trigger.filter_shared_stream(stream())]

    monkeypatch.setattr(triggers, "link_of", link_of)
    return asyncio.run(run())


def test_a_trigger_fires_for_events_after_its_beginning(triggers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    link = Link()
    events = (event(9), event(10), event(11), event(11), event(12, "DROP_PARTITION"))
    assert fired(triggers, monkeypatch, link, *events) == [(11, "ADD_PARTITION")]
    assert link.rewound == [10]


def test_values_and_types_select(triggers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    events = (event(11, region="eu"), event(12, region="us"), event(13, "INSERT", region="eu"))
    found = fired(triggers, monkeypatch, Link(), *events, partitions="region=eu", types=["INSERT"])
    assert found == [(13, "INSERT")]


@pytest.mark.parametrize("has_partitions", [True, False])
def test_missing_events_fire_once_if_there_are_partitions(
    triggers: Any, monkeypatch: pytest.MonkeyPatch, has_partitions: bool
) -> None:
    known = {"id": 9, "type": "MISSED", "first": 1, "last": 9}
    missed = {"id": 20, "type": "MISSED", "first": 11, "last": 20}
    link = Link(has_partitions=has_partitions)
    found = fired(triggers, monkeypatch, link, known, missed, {"id": 21, "type": "BEGUN"}, event(21))
    assert found == [(20, "MISSED")] * has_partitions + [(21, "ADD_PARTITION")]


def test_numbers_that_come_again_fire_again(triggers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rewound = {"id": 3, "type": "REWOUND", "from": 12}
    found = fired(triggers, monkeypatch, Link(), event(12), rewound, event(4))
    assert found == [(12, "ADD_PARTITION"), (3, "REWOUND"), (4, "ADD_PARTITION")]


def test_events_from_before_a_rewind_do_not_hide_those_that_come_again(
    triggers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = Link()
    link.connection = 2
    events = ({**event(51), "connection": 1}, *({**event(number), "connection": 2} for number in (12, 51)))
    assert fired(triggers, monkeypatch, link, *events) == [(12, "ADD_PARTITION"), (51, "ADD_PARTITION")]


class Opened:
    """A stream whose first connection begins at event 50, and whose next ones send what they are asked for."""

    def __init__(self, after: int | None) -> None:
        self.after, self._closed = after, threading.Event()

    def close(self) -> None:
        self._closed.set()

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any] | None]]:
        if self.after is None:
            yield 50, None
        for number in range(51 if self.after is None else self.after + 1, 53):
            yield number, event(number)
        self._closed.wait()


def test_a_trigger_that_does_not_share_fires_for_all_events(triggers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def newest() -> int:
        raise AssertionError

    async def load() -> dict[str, Any]:
        return {"position": 47, "before": 47, "writer": "here"}

    async def save(value: dict[str, Any]) -> None:
        pass

    async def run() -> list[dict[str, Any]]:
        hub = hubs.Hub(Opened)
        link = SimpleNamespace(hub=hub, keeper=triggers.Keeper(hub, "here", newest, load, save))

        async def link_of(name: str) -> Any:
            return link

        monkeypatch.setattr(triggers, "link_of", link_of)
        firing = triggers.PartitionEventTrigger(table="d.t").run()
        found = [(await asyncio.wait_for(anext(firing), 30)).payload for _ in range(5)]
        await firing.aclose()
        hub.close()
        return found

    assert asyncio.run(run()) == [event(number) for number in range(48, 53)]


class Hub:
    """Gives events to a producer, as a hub and its subscription do."""

    def __init__(self, *batches: list[dict[str, Any]]) -> None:
        self.batches, self.position = list(batches), 0

    @contextmanager
    def subscribed(self, tables: Any, wanted: Any, *, is_source: bool) -> Iterator[Any]:
        assert is_source
        for batch in self.batches:
            for each in batch:
                assert wanted(each)
                self.position = each["id"]
        yield self

    async def next(self, seconds: float) -> list[dict[str, Any]]:
        return self.batches.pop(0)


def test_the_position_stays_behind_events_that_airflow_has_not_stored(
    triggers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub([event(5), event(6)], [], [event(9)])

    async def nothing(*_: Any) -> None:
        return None

    async def run() -> None:
        keeper = triggers.Keeper(hub, "here", nothing, nothing, nothing)
        link = SimpleNamespace(hub=hub, keeper=keeper)

        async def link_of(name: str) -> Any:
            return link

        monkeypatch.setattr(triggers, "link_of", link_of)
        producer = triggers.TableEvents("c", ("d", "t"))
        stream = producer.open_stream()
        assert await anext(stream) == ([event(5), event(6)], (5, 6))
        assert keeper.position == 4
        await producer.advance([advanced(5, 6)])
        assert keeper.position == 6
        assert await anext(stream) == ([event(9)], (9, 9))
        await producer.advance([advanced(9, 9, failed=1)])
        assert keeper.position == 9
        keeper._begin = 9
        assert [await keeper.first(("d", "t")), await keeper.first(("d", "t"))] == [8, 9]
        await stream.aclose()

    asyncio.run(run())


def advanced(first: int, last: int, failed: int = 0) -> SimpleNamespace:
    return SimpleNamespace(broker_payload=(first, last), outcome=SimpleNamespace(failed=failed))
