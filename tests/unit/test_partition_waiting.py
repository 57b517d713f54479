"""The places of calls that wait for partitions: one user cannot take all of them."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import Any

from metastore.context import Caller, caller
from metastore.domain.names import TableName
from metastore.services.partition_waiting import PartitionWaitingService

TABLE = TableName("hive", "d", "t")
PATIENCE = 30  # seconds


class Announcements:
    """Blocks waiting calls until `end` is set. Counts them."""

    def __init__(self) -> None:
        self.waiting, self.end = threading.Semaphore(0), threading.Event()

    def count(self, _: float) -> int:
        return 0

    def wait(self, _: int, __: float) -> None:
        self.waiting.release()
        self.end.wait(PATIENCE)


class Waiting(PartitionWaitingService):
    """Waits for partitions that exist as soon as the announcements end."""

    def _exists(self, *_: Any, **__: Any) -> bool:
        return bool(self._announcements.end.is_set())  # type: ignore[union-attr]


def test_a_quarter_of_the_places_is_left_for_other_users() -> None:
    announcements = Announcements()
    service = Waiting(None, announcements, most=4)  # type: ignore[arg-type]
    answers: list[bool] = []

    def wait(user: str) -> None:
        caller.set(Caller("peer", user))
        answers.append(service.wait(TABLE, ["1"], dependencies=False, seconds=5))

    def start(user: str) -> threading.Thread:
        thread = threading.Thread(target=copy_context().run, args=(wait, user))
        thread.start()
        return thread

    threads = [start("eve") for _ in range(3)]
    for _ in threads:
        assert announcements.waiting.acquire(timeout=PATIENCE)
    start("eve").join(PATIENCE)
    assert answers == [False]
    threads.append(start("ann"))
    assert announcements.waiting.acquire(timeout=PATIENCE)
    start("bob").join(PATIENCE)
    assert answers == [False, False]
    announcements.end.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert answers == [False, False, True, True, True, True]
