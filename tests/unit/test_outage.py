"""Waiting for the end of a short outage of the database."""

from __future__ import annotations

import pytest

from metastore.storage.postgres import outage
from metastore.storage.postgres.outage import Outage


def test_another_thread_may_end_the_outage_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = Outage(10.0)

    def ended_meanwhile() -> float:
        waiting.ended()
        return 1.0

    monkeypatch.setattr(outage.time, "monotonic", ended_meanwhile)
    monkeypatch.setattr(outage.time, "sleep", lambda _: None)
    assert waiting.waited()
