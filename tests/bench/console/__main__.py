"""`python -m tests.bench.console`: the time of every page on a big catalog, and what open pages cost busy clients."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import click
from sqlalchemy.engine import make_url

from metastore.storage.postgres.embedded import EmbeddedPostgres
from tests.bench.console.catalog import Size, build
from tests.bench.console.load import OPEN, busy, open_pages, refreshed
from tests.bench.console.pages import timed, visits
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
    """Prints the time until a page has arrived as HTML: a browser can paint it at once."""
    host = _host(server)
    for visit in visits():
        times = [_get(host, visit.address) for _ in range(rounds)]
        click.echo(f"  {visit.address:62} HTML {1000 * min(times):.0f} ms")


def _print_load(server: Server, seconds: float, turns: int) -> None:
    """Prints p99 of busy Thrift connections without and with open pages, by turns."""
    alone: list[Timing] = []
    beside: list[Timing] = []
    for _ in range(turns):
        alone.append(timing(busy(server, seconds), seconds))
        with open_pages(_host(server)) as counts:
            beside.append(timing(busy(server, seconds), seconds))
        click.echo(f"  {counts[0]} refreshes, {counts[1]:,} bytes")
    for name, turn in (("without pages", alone), (f"with {OPEN} open pages", beside)):
        rate, p50, p99 = (median(getattr(each, figure) for each in turn) for figure in ("per_second", "p50", "p99"))
        click.echo(f"  {name:20} {rate:,.0f} calls/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms (medians of the turns)")
    ratio = median(b.p99 / a.p99 for a, b in zip(alone, beside, strict=True))
    click.echo(f"  p99 with pages is {ratio:.2f} times that of the turn before without (median)")


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
