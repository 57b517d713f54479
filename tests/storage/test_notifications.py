"""Events and writes that a client sends ten thousand at a time, each with several copies of its table's definition."""

from __future__ import annotations

from typing import Any

import pytest

from metastore.app.worker import Application
from metastore.domain.events import Event
from metastore.domain.names import TableName
from metastore.storage.repositories import notifications
from metastore.storage.repositories.notifications import Write
from tests.fixtures.statements import statements_of
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent, WriteEventInfo

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


def event(kind: str, *, renamed: bool = False) -> Event:
    shape = dict.fromkeys(Event._fields, "") | {"type": kind, "catalog": "hive", "database": "d", "table": "t"}
    return Event(**shape | {"message": "{}", "repeated": "", "repetitions": 0, "renamed": renamed})


def test_an_object_has_its_name_since_the_drop_or_rename_before(application: Application) -> None:
    """A drop ends the earlier object also if the rename that followed is not marked, as in logs of other servers."""
    name = TableName("hive", "d", "t")
    since = []
    for kind, renamed in (
        ("CREATE_TABLE", False),
        ("DROP_TABLE", False),
        ("ALTER_TABLE", False),
        ("ALTER_TABLE", True),
    ):
        with application._store.transaction() as work:
            [number] = work.notifications.append([event(kind, renamed=renamed)])
        with application._store.read() as work:
            since.append(work.notifications.beginnings([name])[name] - number)
    assert since == [0, 1, 0, 0]  # the unmarked one has the number after the drop
    copied = NotificationEvent(number + 5, 1, "ALTER_TABLE", dbName="d", tableName="t", catName="hive", message="{}")
    with application._store.transaction() as work:
        work.bulk_objects.insert_events([copied], {number + 5})
    with application._store.read() as work:
        assert work.notifications.beginnings([name])[name] == number + 5


def test_writes_to_different_tables_of_one_name_are_not_joined(application: Application) -> None:
    def add(catalog: str, file: str) -> None:
        with application._store.transaction() as work:
            work.write_notifications.add(
                [Write(8, catalog, WriteEventInfo(1, "d", "t", file, partition="", tableObj="{}"))]
            )

    def files() -> list[str]:
        with application._store.read() as work:
            return sorted(each.files for each in work.write_notifications.of(8, "d", "t"))

    with application._store.transaction() as work:
        work.notifications.append([event("CREATE_TABLE")])
    for catalog, file in (("hive", "a"), ("other", "b"), ("hive", "c")):
        add(catalog, file)
    assert files() == ["a]c", "b"]
    with application._store.transaction() as work:
        work.notifications.append([event("DROP_TABLE"), event("CREATE_TABLE")])
    add("hive", "e")
    assert files() == ["b", "e"]
