"""`python -m tests.bench.console`: the time of every page on a big catalog, and the cost of open pages for busy
clients.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click
import psutil
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from metastore.storage.postgres.embedded import EmbeddedPostgres
from tests.bench.console.catalog import Size, build
from tests.bench.console.load import OPEN, busy, open_pages, refreshed
from tests.bench.console.pages import timed, visits
from tests.bench.console.painting import first_paints
from tests.bench.load import Timing, timing
from tests.fixtures.database import execute
from tests.fixtures.server import Server, running
from tests.wire.monitoring.pages import HTTP

_LIMIT = 50.0  # milliseconds of a statement


@click.command()
@click.option("--tables", default=100_000, show_default=True)
@click.option("--partitions", default=1_000_000, show_default=True)
@click.option("--rounds", default=5, show_default=True, help="Requests of each page; the best counts.")
@click.option("--seconds", default=10.0, show_default=True, help="Of each turn with and without open pages.")
@click.option("--turns", default=5, show_default=True)
@click.option("--database-url", help="Of a catalog that an earlier run has built.")
def main(tables: int, partitions: int, rounds: int, seconds: float, turns: int, database_url: str | None) -> None:
    """Builds the catalog, and prints the figures."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL may run as another user
        url = database_url or stack.enter_context(_built(folder / "postgres", Size(tables, partitions)))
        _print_pages(url, rounds)
        server = stack.enter_context(running(url, _made(folder / "server"), "--http-port", "0", "--workers", "2"))
        _print_first_paint(server, rounds)
        _print_load(server, seconds, turns)


@contextmanager
def _built(folder: Path, size: Size) -> Iterator[str]:
    with EmbeddedPostgres(folder, connections=200) as embedded:
        execute(embedded.url, "CREATE DATABASE big TEMPLATE template0 ENCODING 'UTF8'")
        url = make_url(embedded.url).set(database="big").render_as_string(hide_password=False)
        begun = time.perf_counter()
        build(url, size)
        click.echo(
            f"{size.tables:,} tables, {size.partitions:,} partitions: built in {time.perf_counter() - begun:.0f} s"
        )
        yield url


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _print_pages(url: str, rounds: int) -> None:
    """Prints the statements of each page for each user, and a mark at what exceeds a limit."""
    for each in timed(url, rounds):
        exceeds = len(each.statements) > 3 or max(each.statements, default=0.0) > _LIMIT
        figures = " ".join(f"{number:.1f}" for number in each.statements)
        click.echo(f"{'!' if exceeds else ' '} {each.visit.address:62} {each.user:17} {figures}")


def _print_first_paint(server: Server, rounds: int) -> None:
    """Prints the time until a page has arrived as HTML, and until a browser has painted it."""
    host = _host(server)
    addresses = [visit.address for visit in visits()]
    arrived = {address: min(_get(host, address) for _ in range(rounds)) for address in addresses}
    painted = dict(first_paints(f"http://{host}", addresses, rounds))
    for address in addresses:
        paint = f", painted after {painted[address]:.0f} ms" if painted else ""
        click.echo(f"  {address:62} HTML {1000 * arrived[address]:.0f} ms{paint}")


class Turn(NamedTuple):
    """Calls with or without open pages. `processor`: microseconds of the server and PostgreSQL for each call."""

    calls: Timing
    processor: float


def _print_load(server: Server, seconds: float, turns: int) -> None:
    """Prints p99 and the processor time of busy Thrift connections without and with open pages, by turns."""
    leaders = [psutil.Process(server.process.pid), psutil.Process(_postmaster(server.database_url))]
    alone: list[Turn] = []
    beside: list[Turn] = []
    for _ in range(turns):
        alone.append(_turn(server, leaders, seconds))
        with open_pages(_host(server)) as counts:
            beside.append(_turn(server, leaders, seconds))
        click.echo(f"  {counts[0]} refreshes, {counts[1]:,} bytes")
    for name, turns_of in (("without pages", alone), (f"with {OPEN} open pages", beside)):
        figures = ("per_second", "p50", "p99")
        rate, p50, p99 = (median(getattr(each.calls, figure) for each in turns_of) for figure in figures)
        spent = median(each.processor for each in turns_of)
        click.echo(f"  {name:20} {rate:,.0f} calls/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms, {spent:.0f} µs of processor")
    p99 = median(b.calls.p99 / a.calls.p99 for a, b in zip(alone, beside, strict=True))
    spent = median(b.processor / a.processor for a, b in zip(alone, beside, strict=True))
    click.echo(f"  with pages, p99 is {p99:.2f} and processor time {spent:.3f} times that of the turn before without")


def _turn(server: Server, leaders: Sequence[psutil.Process], seconds: float) -> Turn:
    before = _spent(leaders)
    latencies = busy(server, seconds)
    return Turn(timing(latencies, seconds), 1e6 * (_spent(leaders) - before) / len(latencies))


def _spent(leaders: Sequence[psutil.Process]) -> float:
    """Returns the seconds of processor time of processes and their children."""
    times = [each.cpu_times() for leader in leaders for each in (leader, *leader.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _postmaster(url: str) -> int:
    """Returns the process id of PostgreSQL's first process."""
    engine = create_engine(url)
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT pg_read_file('postmaster.pid')")).scalar_one().split()[0])


def _get(host: str, address: str) -> float:
    """Requests a page. Returns the seconds until it has arrived."""
    begun = time.perf_counter()
    refreshed(host, address, {})
    return time.perf_counter() - begun


def _host(server: Server) -> str:
    match = HTTP.search(server.ready)
    if not match:
        raise RuntimeError(f"the server has no HTTP port: {server.ready}")
    return match[1].removeprefix("http://")


if __name__ == "__main__":
    main()
