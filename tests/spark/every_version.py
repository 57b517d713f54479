"""Runs tests/spark on each supported Spark version, one after the other, and prints a table of tests and versions.

    python -m tests.spark.every_version [--spark 3.5 --spark 4.1 …] [arguments of pytest]

scripts/set-up-spark creates the environments. The last reports are in .venv/spark-versions.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from spark_client.jvm.versions import TESTED
from tests.fixtures.sparks import python_of

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / ".venv/spark-versions"
# Outcomes, by pytest's names in its reports.
PASSED, OUTCOMES = "passed", {"failure": "failed", "error": "failed", "skipped": "not on this version"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", action="append", choices=TESTED)
    options, arguments = parser.parse_known_args()
    wanted = options.spark or TESTED
    REPORTS.mkdir(parents=True, exist_ok=True)
    statuses = [run(version, arguments) for version in wanted]
    show(wanted)
    return max(statuses)


def run(version: str, arguments: list[str]) -> int:
    """Runs the tests on one version. Returns pytest's status."""
    report = REPORTS / f"{version}.xml"
    report.unlink(missing_ok=True)
    write(f"\nSpark {version}")
    tests = [argument for argument in arguments if argument.startswith("tests/")] or ["tests/spark"]
    others = [argument for argument in arguments if argument not in tests]
    command = [python_of(version), "-m", "pytest", "-q", "-p", "tests.spark.as_they_occur", f"--junitxml={report}"]
    all_marks = ("-m", "")  # also tests that are long
    return subprocess.run([*command, *all_marks, *others, *tests], cwd=ROOT, check=False).returncode


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def show(wanted: list[str] | tuple[str, ...]) -> None:
    """Prints passed / all for each file of tests and version; then failures and skipped tests with their reasons."""
    table: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    told: dict[str, list[str]] = defaultdict(list)
    for version in wanted:
        report = REPORTS / f"{version}.xml"
        if not report.exists():
            told[f"Spark {version} did not come to its tests"].append(version)
            continue
        for case in ElementTree.parse(report).iter("testcase"):
            name = case.get("classname", "").rpartition(".")[2]
            outcome = next((element for element in case if element.tag in {"failure", "error", "skipped"}), None)
            table[name][version].append(PASSED if outcome is None else OUTCOMES[outcome.tag])
            if outcome is not None:
                reason = (outcome.get("message") or "").splitlines()[:1]
                told[f"{OUTCOMES[outcome.tag]}: {name}::{case.get('name')}: {''.join(reason)[:160]}"].append(version)
    width = max(map(len, (*table, *OUTCOMES.values())), default=0)
    _row(" " * width, wanted)
    for name in sorted(table):
        cells = (table[name][version] for version in wanted)
        _row(f"{name:<{width}}", (f"{cell.count(PASSED)}/{len(cell)}" if cell else "-" for cell in cells))
    for outcome_ in (PASSED, *dict.fromkeys(OUTCOMES.values())):
        counts = (sum(cells[version].count(outcome_) for cells in table.values()) for version in wanted)
        _row(f"{outcome_:<{width}}", map(str, counts))
    for line, versions in sorted(told.items()):
        write(f"{', '.join(versions)}: {line}")


def _row(name: str, cells: Iterable[str]) -> None:
    write(name + "".join(f"{cell:>10}" for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
