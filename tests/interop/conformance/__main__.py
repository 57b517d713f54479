"""Runs Hive's own tests of its metastore against our server: those of its clients, and of a remote server.

    python -m tests.interop.conformance [--hive 4.0.1] [CLASS …]

Two parts of Hive are replaced: the connection factory by ours, and the server that some tests start by the address of
the running one. `expected-<version>.tsv` lists the tests that do not pass, each with its reason: known to fail, or not
applicable. The status is 1 if another test fails, or a listed one passes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import NullPool, create_engine, make_url, text

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.server import Server, running
from tests.interop.conformance.suites import HIVE_4, SUITES, Suite
from tests.interop.java import OPTIONS, java_home
from tests.interop.maven import UnavailableError

SITE = "<configuration><property><name>hive.metastore.uris</name><value>{}</value></property></configuration>\n"
OPENED = tuple(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.io", "java.time", "sun.nio.ch"))


class Expectation(NamedTuple):
    """The entry of a test that does not pass: "fails" or "not applicable", and the reason."""

    verdict: str
    reason: str


class Outcome(NamedTuple):
    """The result of one test: pass, fail or skip, and its message."""

    test: str
    result: str
    message: str


def main(arguments: Sequence[str]) -> int:
    """Runs the classes, or all. Prints a table. Returns the status."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.conformance")
    parser.add_argument(
        "--hive", choices=sorted(SUITES), default=HIVE_4.version, help="version of Hive whose tests run"
    )
    parser.add_argument("classes", nargs="*", metavar="CLASS", help="test class; default: all")
    given = parser.parse_args(arguments)
    suite = SUITES[given.hive]
    try:
        outcomes = list(_outcomes(suite, given.classes))
    except UnavailableError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return _report(outcomes, suite, complete=not given.classes)


def _outcomes(suite: Suite, classes: Sequence[str]) -> Iterator[Outcome]:
    """Runs each class with its own server, database and virtual machine, as Hive's build does."""
    jars = suite.jars
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL runs as another user where this one is root
        jars.insert(0, _compiled(suite, jars, folder))
        with EmbeddedPostgres(folder / "postgres") as postgres:
            runner.upgrade(postgres.url)
            for value, whole in suite.classes.items():
                if not classes or value.partition("#")[0] in classes:
                    directory = folder / value.replace("#", "_")
                    with _server(postgres.url, directory) as server:
                        ran = _run(jars, whole, server, directory)
                    sys.stderr.write(f"{value}: {ran.count(chr(10))} tests\n")
                    yield from (_outcome(line) for line in ran.splitlines())


def _outcome(line: str) -> Outcome:
    kind, test, result, message = line.split("\t", 3)
    return Outcome(f"{kind}.{test.partition('[')[0]}", result, message)


@contextmanager
def _server(template: str, folder: Path) -> Iterator[Server]:
    """Hive's tests create tables in folders with arbitrary names."""
    folder.mkdir()
    url = make_url(template)
    database = url.set(database=folder.name.lower())
    with create_engine(
        url.set(database="postgres"), poolclass=NullPool, isolation_level="AUTOCOMMIT"
    ).connect() as made:
        made.execute(text(f"CREATE DATABASE {database.database} TEMPLATE {url.database}"))
    address = database.render_as_string(hide_password=False)
    with running(address, folder, "--allowed-locations", f"{folder},{tempfile.gettempdir()}") as server:
        yield server


def _compiled(suite: Suite, jars: list[str], folder: Path) -> str:
    """Prepares the folder with the runner, and with the connection factory that replaces Hive's."""
    javac = shutil.which("javac", path=str(java_home(17, 17) / "bin")) or "javac"
    command = [javac, "-cp", os.pathsep.join(jars), "-d", str(folder / "java"), *map(str, suite.sources)]
    subprocess.run(command, check=True)
    return str(folder / "java")


def _run(jars: list[str], name: str, server: Server, folder: Path) -> str:
    """Parses the runner's output: a line for each test of the class."""
    properties = {
        "conformance.uri": server.uri,
        "conformance.warehouse": server.warehouse,
        "test.tmp.dir": folder,
        "org.apache.logging.log4j.level": "ERROR",
    }
    command = [str(java_home(17, 17) / "bin" / "java"), *OPTIONS, *OPENED, "-ea:org.apache.hadoop.hive..."]
    command += [f"-D{key}={value}" for key, value in properties.items()]
    (folder / "hive-site.xml").write_text(SITE.format(server.uri))
    command += ["-cp", os.pathsep.join([str(folder), *jars]), "RunTests", name]
    with (folder / "java.log").open("w") as log:
        ran = subprocess.run(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, timeout=1800, check=True
        )
    return ran.stdout


def _expected(suite: Suite) -> dict[str, Expectation]:
    written = suite.expected.read_text().splitlines() if suite.expected.exists() else []
    lines = [line.split("\t") for line in written if line and not line.startswith("#")]
    return {test: Expectation(verdict, reason) for test, verdict, reason in lines}


def _report(outcomes: list[Outcome], suite: Suite, *, complete: bool) -> int:
    """Prints a row for each class, then unexpected results. Returns the status."""
    expected = _expected(suite)
    counts: dict[str, Counter[str]] = {}
    surprises: list[str] = []
    for test, result, message in outcomes:
        said = expected.get(test)
        verdict = result if result == "pass" or said is None else said.verdict
        counts.setdefault(test.partition(".")[0], Counter())[verdict] += 1
        if result == "fail" and said is None:
            surprises.append(f"{test} fails: {message}")
        if result == "pass" and said is not None and said.verdict == "fails":
            surprises.append(f"{test} passes: it needs no line in {suite.expected.name} ({said.reason})")
    missing = sorted(set(expected) - {outcome.test for outcome in outcomes}) if complete else []
    surprises += [f"{test} is listed in {suite.expected.name}, but was not run" for test in missing]
    sys.stdout.write("\n".join([*_table(counts), *_reasons(outcomes, expected), *surprises]) + "\n")
    return 1 if surprises else 0


def _table(counts: dict[str, Counter[str]]) -> list[str]:
    columns = ("pass", "fails", "fail", "not applicable", "skip")
    titles = ("pass", "fail, known", "fail, not listed", "not applicable", "skipped by Hive")
    lines = [f"{'class':40}" + "".join(f"{title:>17}" for title in titles)]
    for name, each in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        lines.append(f"{name:40}" + "".join(f"{each[column]:>17}" for column in columns))
    return lines


def _reasons(outcomes: list[Outcome], expected: dict[str, Expectation]) -> list[str]:
    """Returns the reasons why tests are not applicable, with the number of tests."""
    reasons = Counter(
        expected[outcome.test].reason
        for outcome in outcomes
        if outcome.result != "pass" and outcome.test in expected and expected[outcome.test].verdict != "fails"
    )
    return [f"not applicable: {count} {reason}" for reason, count in reasons.most_common()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
