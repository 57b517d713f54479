"""Pages that the refreshes of open tabs share."""

from __future__ import annotations

import asyncio

import pytest

from metastore.errors import UnavailableError
from metastore.web.console.snapshots import Snapshot, Snapshots, max_age, snapshot


class Maker:
    """Makes a new snapshot at each call, when it is allowed to."""

    def __init__(self) -> None:
        self.made = 0
        self.go = asyncio.Event()
        self.fails = False

    async def __call__(self) -> Snapshot:
        self.made += 1
        number = self.made
        await self.go.wait()
        if self.fails:
            raise UnavailableError("away")
        return snapshot(str(number).encode())


def test_refreshes_share_a_page_and_visits_do_not() -> None:
    async def run() -> None:
        now, make = [0.0], Maker()
        snapshots = Snapshots(lambda: now[0])
        waiting = [asyncio.ensure_future(snapshots.get("/now", 4, make)) for _ in range(50)]
        await asyncio.sleep(0)
        make.go.set()
        assert {each.body for each in await asyncio.gather(*waiting)} == {b"1"}
        now[0] = 4.0
        assert (await snapshots.get("/now", 4, make)).body == b"1"
        assert (await snapshots.get("/now", 0, make)).body == b"2", "a visit reads anew"
        assert (await snapshots.get("/now", 4, make)).body == b"2"
        now[0] = 8.5
        assert (await snapshots.get("/now", 4, make)).body == b"3"
        now[0] = 20.0
        assert (await snapshots.get("/now", 10**9, make)).body == b"4", "no request accepts much older pages"

    asyncio.run(run())


def test_another_user_or_page_never_gets_it() -> None:
    async def run() -> None:
        make = Maker()
        make.go.set()
        snapshots = Snapshots(lambda: 0.0)
        keys = [("anna", "/now"), ("ben", "/now"), (None, "/now"), ("anna", "/locks")]
        assert [(await snapshots.get(key, 4, make)).body for key in keys] == [b"1", b"2", b"3", b"4"]

    asyncio.run(run())


def test_a_failure_is_not_kept() -> None:
    async def run() -> None:
        make = Maker()
        make.go.set()
        make.fails = True
        snapshots = Snapshots(lambda: 0.0)
        with pytest.raises(UnavailableError):
            await snapshots.get("/now", 4, make)
        make.fails = False
        assert (await snapshots.get("/now", 4, make)).body == b"2"

    asyncio.run(run())


def test_a_cancelled_request_does_not_cancel_other_requests_for_the_page() -> None:
    async def run() -> None:
        make, snapshots = Maker(), Snapshots(lambda: 0.0)
        first = asyncio.ensure_future(snapshots.get("/now", 4, make))
        second = asyncio.ensure_future(snapshots.get("/now", 4, make))
        await asyncio.sleep(0)
        first.cancel()
        make.go.set()
        assert (await second).body == b"1"

    asyncio.run(run())


def test_snapshots_are_few() -> None:
    async def run() -> None:
        make = Maker()
        make.go.set()
        snapshots = Snapshots(lambda: 0.0)
        for number in range(200):
            await snapshots.get(number, 4, make)
        assert len(snapshots._known) <= 64
        assert (await snapshots.get(199, 4, make)).body == b"200"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("max-age=4", 4), ("no-cache, max-age=0", 0), ("Max-Age=3,no-store", 3), ("s-max-age=3", 0), ("x", 0)],
)
def test_the_age_that_a_request_accepts(text: str, expected: float) -> None:
    assert max_age(text) == expected
