"""`get_care_plan` and `metastore care plan`, also for a user with few rights."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metastore.cli.commands import run
from tests.fixtures.server import Server
from tests.wire.builders import new_table, partition, table
from thrift_idl.gen.metastore.ttypes import CarePlanRequest

Capture = pytest.CaptureFixture[str]
KEYS = [("dt", "string")]
SMALL = {"numFiles": "20", "totalSize": str(20 * 2**20), "transient_lastDdlTime": "1"}
OLD = {"care.compaction": "on", "care.compaction.quiet.period": "0", "care.statistics": "off"}


def small_files(client: Any) -> tuple[str, str]:
    """Creates a table with two partitions of small files. Returns its database and name."""
    database, name = new_table(client, KEYS, parameters=OLD)
    client.add_partitions([partition(database, name, [value], parameters=SMALL) for value in "ab"])
    return database, name


def test_the_command_prints_actions_and_tables(hive_client: Any, metastore_server: Server, capsys: Capture) -> None:
    database, name = small_files(hive_client)
    full = f"{database}.{name}"
    assert run(["care", "plan", full, "--uri", metastore_server.uri]) == 0
    action, shown = capsys.readouterr().out.splitlines()
    megabytes = str(40 * 2**20)
    assert action.split("\t") == [
        *(full, "compaction", "on", "2", "40", megabytes, "2", megabytes, megabytes),
        "40 files of 1.0 MiB on average",
    ]
    assert shown.split("\t")[:6] == [full, "2", "", megabytes, "40", "40"]
    assert run(["care", "plan", database, "--format", "json", "--uri", metastore_server.uri]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["actions"][0]["gain"] == 38 / (40 * 2**20)
    assert document["actions"][0]["reason"] == "40 files of 1.0 MiB on average"
    assert [one["table"] for one in document["tables"]] == [full]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.t", "missing.t table not found"),
        ("missing", "database missing not found"),
        ("a b", "'a b' is not a valid name. Write DATABASE[.TABLE]"),
    ],
)
def test_a_missing_object_is_one_line(metastore_server: Server, capsys: Capture, name: str, message: str) -> None:
    assert run(["care", "plan", name, "--uri", metastore_server.uri]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_views_are_no_tables_of_a_plan(hive_client: Any, metastore_client: Any) -> None:
    database, _ = small_files(hive_client)
    hive_client.create_table(table(database, "v", tableType="VIRTUAL_VIEW", viewExpandedText="SELECT 1"))
    plan = metastore_client.get_care_plan(CarePlanRequest(database))
    assert len(plan.tables) == 1
    assert metastore_client.get_care_plan(CarePlanRequest(database, "v")).tables == []
