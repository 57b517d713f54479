"""The stream of events: followed, resumed, with the rights of its reader, and bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import running
from tests.wire.builders import new_database, new_table, partition, table
from tests.wire.console.conftest import ADMIN, LOW, Console
from tests.wire.events.conftest import PATIENCE, Open, Reader
from tests.wire.monitoring.pages import HTTP
from thrift_idl.gen.hive_metastore.ttypes import (
    GrantRevokePrivilegeRequest,
    GrantRevokeType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
)

KEYS = [("ds", "string")]


def add(client: Any, database: str, name: str, *days: str) -> None:
    for day in days:
        client.add_partition(partition(database, name, [day]))


def days(reader: Reader, count: int) -> list[str]:
    return [message["partitions"][0]["ds"] for message in islice(reader.messages(), count)]


def test_new_events_arrive(console: Console, stream: Open) -> None:
    with console.client() as client:
        database, name = new_table(client, KEYS)
        reader = stream(console, f"?database={database}&table={name.upper()}&type=add_partition")
        assert reader.response.getheader("content-type") == "text/event-stream; charset=utf-8"
        reader.begin()
        client.create_table(table(database, "u", KEYS))
        add(client, database, "u", "other")
        add(client, database, name, "a", "b")
        assert days(reader, 2) == ["a", "b"]


def test_a_reader_resumes_where_it_was(console: Console, stream: Open) -> None:
    with console.client() as client:
        database, name = new_table(client, KEYS)
        start = client.get_current_notificationEventId().eventId
        add(client, database, name, "a", "b", "c")
        first = stream(console, after=start)
        assert days(first, 1) == ["a"]
        first.close()
        again = stream(console, f"?database={database}", after=first.last)
        assert days(again, 2) == ["b", "c"]
        (told,) = islice(stream(console, f"?after={start + 10_000}").messages(), 1)
        assert (told["type"], told["from"], told["id"]) == ("REWOUND", start + 10_000, start + 3)
        detailed = next(stream(console, f"?after={start}&details=true").messages())
        assert detailed["message"]["table"] == name


def test_hidden_tables_are_hidden(guarded: Console, stream: Open) -> None:
    with guarded.client(ADMIN) as client:
        database = new_database(client)
        for name in ("open", "secret"):
            client.create_table(table(database, name, KEYS))
        granted = PrivilegeGrantInfo("SELECT", 0, ADMIN, PrincipalType.USER, False)
        shown = HiveObjectPrivilege(
            HiveObjectRef(HiveObjectType.TABLE, database, "open", [], None), LOW, PrincipalType.USER, granted, "SQL"
        )
        client.grant_revoke_privileges(GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, PrivilegeBag([shown])))
        start = client.get_current_notificationEventId().eventId
        low, root = (stream(guarded, user=user, after=start) for user in (LOW, ADMIN))
        add(client, database, "secret", "a")
        add(client, database, "open", "b")
        add(client, database, "secret", "c")
        add(client, database, "open", "d")
        assert days(root, 4) == ["a", "b", "c", "d"]
        seen = list(islice(low.messages(), 2))
        assert [(each["table"], each["partitions"][0]["ds"]) for each in seen] == [("open", "b"), ("open", "d")]


@pytest.mark.parametrize(
    ("parameters", "after", "text"),
    [
        ("?tables=x", None, "tables is no parameter. Parameters: after, database, table, type, details"),
        ("?table=x", None, "table needs the parameter database"),
        ("?after=-1", None, "-1 is no number of an event"),
        ("", 2**63, f"{2**63} is no number of an event"),
    ],
)
def test_mistakes_are_a_line(console: Console, stream: Open, parameters: str, after: int | None, text: str) -> None:
    reader = stream(console, parameters, after=after)
    assert (reader.response.status, reader.response.read().decode()) == (400, f"{text}\n")


def test_credentials_are_required(guarded: Console, stream: Open) -> None:
    reader = stream(guarded)
    assert reader.response.status == 401
    assert "Basic" in (reader.response.getheader("www-authenticate") or "")


def test_streams_are_bounded_and_leave_the_port_to_others(console: Console, stream: Open) -> None:
    readers = [stream(console) for _ in range(24)]
    assert {reader.response.status for reader in readers} == {200}
    refused = stream(console)
    assert (refused.response.status, refused.response.getheader("retry-after")) == (503, "5")
    assert console.visitor().get("/health/ready").status == 200
    readers[0].close()
    until = time.monotonic() + PATIENCE
    while stream(console).response.status != 200:
        assert time.monotonic() < until
    with console.client() as client:
        readers[1].begin()
        add(client, *new_table(client, KEYS), "a")
        assert [each["type"] for each in islice(readers[1].messages(), 3)] == [
            "CREATE_DATABASE",
            "CREATE_TABLE",
            "ADD_PARTITION",
        ]


def test_a_server_that_stops_ends_its_streams(make_database: Callable[[], str], tmp_path: Path) -> None:
    with running(make_database(), tmp_path, "--http-port", "0") as server:
        match = HTTP.search(server.ready)
        assert match
        reader = Reader(match[1])
        reader.begin()
        server.process.terminate()
        assert list(reader.messages()) == []
        assert server.process.wait(PATIENCE) == 0
