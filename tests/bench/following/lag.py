"""How far a follower is behind its source, and how long a switch stops the writers.

    python -m tests.bench.following.lag --rate 200 --seconds 60 --warm 15

Writers change the source at a steady rate. The time of each event is taken from both databases, fifty times a second:
when the source has it, and when its changes are committed here. Then the databases are switched while readers read all
the time. The source, the writers and both PostgreSQL share the machine with the follower, so the processor time of each
part is printed: where it sums up to all processors, the machine limits the rate.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Event, Thread

import click
import psycopg2  # type: ignore[import-untyped] # it has no types
from thrift.Thrift import TException

from metastore.importing.switching import switch
from tests.bench.following.__main__ import awaited, last_event, position
from tests.bench.following.sides import fill, sides
from tests.bench.following.steady import Pace, SteadyWriter
from tests.bench.following.usage import PLAIN, processor_times
from tests.fixtures.server import Server, connected, running
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore.ttypes import Database

_TICK = 0.02  # seconds between two samples


class Sampler(Thread):
    """Records when the last event of the source, and the position here, were first seen."""

    def __init__(self, urls: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self._urls = urls
        self.ended = Event()
        self.seen: dict[str, list[tuple[int, float]]] = {"source": [], "target": []}

    def run(self) -> None:
        queries = {
            "source": "SELECT last_event_id FROM notification_sequence",
            "target": "SELECT position FROM imports",
        }
        links = {name: psycopg2.connect(url.replace(*PLAIN)) for name, url in self._urls.items()}
        for link in links.values():
            link.autocommit = True
        cursors = {name: link.cursor() for name, link in links.items()}
        while not self.ended.wait(_TICK):
            for name, query in queries.items():
                cursors[name].execute(query)
                number, seen = int(cursors[name].fetchone()[0] or 0), self.seen[name]
                if not seen or seen[-1][0] < number:
                    seen.append((number, time.monotonic()))

    def delays(self) -> list[float]:
        """Returns the seconds from each event at the source to its changes here, ascending."""
        here = iter(self.seen["target"])
        at, when = next(here)
        delays: list[float] = []
        previous = self.seen["source"][0][0]
        for number, seen in self.seen["source"][1:]:
            for event in range(previous + 1, number + 1):
                while at < event:
                    at, when = next(here, (event, float("inf")))
                delays.append(when - seen)
            previous = number
        return sorted(delays)


class Reader(Thread):
    """Reads from this server all the time. `failures`: of its calls; `longest`: seconds of one call."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._server = server
        self.ended = Event()
        self.calls, self.failures, self.longest = 0, 0, 0.0

    def run(self) -> None:
        with connected(self._server) as client:
            while not self.ended.is_set():
                begun = time.monotonic()
                try:
                    client.get_all_tables("db0")
                except TException:
                    self.failures += 1
                self.calls += 1
                self.longest = max(self.longest, time.monotonic() - begun)


class Fence:
    """Stops the writers of the bench."""

    def __init__(self, stopped: Event, writers: Sequence[SteadyWriter]) -> None:
        self._stopped, self._writers = stopped, writers

    def close(self) -> None:
        self.closed = time.monotonic()
        self._stopped.set()
        for writer in self._writers:
            writer.join()

    def open(self) -> None:
        raise click.ClickException("the switch failed")


def share(delays: Sequence[float], part: float) -> float:
    """Returns a quantile of ascending numbers."""
    return delays[min(len(delays) - 1, int(part * len(delays)))]


def _switched(url: str, source: Server, target: Server, fence: Fence) -> None:
    """Switches while a reader reads, and prints how long writes were stopped, up to the first one here."""
    reader = Reader(target)
    reader.start()
    with opened(url) as store:
        done = switch(store, source.uri, fence=fence)
    with connected(target) as client:
        client.create_database(Database("after"))
    seconds = time.monotonic() - fence.closed
    reader.ended.set()
    reader.join()
    click.echo(
        f"switch of {len(done.databases)} databases: writes stopped for {seconds:.2f} s, of which the command took "
        f"{done.stopped:.2f} s; {reader.calls} reads meanwhile, {reader.failures} failed, the longest took "
        f"{reader.longest * 1e3:.0f} ms"
    )


@click.command()
@click.option("--rate", default=200.0, show_default=True, help="Changes a second.")
@click.option("--seconds", default=60.0, show_default=True)
@click.option("--warm", default=15.0, show_default=True, help="Seconds of changes before the measurement.")
@click.option("--writers", "number", default=8, show_default=True)
def main(rate: float, seconds: float, warm: float, number: int) -> None:
    with sides() as (folder, stack, urls):
        for one in urls:
            (folder / one).mkdir()
        source = stack.enter_context(running(urls["source"], folder / "source"))
        fill(source)
        copy(source.uri, urls["target"])
        target = stack.enter_context(running(urls["target"], folder / "target", "--follow", source.uri))
        stopped, pace = Event(), Pace(rate)
        writers = [SteadyWriter(source, place, stopped, pace) for place in range(number)]
        for writer in writers:
            writer.start()
        time.sleep(warm)
        sampler = Sampler(urls)
        sampler.start()
        begun, before, used = time.monotonic(), last_event(source), processor_times(urls, source, target)
        earlier = sum(writer.counts.total() for writer in writers)
        time.sleep(seconds)
        spent, events = time.monotonic() - begun, last_event(source) - before
        changes = sum(writer.counts.total() for writer in writers) - earlier
        now = processor_times(urls, source, target)
        fence = Fence(stopped, writers)
        _switched(urls["target"], source, target, fence)
        awaited(lambda: position(urls["target"]) >= last_event(source))
        time.sleep(5 * _TICK)
        sampler.ended.set()
        sampler.join()
        delays = sampler.delays()
        click.echo(
            f"{changes / spent:.0f} changes and {events / spent:.0f} events a second; "
            f"delay of {len(delays)} events: "
            f"median {share(delays, 0.5):.2f} s, 99 % {share(delays, 0.99):.2f} s, longest {delays[-1]:.2f} s"
        )
        each = {name: now[name] - used[name] for name in now}
        texts = [f"{name} {1e3 * one / events:.2f} ms" for name, one in each.items()]
        busy = sum(each.values()) / spent
        click.echo(f"processor time of an event: {', '.join(texts)}; {busy:.2f} processors in all")
        differences = [one for one in compare(source.uri, target.uri) if "after" not in one.object]
        click.echo(f"differences: {len(differences)}")
        for one in differences[:20]:
            click.echo(str(one))


if __name__ == "__main__":
    main()
