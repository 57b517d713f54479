"""Waiting for the end of a short outage of the database."""

from __future__ import annotations

import pytest

from metastore.storage.postgres import waiting
from metastore.storage.postgres.waiting import Outage


def test_another_thread_may_end_the_outage_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    outage = Outage(10.0)

    def ended_meanwhile() -> float:
        outage.ended()
        return 1.0

    monkeypatch.setattr(waiting.time, "monotonic", ended_meanwhile)
    monkeypatch.setattr(waiting.time, "sleep", lambda _: None)
    assert outage.waited()
