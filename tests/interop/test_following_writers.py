"""Following Hive's real servers through Thrift and from their databases, while eight writers change them.

`METASTORE_TEST_SECONDS_OF_WRITERS` and `METASTORE_TEST_KILLS` set the size.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fixtures.real_hive import why_not
from tests.interop.following import WRITERS, changed_by_writers, copied, events_of, followed, still_different
from tests.interop.hive_schema import servers
from tests.interop.report import Report
from tests.interop.sources import Databases, RealSource

pytestmark = pytest.mark.timeout(1800)
SECONDS_OF_WRITERS = float(os.environ.get("METASTORE_TEST_SECONDS_OF_WRITERS", "60"))
KILLS = int(os.environ.get("METASTORE_TEST_KILLS", "4"))
FORMATS = {"2.3": "json-0.2", "3.1": "json-0.2"}
"""The formats of messages in the logs that the versions write."""
REPEATED = ("2.3",)
"""Versions that give the same ID to several events of concurrent writers."""


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    if reason := why_not():
        pytest.skip(reason)
    with Databases() as databases:
        yield databases


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
@pytest.mark.parametrize("version", servers.LISTENERS)
def test_eight_writers_of_a_real_server_are_followed(
    version: str,
    kind: str,
    databases: Databases,
    make_database: Callable[[], str],
    new_report: Callable[[str], Report],
    tmp_path: Path,
) -> None:
    """Two followers apply the same changes: one reads them through Thrift, the other from the database."""
    report = new_report(f"Hive {version} on {kind} with {WRITERS} writers for {SECONDS_OF_WRITERS:.0f} s")
    with databases.source(kind, version, tmp_path) as source:
        targets = copied(source, make_database)
        lines: list[str] = []
        with followed(targets, lines.append):
            changes = changed_by_writers(source, SECONDS_OF_WRITERS)
        report.add("changes", f"{changes.total()}: {dict(changes)}")
        events = events_of(source)
        numbers = {event.eventId for event in events}
        report.add("events", f"{len(events)} with {len(numbers)} IDs")
        assert {event.messageFormat for event in events} == {FORMATS[version]}
        assert (len(numbers) < len(events)) == (version in REPEATED)
        assert still_different(targets, tmp_path, lines.append) == []
        assert [line for line in lines if "comparing everything" in line] == []


@pytest.mark.parametrize(("version", "kind"), [("2.3", "mariadb"), ("3.1", "postgresql")])
def test_a_real_server_and_its_database_are_killed_while_they_are_followed(
    version: str,
    kind: str,
    databases: Databases,
    make_database: Callable[[], str],
    new_report: Callable[[str], Report],
    tmp_path: Path,
) -> None:
    report = new_report(f"Hive {version} on {kind}, killed {KILLS} times")
    with ExitStack() as stack:
        source = stack.enter_context(databases.source(kind, version, tmp_path))
        targets = copied(source, make_database)
        with followed(targets, lambda _: None):
            changes = changed_by_writers(source, SECONDS_OF_WRITERS, killer(databases, kind, source, stack, tmp_path))
        report.add("changes", f"{changes.total()}: {dict(changes)}")
        assert still_different(targets, tmp_path, lambda _: None) == []


def killer(databases: Databases, kind: str, source: RealSource, stack: ExitStack, folder: Path) -> Iterator[None]:
    """Kills the database and the server by turns, and starts them again."""
    server = source.hive.process
    for number in range(KILLS):
        if number % 2:
            server.kill()
            server.wait()
            again = source.running_again(folder / f"again{number}", notifies=True)
            server = stack.enter_context(again).process
        else:
            databases.kill(kind)
        yield
