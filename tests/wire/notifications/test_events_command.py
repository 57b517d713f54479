"""`metastore events`: the log as lines and JSON objects, followed, and with what is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metastore.cli.commands import run
from metastore.cli.event_log import stream
from metastore.domain.event_stream import Wanted
from tests.fixtures.server import Server, connected
from tests.wire.builders import new_database, new_table, partition, table
from tests.wire.notifications.following import KEYS, Follower
from tests.wire.notifications.test_reading import execute

Capture = pytest.CaptureFixture[str]


def shown(server: Server, capsys: Capture, *arguments: str) -> str:
    assert run(["events", *arguments, "--uri", server.uri]) == 0
    return capsys.readouterr().out


def test_events_of_a_table(server: Server, client: Any, log: Follower, capsys: Capture) -> None:
    start = log.last
    database, name = new_table(client, KEYS)
    client.create_table(table(database, "u"))
    client.add_partitions([partition(database, name, ["a"]), partition(database, name, ["b"])])
    after = ("--after", str(start), "--format", "json")
    objects = [json.loads(line) for line in shown(server, capsys, f"{database}.{name}", *after).splitlines()]
    assert [(each["id"], each["type"], each["table"]) for each in objects] == [
        (start + 2, "CREATE_TABLE", name),
        (start + 4, "ADD_PARTITION", name),
    ]
    assert objects[1]["partitions"] == [{KEYS[0][0]: "a"}, {KEYS[0][0]: "b"}]
    assert "message" not in objects[1]
    detailed = json.loads(shown(server, capsys, database, *after, "--type", "add_partition", "--details"))
    assert detailed.pop("message")["table"] == name
    assert detailed == objects[1]
    cells = shown(server, capsys, database, "--after", str(start), "--type", "ADD_PARTITION").rstrip().split("\t")
    key = KEYS[0][0]
    assert cells[2:5] == ["ADD_PARTITION", f"{database}.{name}", f"{key}=a {key}=b"]


def test_a_renamed_table(server: Server, client: Any, log: Follower, capsys: Capture) -> None:
    start = log.last
    database, name = new_table(client, KEYS)
    there = new_database(client)
    renamed = client.get_table(database, name)
    renamed.dbName, renamed.tableName = there, "moved"
    client.alter_table(database, name, renamed)
    for given in (f"{database}.{name}", there, f"{there}.moved"):
        last = shown(server, capsys, given, "--after", str(start)).splitlines()[-1].split("\t")
        assert last[2:4] == ["ALTER_TABLE", f"{there}.moved (was {database}.{name})"]


def test_what_is_missing(fresh_metastore_server: Server, capsys: Capture) -> None:
    server = fresh_metastore_server
    with connected(server) as client:
        start = Follower(client).last
        database, _ = new_table(client, KEYS)
        client.create_table(table(database, "u"))
    execute(server.database_url, f"DELETE FROM notification_log WHERE event_id = {start + 2}")
    lines = shown(server, capsys, "--after", str(start)).splitlines()
    assert [line.split("\t")[2] for line in lines] == ["CREATE_DATABASE", "MISSED", "CREATE_TABLE"]
    assert f"events {start + 2} to {start + 2}: the log no longer has these events" in lines[1]
    (told,) = shown(server, capsys, "--after", str(start + 1000), "--format", "json").splitlines()
    assert {**json.loads(told), "reason": ""} == {
        "id": start + 3,
        "type": "REWOUND",
        "from": start + 1000,
        "reason": "",
    }


def test_following(client: Any) -> None:
    """At the end of the log, the reader pauses: meanwhile others change something."""
    database, name = new_table(client, KEYS)
    days = iter("abc")

    def sleep(_: float) -> None:
        client.add_partition(partition(database, name, [next(days)]))

    found = stream(client, None, Wanted(database, name), follow=True, sleep=sleep)
    assert [next(found)["partitions"] for _ in range(3)] == [[{KEYS[0][0]: day}] for day in "abc"]
