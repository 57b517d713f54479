"""Waiting for several partitions: each call waits in the server; partitions may be dropped again meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from metastore.client.structs import Column
from metastore.client.waiting import Waited, wait_for
from thrift_idl.gen.metastore.ttypes import WaitRequest


class Metastore:
    """Answers from a script of (existing partitions, seconds that the call takes); the last one repeats."""

    def __init__(self, *script: tuple[set[str], float]) -> None:
        self.now, self.pauses, self.asked = 0.0, list[float](), list[tuple[str, int]]()
        self._script = list(script)
        self.methods = SimpleNamespace(wait_for_partition=self._wait)

    def get_table(self, database: str, name: str) -> Any:
        return SimpleNamespace(full_name=f"{database}.{name}", partition_columns=[Column("n", "int")])

    def _wait(self, request: WaitRequest) -> bool:
        existing, seconds = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        self.asked.append((request.values[0], request.timeoutMillis))
        exists = request.values[0] in existing
        self.now += min(seconds, request.timeoutMillis / 1000)
        return exists

    def wait(self, *specs: str, timeout: float | None) -> Waited:
        def sleep(seconds: float) -> None:
            self.pauses.append(seconds)
            self.now += seconds

        client: Any = self
        return wait_for(client, "d", "t", specs, timeout=timeout, clock=lambda: self.now, sleep=sleep)


def test_all_exist() -> None:
    metastore = Metastore(({"1", "2"}, 0))
    assert metastore.wait("n=1..2", timeout=None) == Waited(("n=1", "n=2"), ())
    assert metastore.asked == [("1", 10_000), ("2", 10_000), ("1", 0), ("2", 0)]


def test_some_are_missing_at_the_limit() -> None:
    metastore = Metastore(({"2"}, 60))
    assert metastore.wait("n=1..3", timeout=25) == Waited(("n=2",), ("n=1", "n=3"))
    assert [millis for _, millis in metastore.asked] == [10_000, 10_000, 5_000, 0, 0, 0]
    assert metastore.pauses == []


def test_a_partition_that_is_dropped_again_is_awaited_again() -> None:
    both, one = {"1", "2"}, {"2"}
    metastore = Metastore((one, 10), (both, 1), (both, 1), (one, 0), (one, 0), (one, 10), (both, 3), (both, 0))
    assert metastore.wait("n=1..2", timeout=None) == Waited(("n=1", "n=2"), ())
    assert metastore.now == 10 + 1 + 1 + 10 + 3


def test_a_busy_server_is_asked_after_a_pause() -> None:
    metastore = Metastore((set(), 0), (set(), 0), ({"1"}, 0))
    assert metastore.wait("n=1", timeout=20) == Waited(("n=1",), ())
    assert metastore.pauses == [1.0, 1.0]


def test_no_time_is_one_look() -> None:
    metastore = Metastore(({"2"}, 0))
    assert metastore.wait("n=1..2", timeout=0) == Waited(("n=2",), ("n=1",))
    assert metastore.pauses == []
