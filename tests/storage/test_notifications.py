"""Events and writes that a client sends ten thousand at a time, each with several copies of its table's definition."""

from __future__ import annotations

from typing import Any

import pytest

from metastore.app import Application
from metastore.domain.events import Event
from metastore.storage.repositories import notifications
from metastore.storage.repositories.notifications import Write
from tests.fixtures.statements import statements_of
from thrift_idl.gen.hive_metastore.ttypes import WriteEventInfo

MANY = 501


def test_events_are_appended_some_at_a_time(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    run = notifications.run

    def noted(connection: Any, statement: str, **given: Any) -> Any:
        sizes.append(given["count"])
        return run(connection, statement, **given)

    monkeypatch.setattr(notifications, "run", noted)
    shape = dict.fromkeys(Event._fields, "x") | {"message": "{}", "repeated": "", "repetitions": 0, "renamed": False}
    with application._store.transaction() as work:
        last = work.notifications.last()
        numbers = work.notifications.append(Event(**shape) for _ in range(MANY))
    assert numbers == list(range(last + 1, last + MANY + 1))
    assert sum(sizes) == MANY
    assert max(sizes) <= 200


def test_writes_are_stored_some_at_a_time(application: Application) -> None:
    writes = [
        Write(7, "hive", WriteEventInfo(1, "d", "t", "f", partition=f"p={number}", tableObj="{}"))
        for number in range(MANY)
    ]
    with statements_of(application._store._engine) as statements, application._store.transaction() as work:
        work.write_notifications.add(writes)
    with application._store.read() as work:
        assert len(work.write_notifications.of(7, "d", "t")) == MANY
    assert max(len(each.parameters) for each in statements) <= 200 * 10
