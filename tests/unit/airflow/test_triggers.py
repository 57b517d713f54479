"""Triggers of assets, with stand-ins for Airflow's base classes: what fires, and which position is stored."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

STANDINS = {
    "airflow.sdk": ("BaseHook",),
    "airflow.sdk.exceptions": ("AirflowRuntimeError",),
    "airflow.triggers.base": ("BaseEventTrigger", "BaseTrigger", "TaskSuccessEvent", "TriggerEvent"),
    "airflow.triggers.shared_stream": ("AdvanceItem", "SharedStreamProducer"),
}


class Base:
    """A trigger, a producer or an event of Airflow."""

    asset_state_store: Any = None
    log = SimpleNamespace(warning=lambda *_: None)

    def __init__(self, payload: Any = None) -> None:
        self.payload = payload


class Advanced(NamedTuple):
    broker_payload: int


@pytest.fixture
def triggers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of triggers. It is imported for each test, because Airflow is not installed here."""
    for name, classes in STANDINS.items():
        module = ModuleType(name)
        for each in classes:
            setattr(module, each, type(each, (RuntimeError,) if "Error" in each else (Base,), {}))
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("airflow", "airflow.triggers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name in ("metastore.airflow.hook", "metastore.airflow.triggers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("metastore.airflow.triggers")
    for name in ("metastore.airflow.hook", "metastore.airflow.triggers"):
        del sys.modules[name]


class Store:
    """The state of an asset."""

    def __init__(self, position: int | None) -> None:
        self.positions = [] if position is None else [position]

    async def aget(self, name: str) -> int | None:
        assert "d/t" in name
        return self.positions[-1] if self.positions else None

    async def aset(self, name: str, position: int) -> None:
        self.positions.append(position)


class Link:
    """A metastore at event 10, and a hub that repeats events on demand."""

    def __init__(self, *, has_partitions: bool = True) -> None:
        self.hub, self.rewound, self._names = self, list[int](), ["ds=1"] if has_partitions else []

    async def rewind(self, table: tuple[str, str], after: int) -> None:
        self.rewound.append(after)

    async def call(self, function: Any) -> Any:
        newest = SimpleNamespace(eventId=10)
        methods = SimpleNamespace(
            get_current_notificationEventId=lambda: newest, get_partition_names=lambda *_: self._names
        )
        return function(SimpleNamespace(methods=methods))


def event(number: int, kind: str = "ADD_PARTITION", **values: str) -> dict[str, Any]:
    return {"id": number, "type": kind, "database": "d", "table": "t", "partitions": [values or {"ds": "1"}]}


def fired(
    triggers: Any,
    monkeypatch: pytest.MonkeyPatch,
    link: Link,
    store: Store | None,
    *batches: tuple[list[dict[str, Any]], int, int],
    **options: Any,
) -> list[tuple[int, str]]:
    """Returns the number and type of the events for which a trigger fires. A batch: events, position, persisted."""

    async def link_of(name: str) -> Link:
        return link

    async def stream() -> AsyncIterator[Any]:
        for events, position, persisted in batches:
            yield triggers.Batch(events, position, lambda persisted=persisted: persisted)

    async def run() -> list[tuple[int, str]]:
        trigger = triggers.PartitionEventTrigger(table="D.t", **options)
        trigger.asset_state_store = store
        kind, arguments = trigger.serialize()
        assert triggers.PartitionEventTrigger(**arguments).serialize() == (kind, arguments)
        return [(each.payload["id"], each.payload["type"]) async for each in trigger.filter_shared_stream(stream())]

    monkeypatch.setattr(triggers, "link_of", link_of)
    return asyncio.run(run())


def test_a_new_trigger_begins_with_the_next_event(triggers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    link, store = Link(), Store(None)
    batches = ([event(9), event(10), event(11), event(12, "DROP_PARTITION")], 12, 0), ([], 30, 12)
    assert fired(triggers, monkeypatch, link, store, *batches) == [(11, "ADD_PARTITION")]
    assert (link.rewound, store.positions) == ([10], [10, 30])


def test_a_trigger_continues_where_it_was(triggers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    link, store = Link(), Store(5)
    assert fired(triggers, monkeypatch, link, store, ([event(5), event(6)], 6, 0)) == [(6, "ADD_PARTITION")]
    assert (link.rewound, store.positions) == ([5], [5])


def test_no_position_is_stored_before_airflow_has_stored_the_event(
    triggers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(5)
    fired(triggers, monkeypatch, Link(), store, ([event(6)], 6, 0), ([], 7, 5), ([], 8, 6), ([], 9, 6))
    assert store.positions == [5, 8]


def test_values_and_types_select(triggers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event(11, region="eu"), event(12, region="us"), event(13, "INSERT", region="eu")]
    found = fired(triggers, monkeypatch, Link(), None, (events, 13, 0), partitions="region=eu", types=["INSERT"])
    assert found == [(13, "INSERT")]


@pytest.mark.parametrize("has_partitions", [True, False])
def test_missing_events_fire_once_if_there_are_partitions(
    triggers: Any, monkeypatch: pytest.MonkeyPatch, has_partitions: bool
) -> None:
    missed = {"id": 20, "type": "MISSED", "first": 11, "last": 20}
    known = {"id": 9, "type": "MISSED", "first": 1, "last": 9}
    begun = {"id": 21, "type": "BEGUN"}
    link = Link(has_partitions=has_partitions)
    found = fired(triggers, monkeypatch, link, None, ([known, missed, begun, event(21)], 21, 0))
    assert found == [(20, "MISSED")] * has_partitions + [(21, "ADD_PARTITION")]


def test_numbers_that_come_again_fire_again(triggers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rewound = {"id": 3, "type": "REWOUND", "from": 12}
    found = fired(triggers, monkeypatch, Link(), None, ([event(12), rewound, event(4)], 4, 0))
    assert found == [(12, "ADD_PARTITION"), (3, "REWOUND"), (4, "ADD_PARTITION")]


class Hub:
    """Gives batches of events to the producer."""

    def __init__(self, *batches: list[dict[str, Any]]) -> None:
        self.batches, self.waits, self.position, self.has_events = list(batches), list[float](), 1, False

    @contextmanager
    def subscribed(self, tables: Any, wanted: Any) -> Iterator[Any]:
        assert wanted(None)
        yield self

    async def next(self, seconds: float) -> list[dict[str, Any]]:
        self.waits.append(seconds)
        return self.batches.pop(0)


def test_the_producer_tells_when_airflow_has_stored_events(triggers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub([event(5)], [], [], [])

    async def link_of(name: str) -> Any:
        return SimpleNamespace(hub=hub)

    async def run() -> None:
        monkeypatch.setattr(triggers, "link_of", link_of)
        producer = triggers.TableEvents("c", ("d", "t"))
        stream = producer.open_stream()
        batch, position = await anext(stream)
        assert (batch.events, position, batch.persisted()) == ([event(5)], 5, -1)
        hub.batches.insert(0, [])  # a look while it is not stored: nothing to tell
        hub.position = 9
        task = asyncio.ensure_future(anext(stream))
        await producer.advance([Advanced(5)])
        batch, position = await task
        assert (batch.events, position, batch.persisted()) == ([], 5, 5)
        batch, position = await anext(stream)
        assert (batch.events, position) == ([], 9)
        assert hub.waits[1:3] == [triggers._SOON, triggers._LATER]

    asyncio.run(run())
