"""Records of calls: what blocked a slow call, and that a reported error does not keep its call in memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from metastore.context import Caller
from metastore.errors import ConflictError, LockTimeoutError
from metastore.protocol.call_record import DECLARED, OK, UNAVAILABLE, CallRecords, outcome_of, release


def failed(before: Exception | None = None) -> Exception:
    """Returns an error that was raised, so that it has a traceback."""
    try:
        raise ValueError("said") from before
    except ValueError as error:
        return error


def test_errors_lose_their_frames_and_each_other() -> None:
    first = failed()
    second = failed(first)
    release(second)
    assert first.__traceback__ is second.__traceback__ is None
    assert second.__cause__ is None


def test_causes_of_errors_can_form_a_cycle() -> None:
    first = failed()
    second = failed(first)
    first.__context__ = second
    release(second)
    assert first.__traceback__ is second.__traceback__ is None


def test_a_slow_call_names_the_sessions_that_blocked_it(caplog: pytest.LogCaptureFixture) -> None:
    records, old = CallRecords(slow=1.0), time.perf_counter() - 5
    blocked, blocking = Caller("10.0.0.1:1"), Caller("10.0.0.2:2")
    first = records.begin(blocked, "alter_table", 1, lambda: "a.b", old)
    second = records.begin(blocking, "drop_table", 1, lambda: "a.b", time.perf_counter())
    blocked.call.backend, blocking.call.backend = 11, 22

    def read(pids: Sequence[int]) -> Mapping[int, Sequence[Mapping[str, Any]]]:
        assert list(pids) == [11], "a call that has just begun is not looked up"
        ours = {"pid": 22, "application": "metastore", "state": "active"}
        other = {"pid": 33, "application": "psql", "user": "me", "state": "idle", "seconds": 7.0, "sql": "SELECT 1"}
        return {11: [ours, other]}

    records.note_blockers(read)
    with caplog.at_level(logging.INFO, "metastore.calls"):
        records.end(first, OK, None)
        records.end(second, OK, None)
    slow, fast = (record.getMessage() for record in caplog.records)
    process = slow.partition("request=")[2].partition("-")[0]
    assert f"blocked_by=[request {process}-{second}, pid 22, metastore of ? at a socket, active; pid 33, psql" in slow
    assert "SELECT 1" not in slow, "it may contain values"
    assert "blocked_by" not in fast


def test_a_lock_timeout_counts_as_an_error_of_the_database() -> None:
    """An alert fires for it, and not for a change that another client has made."""
    assert outcome_of(LockTimeoutError("locked")) == UNAVAILABLE
    assert outcome_of(ConflictError("changed")) == DECLARED
