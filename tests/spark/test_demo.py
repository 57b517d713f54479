"""The demonstration as a user starts it: its own process, on a running metastore."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from metastore.domain.skew_survey import SURVEY, decoded
from spark_client.demo import flights
from spark_client.demo.__main__ import show
from spark_client.demo.console import DemoConsole
from spark_client.demo.questions import Outcome, questions
from spark_client.scan.report import ScanStatistics, TableScan
from tests.fixtures.server import Server, connected
from tests.fixtures.sparks import environment

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m spark_client.demo`."""
    return subprocess.run(
        [sys.executable, "-m", "spark_client.demo", *arguments],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_answer_is_that_of_the_raw_csv(metastore_server: Server, tmp_path: Path) -> None:
    arguments = ("--uri", metastore_server.uri, "--warehouse", str(tmp_path), "--rows", "2000")
    done = run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ All 8 answers equal those of the raw CSV." in done.stdout
    assert "dest = 'ORD' AND month = 1" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert done.stderr == ""
    with connected(metastore_server) as client:
        survey = decoded(client.get_table("demo", "flights").parameters[SURVEY])
    assert survey is not None
    assert survey.rows == 2000
    assert survey.found[0].columns == ("dest",)


def test_a_wrong_answer_is_shown_and_is_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    question = questions("ORD", "LAX", "ANC")[0]
    scan = TableScan("demo.flights", ScanStatistics(1, 1, 1, 10), ScanStatistics(2, 2, 2, 20))
    right, wrong = (Outcome(question, [(3, 1.5)], [(count, 1.5)], 0.1, 0.2, scan) for count in (3, 4))
    assert (show(DemoConsole(), [right]), show(DemoConsole(), [right, wrong])) == (0, 1)
    first, second = capsys.readouterr().out.split("All 1 answers equal those of the raw CSV.")
    assert "✗" not in first
    assert "✗ dest = 'ORD': [(3, 1.5)], expected [(4, 1.5)]" in second


def test_a_metastore_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = run("--uri", "thrift://127.0.0.1:1", "--warehouse", str(tmp_path))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("✗ no metastore answers at thrift://127.0.0.1:1 (")
    assert done.stderr == ""


def test_fewer_rows_are_spread_over_the_year(tmp_path: Path) -> None:
    lines = flights.unpack(tmp_path, 1200).read_text().splitlines()
    months = [line.split(",")[1] for line in lines[1:]]
    assert len(months) == 1200
    assert {months.count(str(month)) > 50 for month in range(1, 13)} == {True}


@pytest.mark.parametrize("arguments", [[], ["--uri", "thrift://a"], ["--uri", "a", "--warehouse", "b", "--rows", "x"]])
def test_usage(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "usage: python -m spark_client.demo" in done.stderr
