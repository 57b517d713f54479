"""Reports of the commands: the same fields, and the same digests for the same objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metastore.cli.commands import run
from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import running

KINDS = {"databases", "tables", "partitions", "functions", "constraints", "roles", "grants of roles", "privileges"}


def test_reports_of_a_move(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    source = f"{hive.url}{'&' if '?' in hive.url else '?'}password=geheim"
    options = ["--database-url", database_url]

    def report(command: str, *arguments: str, status: int = 0) -> dict[str, Any]:
        file = tmp_path / "report.json"
        assert run(["import", command, source, *arguments, "--report", str(file)]) == status
        assert "geheim" not in file.read_text()
        content: dict[str, Any] = json.loads(file.read_text())
        assert (content["command"], bool(content["differences"])) == (command, bool(status))
        return content

    planned, copied = report("plan", *options), report("run", *options)
    with running(database_url, tmp_path) as server:
        compared = report("verify", "--uri", server.uri)
        hive.execute("""UPDATE "PARTITIONS" SET "CREATE_TIME" = 7 WHERE "PART_NAME" = 'ds=1/hr=1'""")
        changed = report("verify", "--uri", server.uri, status=1)
    switched = report("switch", *options, "--allowed-locations", "/")
    assert {tuple(one) for one in (planned, copied, compared, changed, switched)} == {tuple(planned)}
    assert {kind: compared["digests"][kind] for kind in copied["digests"]} == copied["digests"]
    assert copied["digests"].keys() >= KINDS
    assert planned["digests"] == {"databases": copied["digests"]["databases"]}
    different = {kind for kind, digest in compared["digests"].items() if changed["digests"][kind] != digest}
    assert different == {"partitions"}
    assert [one["field"] for one in changed["differences"]] == ["createTime"]
    assert [copied["counts"][kind] for kind in ("databases", "tables", "partitions")] == [2, 8, 35]
    assert planned["findings"]
    assert copied["findings"]
    assert switched["details"]["databases"] == ["default", "sales"]
    assert switched["digests"].keys() == {"managed locations"}


@pytest.mark.parametrize("command", ["plan", "run", "verify", "switch", "back"])
def test_a_report_that_cannot_be_written_stops_before_the_work(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "missing" / "report.json"
    assert run(["import", command, "thrift://127.0.0.1:1", "--report", str(report)]) == 1
    assert capsys.readouterr().err.startswith(f"metastore: The report {report} cannot be written: ")


def test_the_report_of_a_failure_has_its_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    assert run(["import", "run", "oracle://host/hive", "--report", str(report)]) == 1
    assert json.loads(report.read_text())["error"] in capsys.readouterr().err
