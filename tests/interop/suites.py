"""Test suites of other projects that run against our server: a server for each suite, its results, the report."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.server import Server, running
from tests.interop.maven import UnavailableError

JUNIT = ("org.junit.platform:junit-platform-console:1.12.2", "org.junit.jupiter:junit-jupiter:5.12.2")
_PATIENCE = "15 m"  # for each test


class Outcome(NamedTuple):
    """The result of one test; `error` is None if it passed."""

    suite: str
    test: str
    error: str | None


def run_suites(run: Callable[[Path, Sequence[str]], Iterator[Outcome]], every: Sequence[str], listed: Path) -> int:
    """Runs the suites that the command line names, or all of them, and prints the results. Returns the status.

    Args:
        run: runs some suites in a temporary folder, and yields their outcomes.
        every: all suites.
        listed: the list of the tests that do not pass (`report`).
    """
    named = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        (folder := Path(name)).chmod(0o755)  # PostgreSQL runs as another user where this one is root
        try:
            outcomes = list(run(folder, named or every))
        except UnavailableError as error:
            sys.stderr.write(f"{error}\n")
            return 1
    return report(outcomes, listed, complete=not named)


@contextmanager
def own_server(folder: Path, *allowed: str) -> Iterator[Server]:
    """Yields a server with its own database, in a new folder. `allowed`: locations outside of the warehouse."""
    with ExitStack() as stack:
        folder.mkdir()
        folder.chmod(0o755)  # PostgreSQL runs as another user where this one is root
        postgres = stack.enter_context(EmbeddedPostgres(folder / "postgres"))
        runner.upgrade(postgres.url)
        locations = ",".join((f"file:{folder.parent}", f"file:{tempfile.gettempdir()}", *allowed))
        yield stack.enter_context(running(postgres.url, folder, "--allowed-locations", locations))


def run_jvm(suite: str, command: Sequence[str | Path], folder: Path, variables: Mapping[str, str]) -> None:
    """Runs a suite. Its output goes to a log, whose path is printed."""
    log = Path(tempfile.gettempdir()) / f"{suite}.log"
    with log.open("w") as output:
        subprocess.run(
            command, cwd=folder, env=os.environ | variables, stdout=output, stderr=subprocess.STDOUT, check=False
        )
    sys.stderr.write(f"{suite}: the log is {log}\n")


def junit_arguments(test_class: str, reports: Path) -> list[str]:
    """Returns the main class and the arguments that run a class of JUnit 5."""
    settings = f"junit.jupiter.execution.timeout.testable.method.default={_PATIENCE}"
    console = ["org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--disable-ansi-colors"]
    console += ["--details=testfeed"]  # the log shows the progress
    return [*console, "--config", settings, "--reports-dir", str(reports), "--select-class", test_class]


def junit_outcomes(suite: str, reports: Path) -> Iterator[Outcome]:
    """Reads the reports of JUnit. A suite that could not start counts as one failed test."""
    cases = [case for report in reports.glob("TEST-*.xml") for case in ET.parse(report).getroot().iter("testcase")]
    if not cases:
        yield Outcome(suite, "(start)", "no test has run: see the log")
    for case in cases:
        failed = next((case.find(name) for name in ("failure", "error") if case.find(name) is not None), None)
        if case.find("skipped") is None:
            yield Outcome(suite, case.attrib["name"], None if failed is None else _text(failed))


def _text(failed: ET.Element) -> str:
    return " ".join((failed.get("message") or failed.text or failed.get("type") or "failed").split())[:500]


def report(outcomes: Sequence[Outcome], listed: Path, *, complete: bool) -> int:
    """Prints the counts, and the results that differ from a list: lines of suite, test and reason, for each test that
    does not pass. Returns 1 if there are any. `complete`: all suites were run.
    """
    lines = [line.split("\t") for line in listed.read_text().splitlines() if line[:1] != "#"]
    expected = {(suite, test): reason for suite, test, reason in lines}
    surprises = []
    for suite in dict.fromkeys(outcome.suite for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.suite == suite]
        passed = sum(outcome.error is None for outcome in own)
        known = sum(outcome.error is not None and (suite, outcome.test) in expected for outcome in own)
        sys.stdout.write(f"{suite:60}{passed:6} of {len(own)} passed, {known} known to fail\n")
    for suite, test, error in outcomes:
        if (error is not None) != ((suite, test) in expected):
            surprises.append(f"{suite}: {test}: {(error or f'passes, but is listed in {listed.name}').splitlines()[0]}")
    if complete:
        missing = expected.keys() - {(outcome.suite, outcome.test) for outcome in outcomes}
        surprises += [f"{suite}: {test} is listed in {listed.name}, but was not run" for suite, test in sorted(missing)]
    sys.stdout.write("".join(f"{line}\n" for line in surprises))
    return 1 if surprises else 0
