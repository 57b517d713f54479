"""A server whose database is overloaded stays ready while its calls are answered; one without a database does not."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from metastore.app.http import _one_line_errors
from metastore.domain.client_kinds import CLIENTS
from metastore.errors import ConfigurationError, ExhaustedError, PoolBusyError
from metastore.monitoring.gauges import Gauges
from metastore.monitoring.shared_metrics import OUTCOMES, FinishedCall, SharedMetrics
from metastore.web import probe
from metastore.web.probe import DatabaseProbe, DatabaseState


def canceled() -> OperationalError:
    cause: Any = type("QueryCanceled", (Exception,), {"pgcode": "57014"})(
        "canceling statement due to statement timeout"
    )
    return OperationalError("SELECT 1", {}, cause)


def state_after(error: Exception, answered: float) -> DatabaseState:
    """Returns the state if a reading fails, and the last call was answered so many seconds ago."""

    def read() -> Gauges:
        with _one_line_errors():
            raise error

    return asyncio.run(DatabaseProbe(read, lambda: time.monotonic() - answered).state())


@pytest.mark.parametrize(
    "error", [canceled(), PoolBusyError("busy"), ExhaustedError("no connection left", "too_many_connections")], ids=str
)
def test_an_overloaded_database_that_answers_calls_is_ready(error: Exception) -> None:
    assert state_after(error, 0.1).error == ""
    assert state_after(error, 60.0).error


def test_a_full_disk_is_named() -> None:
    cause: Any = type("DiskFull", (Exception,), {"pgcode": "53100"})("No space left on device")
    assert state_after(OperationalError("SELECT 1", {}, cause), 60.0).error.startswith("disk_full (SQLSTATE 53100): ")


def test_a_schema_that_does_not_fit_is_never_ready() -> None:
    assert state_after(ConfigurationError("it has no schema yet"), 0.1).error == "it has no schema yet"


def test_a_reading_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_TIMEOUT", 0.05)
    released = threading.Event()

    def read() -> Gauges:
        released.wait()
        return {}

    async def states() -> list[str]:
        try:
            slow = [DatabaseProbe(read, lambda at=at: at) for at in (0.0, float("inf"))]  # type: ignore[misc]
            return [(await each.state()).error for each in slow]
        finally:
            released.set()

    assert asyncio.run(states()) == ["the database has not answered for 0.05 s", ""]


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("statements", [[], [0.001]])
def test_calls_show_that_the_database_answers(outcome: str, statements: list[float]) -> None:
    metrics = SharedMetrics(["get_table"], 2)
    worker = metrics.worker(1)
    sums = (0.0, 0.0, 0.0, 0.0, 0.0)
    worker.count_call(FinishedCall((CLIENTS[0], ""), "get_table", OUTCOMES.index(outcome), "", 1, 1, sums, statements))
    before = time.monotonic()
    worker.publish({})
    shown = metrics.answered_at() >= before
    assert shown == (outcome in ("ok", "declared") and bool(statements))
