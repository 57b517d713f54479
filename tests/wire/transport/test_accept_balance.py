"""The workers share connections, however fast they arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from metastore.transport import accept_balance
from metastore.transport.accept_balance import accept_turns

from .conftest import EchoServer

ServeEcho = Callable[..., EchoServer]


@pytest.mark.parametrize("workers", [2, 3])
def test_connections_are_spread_over_the_workers(serve_echo: ServeEcho, workers: int) -> None:
    server = serve_echo(workers=workers)
    clients = [server.client() for _ in range(24)]  # all of them, before any calls
    counts = Counter(client.getOption("pid") for client in clients)
    assert len(counts) == workers
    assert min(counts.values()) >= 24 / workers / 2


def test_a_worker_that_has_no_more_than_others_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, _ = accept_turns(3)
    naps: list[float] = []
    monkeypatch.setattr(accept_balance.time, "sleep", naps.append)
    first.wait(5)
    assert naps == [], "nobody else is there"
    second.publish(4)
    first.wait(5)
    first.wait(3)
    assert naps == []


def test_a_worker_that_has_more_waits_until_another_has_caught_up(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = accept_turns(2)
    second.publish(0)
    naps: list[int] = []

    def accept(_: float) -> None:
        naps.append(1)
        second.publish(len(naps))

    monkeypatch.setattr(accept_balance.time, "sleep", accept)
    first.wait(4)
    assert len(naps) == 3


def test_a_worker_that_does_not_accept_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = accept_turns(2)
    second.publish(0)
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(accept_balance.time, "sleep", sleep)
    monkeypatch.setattr(accept_balance.time, "monotonic", lambda: clock[0])
    first.wait(100)
    waited = clock[0]
    assert 0 < waited < 0.1
    first.wait(101)
    assert clock[0] == waited
    second.leave()
    clock[0] += 10
    first.wait(102)
    assert clock[0] == waited + 10
