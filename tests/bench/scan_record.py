"""`make bench-scan-record`: the processor time of `plan_scan` with and without the record of scans, in one run.

Short blocks with and without the record alternate, so that both see the same load of the machine. The time is that of
the thread of the calls and of PostgreSQL's processes, with a flush of the record after each thousand calls.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import click

from metastore.app.worker import Application, make_application
from metastore.services import scan_recording
from metastore.settings import Settings
from metastore.storage.postgres.embedded import EmbeddedPostgres, postmaster
from migrations import runner
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import PredicateNode, PredicateOperator, ScanRequest

FIGURES = {"numRows": "10", "totalSize": "100000", "numFiles": "2"}
FLUSH = 1000  # calls


def equal(column: str, value: str) -> PredicateNode:
    return PredicateNode(PredicateOperator.EQUAL, column, [value])


def both(number: int) -> PredicateNode:
    return PredicateNode(PredicateOperator.AND, operands=number)


SCANS = {
    "1 of 1,000 partitions": [equal("ds", "2026-01-03"), equal("hour", "5"), equal("a", "7"), both(3)],
    "100 of 1,000 partitions": [equal("ds", "2026-01-03"), equal("a", "7"), both(2)],
    "1,000 of 1,000 partitions": [equal("a", "7")],
}


@click.command()
@click.option("--rounds", default=300, show_default=True, help="Pairs of blocks.")
@click.option("--calls", default=20, show_default=True, help="Calls of a block.")
def main(rounds: int, calls: int) -> None:
    """Prints the share of the record for each scan, when every scan is recorded and when they are sampled."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        with EmbeddedPostgres(folder / "postgres") as postgres:
            runner.upgrade(postgres.url)
            settings = Settings(warehouse=str(folder / "warehouse"), database_url=postgres.url)
            application = make_application(settings, postgres.url)
            try:
                fill(application)
                for title, nodes in SCANS.items():
                    request = ScanRequest("bench", "t", nodes)
                    for kind, whole in (("every scan recorded", 10**9), ("sampled", scan_recording._WHOLE)):
                        plain, share, flush = measured(application, folder / "postgres", request, rounds, calls, whole)
                        parts = f"the record {share:+.2%}, its flushes {flush:+.2%}"
                        click.echo(f"{title}, {kind}: {plain * 1e6:,.0f} µs a call, {parts}")
            finally:
                application.close()


def fill(application: Application) -> None:
    """Makes a table of ten days with a hundred hours each."""
    call = application.dispatcher.call
    call("create_database", Database(name="bench"))
    call("create_table", table("bench", "t", [("ds", "string"), ("hour", "int")]))
    for day in range(10):
        hours = [partition("bench", "t", [f"2026-01-{day:02}", str(hour)], parameters=FIGURES) for hour in range(100)]
        call("add_partitions", hours)


def measured(
    application: Application, folder: Path, request: ScanRequest, rounds: int, calls: int, whole: int
) -> tuple[float, float, float]:
    """Returns the seconds of a call without the record, and the shares of the record and of its flushes."""
    server = postmaster(folder)
    recorder = application.services.scan_recorder
    days, kept = recorder._days, scan_recording._WHOLE
    scan_recording._WHOLE = whole
    seconds: dict[bool, list[float]] = {True: [], False: []}
    flushes = []
    for number in range(rounds):
        for is_on in (True, False) if number % 2 else (False, True):
            recorder._days = days if is_on else 0
            begun = _processor(server)
            for _ in range(calls):
                application.dispatcher.call("plan_scan", request)
            seconds[is_on].append(_processor(server) - begun)
        if (number + 1) * calls % FLUSH == 0:
            begun = _processor(server)
            recorder.flush()
            flushes.append(_processor(server) - begun)
    recorder._days, scan_recording._WHOLE = days, kept
    plain, recorded = (_quartile(seconds[is_on]) for is_on in (False, True))
    return plain / calls, recorded / plain - 1, _quartile(flushes) / FLUSH / (plain / calls)


def _processor(server: int | None) -> float:
    """Returns the seconds of processor time of this thread and of the processes of a PostgreSQL server."""
    children = [
        number for path in Path(f"/proc/{server}/task").glob("*/children") for number in path.read_text().split()
    ]
    nanoseconds = sum(int(Path(f"/proc/{number}/schedstat").read_text().split()[0]) for number in children)
    return time.thread_time() + nanoseconds / 1e9


def _quartile(values: list[float]) -> float:
    """Returns the lower quartile: blocks during which other processes emptied the caches take longer."""
    return statistics.quantiles(values, n=4)[0] if len(values) > 1 else values[0]


if __name__ == "__main__":
    main()
