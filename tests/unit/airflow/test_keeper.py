"""Where watchers begin, after restarts of their process and when they come from another one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from metastore.airflow import keeper as keepers
from metastore.airflow.keeper import GRACE, Keeper

TABLE = ("d", "t")


class World:
    """A clock, a log at event 10, and what a process has saved."""

    def __init__(self, saved: dict[str, Any] | None = None) -> None:
        self.now, self.saved, self.writes = 1_000.0, saved, 0
        self.hub = SimpleNamespace(position=None, error=None)

    def keeper(self, writer: str = "here") -> Keeper:
        return Keeper(self.hub, writer, self.newest, self.load, self.save, lambda: self.now)

    async def newest(self) -> int:
        return 10

    async def load(self) -> Any:
        return self.saved

    async def save(self, value: dict[str, Any]) -> None:
        self.saved, self.writes = value, self.writes + 1


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


def test_the_first_start_begins_with_the_next_event() -> None:
    async def test() -> None:
        world = World()
        assert await world.keeper().first(TABLE) == 10
        assert world.saved == {"position": 10, "before": 10, "writer": "here"}

    run(test)


def test_a_restart_continues_and_another_host_goes_back() -> None:
    async def test() -> None:
        saved = {"position": 7, "before": 4, "writer": "here"}
        assert await World(saved).keeper().first(TABLE) == 7
        assert await World(saved).keeper("there").first(TABLE) == 4

    run(test)


def test_watchers_that_start_with_the_process_continue_together() -> None:
    async def test() -> None:
        world = World({"position": 7, "before": 4, "writer": "here"})
        keeper = world.keeper()
        for _ in range(20):  # Airflow starts a few triggers at a time
            assert await keeper.first(TABLE) == 7
            world.now += GRACE / 2
            world.hub.position = (world.hub.position or 7) + 100
            await keeper.look()

    run(test)


def test_later_watchers_go_back_because_another_process_may_have_had_them() -> None:
    async def test() -> None:
        world = World({"position": 7, "before": 4, "writer": "here"})
        keeper = world.keeper()
        await keeper.first(TABLE)
        for second in range(0, 600, 10):
            world.now, world.hub.position = 1_000.0 + second, 100 + second
            await keeper.look()
        began = await keeper.first(TABLE)
        assert 100 <= 690 - GRACE - 10 <= began <= 690 - GRACE
        world.now += 1
        assert await keeper.first(TABLE) == began

    run(test)


def test_a_log_that_begins_again_takes_watchers_with_it() -> None:
    async def test() -> None:
        world = World({"position": 700, "before": 600, "writer": "here"})
        keeper = world.keeper()
        assert await keeper.first(TABLE) == 700
        keeper.note("producer", {"id": 3, "type": "REWOUND", "from": 700})
        world.hub.position = 3
        assert await keeper.first(TABLE) == 3
        keeper.stored("producer", 3, None)
        await keeper.look()
        assert world.saved == {"position": 3, "before": 3, "writer": "here"}

    run(test)


def test_the_position_is_saved_after_events_and_once_a_minute() -> None:
    async def test() -> None:
        world = World()
        keeper = world.keeper()
        await keeper.first(TABLE)
        world.hub.position = 20
        await keeper.look()
        assert world.writes == 1
        keeper.note("p", {"id": 20, "type": "ADD_PARTITION"})
        await keeper.look()
        keeper.stored("p", 20, None)
        await keeper.look()
        assert world.saved == {"position": 20, "before": 10, "writer": "here"}
        world.hub.position, world.now = 30, world.now + 61
        await keeper.look()
        await keeper.look()
        assert (world.saved["position"], world.writes) == (30, 3)

    run(test)


def test_a_keeper_ends_with_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow starts watchers again every second while a password is wrong: each time they have another keeper."""
    monkeypatch.setattr(keepers, "_LOOK", 0.0)

    async def test() -> None:
        world = World()
        keeper = world.keeper()
        await keeper.first(TABLE)
        before = asyncio.all_tasks()
        assert len(before) == 2
        world.hub.error = PermissionError("a wrong password")
        await asyncio.wait_for(asyncio.gather(*before - {asyncio.current_task()}), 30)

    run(test)
