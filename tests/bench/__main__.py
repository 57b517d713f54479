"""`make bench`: compares this metastore with Hive's. Prints tables; writes JSON, Markdown and plots to build/bench."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console

from tests.bench import measures, report
from tests.bench.load import Connection
from tests.bench.measures import GET_ALL, Fact, Row
from tests.bench.servers import PEERS, Postgres, Side, ours, peer, postgres
from tests.bench.workload import Workload
from tests.fixtures.real_hive import free_port, why_not

COLUMNS = 40
Start = Callable[..., AbstractContextManager[Side]]
LARGE = 100_000  # partitions from which a reply counts as large


@click.command()
@click.option("--quick", is_flag=True, help="Under three minutes: 1,000 partitions, little time for each operation.")
@click.option(
    "--partitions",
    "sizes",
    multiple=True,
    type=int,
    help="Partitions of the table. Repeat the option for several sizes.",
)
@click.option(
    "--hive-up-to", default=10_000, show_default=True, help="Maximum number of partitions with which Hive is measured."
)
@click.option("--seconds", default=2.0, show_default=True, help="Seconds for each operation and server.")
@click.option("--idle", default=10_000, show_default=True, help="Idle connections beside the busy ones.")
@click.option(
    "--peer", "version", type=click.Choice(PEERS), default=PEERS[0], show_default=True, help="Version of Hive."
)
@click.option("--output", type=click.Path(path_type=Path), default=Path("build/bench"), show_default=True)
def main(
    quick: bool, sizes: tuple[int, ...], hive_up_to: int, seconds: float, idle: int, version: str, output: Path
) -> None:
    """Measures both metastores on one PostgreSQL."""
    sizes = sizes or ((1_000,) if quick else (10_000, 100_000, 1_000_000))
    seconds, idle = (0.5, 1_000) if quick else (seconds, idle)
    begun = time.perf_counter()
    console = Console(width=170)
    output.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    facts: list[Fact] = []
    about: dict[str, Any] = {}

    def tell(actual: Row | Fact) -> None:
        elapsed = time.perf_counter() - begun
        console.print(f"[dim]{elapsed:6,.0f} s[/dim]  {report.line(actual)}", soft_wrap=True, highlight=False)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL may run as another user
        database = stack.enter_context(postgres(folder / "postgres"))
        sides = [stack.enter_context(ours(database, folder / "ours"))]
        theirs = partial(peer, version)
        if reason := why_not():
            console.print(reason)
        elif min(sizes) <= hive_up_to:
            sides.append(stack.enter_context(theirs(database, folder / "theirs")))
        about = report.machine(database.scalar("SHOW server_version"), _kind(version, sides))
        console.print(report.heading(about))
        for size in sorted(sizes):
            workload = Workload(f"file:{folder}/wide", size, COLUMNS, min(1_000, size // 2), size > 10_000)
            measured = sides if size <= hive_up_to else sides[:1]
            console.rule(f"{size:,} partitions: {', '.join(side.name for side in measured)}")
            for actual in _of_size(workload, measured, database, seconds):
                (rows if isinstance(actual, Row) else facts).append(actual)  # type: ignore[arg-type]
                tell(actual)
            report.write(output, about, rows, facts)  # an interrupted run keeps its results
        console.rule("servers")
        for actual in _of_servers(sides, theirs, database, folder, idle, seconds):
            if isinstance(actual, Fact):
                facts.append(actual)
                tell(actual)
    report.tables(console, rows, facts)
    report.write(output, about, rows, facts)
    console.print(f"written to {output}, after {time.perf_counter() - begun:,.0f} s")


def _of_size(workload: Workload, sides: Sequence[Side], database: Postgres, seconds: float) -> Iterator[Row | Fact]:
    yield from measures.fill(workload, sides, database)
    yield from _tolerant(measures.read(workload, sides, database, seconds))
    yield from _tolerant(measures.floor(workload, sides[0], database, seconds))
    yield from _tolerant(measures.read_changed(workload, sides, database, seconds))
    yield from _tolerant(measures.plan(workload, sides[0], database, seconds))
    if workload.partitions >= LARGE:
        yield from _tolerant(measures.large_reply(workload, sides[0]))
        yield from _tolerant(measures.maintain(workload, sides[0], database))
    yield from _tolerant(measures.write(workload, sides, database))
    for side in sides:
        database.vacuum(side, full=True)


def _tolerant(rows: Iterator[Row | Fact]) -> Iterator[Row | Fact]:
    """Yields results until an operation fails, and reports the error."""
    try:
        yield from rows
    except Exception as error:  # noqa: BLE001 - the other operations are still measured
        click.echo(f"given up: {error!r}", err=True)


def _of_servers(
    sides: Sequence[Side], theirs: Start, database: Postgres, folder: Path, idle: int, seconds: float
) -> Iterator[Row | Fact]:
    yield Fact("memory of a worker, resident", "MB", {side.name: side.memory() for side in sides})
    yield from _tolerant(measures.idle(sides[0], GET_ALL, idle, seconds))
    yield from _tolerant(_scraped(sides[0], database, folder, seconds))
    starts: dict[str, Start] = {"ours": ours, "theirs": theirs}
    names = [side.name for side in sides]
    again = {name: median(_starts(starts[name], database, folder / f"{name}_again")) for name in names}
    yield Fact("start to first answer, schema present, median of 3", "s", again)


def _scraped(plain: Side, database: Postgres, folder: Path, seconds: float) -> Iterator[Fact]:
    """Starts a second server on the same database, with metrics pages."""
    workload = Workload(f"file:{folder}/seen", 3, COLUMNS, 1)  # a size that no other table has
    with closing(Connection(plain)) as connection:
        for request in workload.create():
            connection.call(request)
    port = free_port()
    with ours(database, folder / "seen", "ours", "--http-port", str(port)) as seen:
        request, _ = workload.reads()["get_table, 16 connections"]
        page = f"http://127.0.0.1:{port}/metrics"
        yield from measures.scraped(plain, replace(seen, name="seen"), page, request, seconds)


def _starts(start: Start, database: Postgres, folder: Path) -> Iterator[float]:
    for number in range(3):
        begun = time.perf_counter()
        with start(database, folder / str(number)) as side:
            connection = Connection(side)
            connection.call(GET_ALL)
            connection.close()
            yield time.perf_counter() - begun


def _kind(version: str, sides: Sequence[Side]) -> str:
    if len(sides) == 1:
        return "not measured"
    return f"Hive Metastore {version} on " + ("the same PostgreSQL" if sides[1].database else "Derby, in memory")


if __name__ == "__main__":
    main()
