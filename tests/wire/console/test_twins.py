"""JSON twins of pages have the data of the commands."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from metastore.cli.commands import run
from tests.wire.builders import descriptor, skewed, table
from tests.wire.console.conftest import Console
from tests.wire.console.test_activity_pages import lock, make_tables
from thrift_idl.gen.hive_metastore.ttypes import LockType

Command: TypeAlias = Callable[..., list[list[str]]]


@pytest.fixture
def command(console: Console, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command on the server of the console. Returns the cells of its lines."""
    for name in [name for name in os.environ if name.startswith("METASTORE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("METASTORE_URI", console.server.uri)

    def called(*arguments: str) -> list[list[str]]:
        assert run(list(arguments)) == 0
        return [line.split("\t") for line in capsys.readouterr().out.splitlines()]

    return called


def test_twins_have_the_data_of_the_commands(console: Console, command: Command) -> None:
    with console.client() as client:
        database = make_tables(client)
        sd = descriptor(skewedInfo=skewed(["x"], [["big"]]), storedAsSubDirectories=True)
        client.create_table(table(database, "heavy", [("day", "int")], sd=sd))
        holding, waiting = (lock(client, LockType.EXCLUSIVE, database, user).lockid for user in ("anna", "ben"))
        read = console.visitor().json
        databases = {each["database"]: each["location"] for each in read("/")["databases"]}
        assert databases == {name: location for name, location, *_ in command("databases")}
        tables = [_of_list(each) for each in read(f"/databases/hive/{database}")["tables"]]
        assert tables == [_without_types(row) for row in command("tables", database)]
        _history(command("history", f"{database}.base"), read(f"/tables/hive/{database}/base/history")["events"])
        drops = [each for each in read("/changes")["drops"] if each["database"] == database]
        (dropped,) = (row for row in command("dropped", database) if len(row) > 1)
        assert dropped[:3] == [str(drops[0]["id"]), drops[0]["kind"], f"{database}.{drops[0]['table']}"]
        _dependencies(command, database, read(f"/tables/hive/{database}/base/dependencies"))
        listed = {row[0]: row[1] for row in command("locks")}
        locks = {str(each["id"]): each for each in read("/locks")["locks"]}
    assert listed.keys() == locks.keys()
    assert listed[str(waiting)] == f"waiting for {locks[str(waiting)]['blocked_by']}"
    assert (listed[str(holding)], locks[str(holding)]["waiting"]) == ("held", False)
    servers = command("db", "servers", "--database-url", console.server.database_url)
    for healthy in read("/health")["servers"]:  # servers of other tests may have ended meanwhile
        assert [healthy["version"], healthy["revision"], str(healthy["workers"])] in [row[1:4] for row in servers]


def _of_list(each: dict[str, Any]) -> list[str]:
    lists = (", ".join(each[name]) for name in ("partition_keys", "skewed_by"))
    return [each["table"], each["type"], *lists, each["location"] or ""]


def _without_types(row: list[str]) -> list[str]:
    name, kind, keys, *rest = row
    return [name, kind, ", ".join(key.partition(" ")[0] for key in keys.split(", ")), *rest]


def _history(rows: list[list[str]], events: list[dict[str, Any]]) -> None:
    """Compares the changes. The command prints the oldest first, a summary last, and secrets to their owner."""
    told = [(event["event"], event["user"] or "", change) for event in reversed(events) for change in event["changes"]]
    assert told
    assert told == [(*row[1:3], row[3].replace("hunter2", "***")) for row in rows if len(row) == 4 and row[3]]


def _dependencies(command: Command, database: str, page: dict[str, Any]) -> None:
    rows = command("dependencies", f"{database}.base", "--down", "--format", "json")
    document = json.loads("\n".join("\t".join(row) for row in rows))
    edges = [{name: edge[name] for name in ("dependent", "base", "current", "partitions")} for edge in page["edges"]]
    assert edges == document["tables"]
    stale = {each["partition"] for each in page["not_fresh"] if each["state"] == "stale"}
    impact = command("impact", f"{database}.base")
    assert {f"{database}.dependent@{each}" for each in stale} == {row[0] for row in impact if row[1] == "stale"}
