"""`metastore scans` and `metastore advise`, the console's tab of scans, and the record of a server that is drained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metastore.cli.commands import run
from metastore.domain.skew_survey import SURVEY, HeavyColumns, Survey, encoded
from tests.fixtures.scan_records import recorded
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import new_table, partition, table
from thrift_idl.gen.metastore.ttypes import PredicateNode, PredicateOperator, ScanRecordsRequest, ScanRequest

Capture = pytest.CaptureFixture[str]
FIGURES = {"numFiles": "2", "totalSize": "1000"}
KEYS = [("ds", "string")]


def lines(capsys: Capture) -> list[list[str]]:
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_scans_and_advice_name_columns_and_a_statement(
    hive_client: Any, metastore_server: Server, capsys: Capture
) -> None:
    database, name = new_table(hive_client, KEYS)
    full = f"{database}.{name}"
    recorded(metastore_server, database, name, '[["ds","=",1],["x","IN",2]]', scans=30)
    recorded(metastore_server, database, name, '[["a","<",0]]')
    recorded(metastore_server, database, name, "opened")
    recorded(metastore_server, database, name, "*", scans=1)
    assert run(["scans", full, "--uri", metastore_server.uri]) == 0
    rows = {row[3]: row for row in lines(capsys)}
    averages = ["1", "4", "1", "1", "2", "8", "1000", "4000"]
    assert rows["ds =, x IN (2)"][2:] == ["ada", "ds =, x IN (2)", "30", *averages]
    assert rows["a <"][4:] == ["10", *averages]
    assert rows["(definition read by a client that plans scans itself)"][4:] == ["10", *[""] * 8]
    assert "(further filters, counted together)" in rows
    assert run(["advise", full, "--format", "json", "--uri", metastore_server.uri]) == 0
    advice = json.loads(capsys.readouterr().out)
    assert [(one["column"], one["layout"], one["filters"], one["equalities"]) for one in advice["columns"]] == [
        ("ds", "partition column", "=", "75%"),
        ("x", "", "IN", "75%"),
        ("a", "", "<", "0%"),
    ]
    assert advice["advice"].startswith("75% of the bytes are read by queries for single values of x")
    properties = "'skew.auto' = 'true', 'skew.auto.columns' = 'x'"
    assert advice["statement"] == f"ALTER TABLE {full} SET TBLPROPERTIES ({properties});"


def test_a_recorded_survey_makes_advice_exact(hive_client: Any, metastore_server: Server, capsys: Capture) -> None:
    found = HeavyColumns(("x",), ((("big",), 0.5), (("b'g",), 0.25)))
    survey = encoded(Survey(1, 100, 0.01, (found,)))
    database, name = new_table(hive_client, KEYS, parameters={SURVEY: survey})
    recorded(metastore_server, database, name, '[["x","=",1,["big"]]]')
    recorded(metastore_server, database, name, '[["x","=",1]]')
    assert run(["advise", f"{database}.{name}", "--uri", metastore_server.uri]) == 0
    _, advice, statement = lines(capsys)
    # A query for `big` reads half of the rows; one for another value 0.5² + 0.25² + 0.25² on average.
    assert "directories for 2 values that a survey found would save 56%" in advice[0]
    assert statement == [f"ALTER TABLE {database}.{name} SKEWED BY (x) ON ('big', 'b\\'g') STORED AS DIRECTORIES;"]


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        ([], "no advice: no scans were recorded since 20"),
        (["[]"], "no advice: 10 scans without filters read everything in any layout"),
        (["opened"], "no advice: only clients that plan scans themselves use the table"),
        (['[["ds","=",1]]'], "no advice: queries filter by the partition columns already"),
        (['[["a","<",0]]'], "no advice: queries filter by a with ranges and patterns"),
    ],
)
def test_there_is_no_advice_without_a_reason(
    hive_client: Any, metastore_server: Server, capsys: Capture, shapes: list[str], reason: str
) -> None:
    database, name = new_table(hive_client, KEYS)
    recorded(metastore_server, *new_table(hive_client, KEYS), "[]")
    for shape in shapes:
        recorded(metastore_server, database, name, shape)
    assert run(["advise", f"{database}.{name}", "--uri", metastore_server.uri]) == 0
    assert lines(capsys)[-1][0].startswith(reason)


@pytest.mark.parametrize("command", ["scans", "advise"])
def test_bad_input_is_one_line(hive_client: Any, metastore_server: Server, capsys: Capture, command: str) -> None:
    database, name = new_table(hive_client, KEYS)
    hive_client.create_table(table(database, "v", tableType="VIRTUAL_VIEW", viewExpandedText="SELECT 1"))
    for given, message in (
        (f"{database}.missing", f"{database}.missing table not found"),
        (f"{database}.v", f"{database}.v is a view: scans are recorded for the tables that it reads"),
        ("a b", "'a b' is not a valid name. Write DATABASE.TABLE"),
    ):
        assert run([command, given, "--uri", metastore_server.uri]) == 1
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert run(["scans", f"{database}.{name}", "--uri", metastore_server.uri]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)


def test_an_iceberg_table_lays_out_its_own_files(hive_client: Any, metastore_server: Server, capsys: Capture) -> None:
    database, name = new_table(hive_client, parameters={"table_type": "ICEBERG"})
    assert run(["advise", f"{database}.{name}", "--uri", metastore_server.uri]) == 0
    text = "no advice: the format lays out its own files (Iceberg compacts its own tables)"
    assert lines(capsys)[-1] == [text]


def test_a_drained_server_adds_its_scans(database_url: str, tmp_path: Path) -> None:
    with running(database_url, tmp_path, "--scan-record-interval", "1h", "--scan-record-values") as server:
        with connected(server) as client:
            database, name = new_table(client, KEYS)
            client.add_partition(partition(database, name, ["1"], parameters=FIGURES))
            client.plan_scan(ScanRequest(database, name, [PredicateNode(PredicateOperator.EQUAL, "ds", ["1"])]))
            assert client.get_scans(ScanRecordsRequest(database, name)).records == []
        server.stop()
    with running(database_url, tmp_path) as server, connected(server) as client:
        records = client.get_scans(ScanRecordsRequest(database, name)).records
        (record,) = (one for one in records if one.kind == "scan")
        assert (record.scans, record.keptBytes, record.filters[0].values) == (1, 1000, ["1"])
