"""`metastore care expire`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metastore.cli.commands import run
from metastore.client import care
from tests.fixtures.server import Server
from tests.wire.builders import partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import Database

Capture = pytest.CaptureFixture[str]
KEYS = [("dt", "string")]
RETENTION = {"care.retention.key": "dt", "care.retention.period": "30d"}
DAYS = [f"2001-01-0{day}" for day in range(1, 8)]


def database_with(client: Any, **tables: dict[str, str]) -> str:
    """Creates a database with tables that have these parameters, and seven expired partitions each."""
    database = unique("db")
    client.create_database(Database(database))
    for name, parameters in tables.items():
        client.create_table(table(database, name, KEYS, parameters={**RETENTION, **parameters}))
        old = {"numFiles": "1", "totalSize": "10"}
        client.add_partitions([partition(database, name, [each], parameters=old) for each in (*DAYS, "2999-01-01")])
    return database


def test_expired_partitions_of_a_database_are_dropped(
    hive_client: Any, metastore_server: Server, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(care, "_BATCH", 3)
    database = database_with(hive_client, a={}, b={"metastore.protected": "true"}, c={"care.retention.period": "-1"})
    arguments = ["care", "expire", database, "--uri", metastore_server.uri]
    assert run([*arguments, "--dry-run"]) == 1
    dry = capsys.readouterr()
    assert [line.split("\t")[:2] for line in dry.out.splitlines()] == [[f"{database}.a", f"dt={day}"] for day in DAYS]
    assert {line.split("\t")[-1] for line in dry.out.splitlines()} == {"would be dropped"}
    count, refused = dry.err.splitlines()
    assert count == "7 partitions would be dropped, 70 bytes"
    assert refused.startswith(f"metastore: {database}.b is protected")
    assert len(hive_client.get_partition_names(database, "a", -1)) == 8
    assert run([*arguments, "--format", "json"]) == 1
    done = capsys.readouterr()
    assert [(row["partition"], row["outcome"]) for row in json.loads(done.out)] == [
        (f"dt={day}", "dropped") for day in DAYS
    ]
    assert done.err.startswith("7 partitions dropped, 70 bytes\n")
    assert hive_client.get_partition_names(database, "a", -1) == ["dt=2999-01-01"]
    assert [len(hive_client.get_partition_names(database, name, -1)) for name in "bc"] == [8, 8]
    assert run(["undrop", f"{database}.a@dt=2001-01-07", "--uri", metastore_server.uri]) == 0
    assert hive_client.get_partition_names(database, "a", -1) == ["dt=2001-01-07", "dt=2999-01-01"]


def test_a_named_table_without_retention_is_one_line(
    hive_client: Any, metastore_server: Server, capsys: Capture
) -> None:
    database = database_with(hive_client, c={"care.retention.period": "0"})
    assert run(["care", "expire", f"{database}.c", "--uri", metastore_server.uri]) == 1
    *_, line = capsys.readouterr().err.splitlines()
    assert f"Partitions of {database}.c do not expire: set partition.retention.period" in line
    assert run(["care", "expire", f"{database}.missing", "--uri", metastore_server.uri]) == 1
    assert f"{database}.missing table not found" in capsys.readouterr().err
