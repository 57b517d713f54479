"""Changes of dependent tables: events, settings, several clients at once, and the number of statements."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from metastore.app.worker import make_application
from metastore.settings import Settings
from tests.fixtures.server import Server, connected
from tests.storage.test_statements import counted
from tests.wire.builders import new_database, table
from tests.wire.dependencies.requests import DS, HR, UP, add, add_to_dependent, asked, create, depend, fresh, text
from thrift_idl.gen.hive_metastore.ttypes import (
    FieldSchema,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    NotificationEventRequest,
)


def events(client: Any, database: str, after: int) -> list[tuple[str, str]]:
    """Returns the types and tables of the events in a database since an event."""
    actual_events = client.get_next_notification(NotificationEventRequest(lastEvent=after, maxEvents=-1)).events
    return [(each.eventType, each.tableName) for each in actual_events if each.dbName == database]


def test_changes_are_notified(client: Any, database: str) -> None:
    start = client.get_current_notificationEventId().eventId
    add_to_dependent(client, database, "tdep", ["1"])
    depend(client, database, "tdep", "t2")
    depend(client, database, "tdep", "t2", ["1"])
    assert events(client, database, start) == [
        ("ADD_PARTITION", "tdep"),
        ("ALTER_TABLE", "tdep"),
        ("ALTER_TABLE", "tdep"),
        ("ALTER_PARTITION", "tdep"),
        ("ALTER_TABLE", "tdep"),
    ]
    actual_events = client.get_next_notification(NotificationEventRequest(lastEvent=start, maxEvents=-1)).events
    messages = [json.loads(each.message) for each in actual_events if each.dbName == database]

    def told(message: Any, key: str, parameters: str) -> Any:
        return json.loads(message[key])[parameters]["map"][3]["dependent.on"]

    assert told(messages[0], "tableObjJson", "9") == f"{database}.t"
    assert told(messages[2], "tableObjAfterJson", "9") == f"{database}.t,{database}.t2"
    assert told(messages[3], "partitionObjBeforeJson", "7") == f"{database}.t"
    assert told(messages[3], "partitionObjAfterJson", "7") == f"{database}.t2"
    assert "dependent.on" not in client.get_partition(database, "tdep", ["1"]).parameters
    start = client.get_current_notificationEventId().eventId
    renamed = client.get_table(database, "t2")
    renamed.tableName = "new"
    client.alter_table(database, "t2", renamed)
    assert events(client, database, start) == [("ALTER_TABLE", "new"), ("ALTER_TABLE", "tdep")]


def test_a_change_of_columns_may_be_refused(database_url: str, start_metastore: Callable[..., Server]) -> None:
    server = start_metastore(database_url, "--dependent-schema-change", "reject")
    with connected(server) as client:
        database = new_database(client)
        client.create_table(table(database, "t", [DS, HR]))
        create(client, database, "tdep", "t")
        changed = client.get_table(database, "t")
        changed.sd.cols = [*changed.sd.cols, FieldSchema("new", "int", None)]
        with pytest.raises(InvalidOperationException, match=rf"{database}.tdep depends on it, .*reject"):
            client.alter_table(database, "t", changed)
        client.drop_table(database, "tdep", True)
        client.alter_table(database, "t", changed)


def test_many_clients_add_partitions_concurrently(metastore_server: Server, client: Any, database: str) -> None:
    together = threading.Barrier(6)

    def work(number: int) -> None:
        with connected(metastore_server) as own:
            together.wait()
            for day in range(5):
                add_to_dependent(own, database, "tdep", [f"{number}-{day}"])

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    names = [f"{number}-{day}" for number in range(6) for day in range(5)]
    assert sorted(fresh(client, database, "tdep")) == sorted(f"ds={name}" for name in names)
    assert all(f"'{name}'" in text(client, database) for name in names)


def test_a_base_changes_while_partitions_are_added(metastore_server: Server, client: Any, database: str) -> None:
    together = threading.Barrier(3)

    def adds() -> None:
        with connected(metastore_server) as own:
            together.wait()
            for day in range(15):
                add_to_dependent(own, database, "tdep", [str(day)])

    def renames() -> None:
        with connected(metastore_server) as own:
            together.wait()
            for number in range(8):
                base = own.get_table(database, "t" if not number else f"t_{number}")
                base.tableName = f"t_{number + 1}"
                own.alter_table(database, "t" if not number else f"t_{number}", base)

    def widens() -> None:
        with connected(metastore_server) as own:
            together.wait()
            base = own.get_table(database, "t2")
            for number in range(8):
                base.sd.cols = [*base.sd.cols, FieldSchema(f"c{number}", "int", None)]
                own.alter_table(database, "t2", base)

    with ThreadPoolExecutor(3) as threads:
        for future in [threads.submit(work) for work in (adds, renames, widens)]:
            future.result()
    assert text(client, database).startswith("SELECT `a`, `x`, `ds` FROM `t_8` WHERE `ds` IN ('0', ")
    assert len(fresh(client, database, "tdep")) == 15


def test_two_concurrent_calls_cannot_form_a_cycle(metastore_server: Server, client: Any, database: str) -> None:
    for _ in range(5):
        pair = "one", "two"
        for name in pair:
            create(client, database, name, "t")
        together = threading.Barrier(2)

        def work(name: str, base: str, together: threading.Barrier = together) -> bool:
            with connected(metastore_server) as own:
                together.wait()
                try:
                    depend(own, database, name, base)
                except InvalidObjectException:
                    return False
            return True

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(work, pair, reversed(pair))) == [False, True]
        bases = {dependency.baseTableName for dependency in asked(client, database, "one", UP).tables}
        order = ("one", "two") if "two" in bases else ("two", "one")
        for name in order:
            client.drop_table(database, name, True)


def test_a_base_is_dropped_or_depended_on(metastore_server: Server, client: Any, database: str) -> None:
    for number in range(5):
        client.create_table(table(database, "base", [DS]))
        together = threading.Barrier(2)

        def drop(together: threading.Barrier = together) -> bool:
            with connected(metastore_server) as own:
                together.wait()
                try:
                    own.drop_table(database, "base", True)
                except MetaException:
                    return False
            return True

        def depends(name: str, together: threading.Barrier = together) -> bool:
            with connected(metastore_server) as own:
                together.wait()
                try:
                    create(own, database, name, "base")
                except NoSuchObjectException:
                    return False
            return True

        with ThreadPoolExecutor(2) as threads:
            first, second = threads.submit(drop), threads.submit(depends, f"dep{number}")
            assert first.result() != second.result()
        if second.result():
            client.drop_table(database, f"dep{number}", True)
            client.drop_table(database, "base", True)


def test_the_number_of_statements_does_not_grow(database_url: str, tmp_path: Path) -> None:
    """The number of statements does not grow with dependent tables, their partitions, or base partitions."""
    application = make_application(Settings(warehouse=str(tmp_path), database_url=database_url), database_url)

    class Direct:
        """Calls handlers as a client's methods."""

        def __getattr__(self, name: str) -> Any:
            return partial(application.dispatcher.call, name)

    def counts(client: Any, size: int) -> dict[str, int]:
        database = new_database(client)
        client.create_table(table(database, "t", [DS, HR]))
        for number in range(size):
            create(client, database, f"dep{number}", "t")
        days = [[str(day)] for day in range(size)]
        add(client, database, "t", *[[*day, hour] for day in days for hour in "123"])
        base = client.get_table(database, "t").decode()
        base.sd.cols = [*base.sd.cols, FieldSchema("new", "int", None)]
        steps: dict[str, Callable[[], Any]] = {
            "add": lambda: add_to_dependent(client, database, "dep0", *days),
            "up": lambda: asked(client, database, "dep0", UP),
            "down": lambda: asked(client, database, "t", 2, ["0"]),
            "point elsewhere": lambda: depend(client, database, "dep0", "t", *days),
            "columns": lambda: client.alter_table(database, "t", base),
        }
        actual = {}
        for name, step in steps.items():
            with counted(application) as statements:
                step()
            actual[name] = len(statements)
        return actual

    try:
        client = Direct()
        counts(client, 1)  # shapes and skews are stored once
        assert counts(client, 2) == counts(client, 12)
    finally:
        application.close()
