"""`python -m tests.bench.following --kills 100`: prints the kills, the changes, and each difference at the end.

With `--importer`, nothing is copied before. `metastore import run --follow` copies while the writers change the source.
It is killed in place of the follower, and started again.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event

import click

from tests.bench.following.repeated import Repeated
from tests.bench.following.sides import fill, sides
from tests.bench.following.writers import Writer
from tests.fixtures.server import Server, connected, running
from tests.wire.importing.moving import compare, copy, opened

PATIENCE = 300.0  # seconds until a server answers again, or has all changes


def children(process: int) -> list[int]:
    """Returns the processes that a process has started."""
    with suppress(OSError):
        return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def kill(processes: list[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def awaited(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise click.ClickException("nothing happened for too long")
        time.sleep(0.1)


def position(url: str) -> int:
    with opened(url) as store, store.read() as work:
        return max((state.position or 0 for state in work.imports.all()), default=0)


def last_event(source: Server) -> int:
    with connected(source) as client:
        return int(client.get_current_notificationEventId().eventId)


class Run:
    """The servers of a run. A server that is killed as a whole is started again on its database.

    `importer`: the command that copies and follows in place of the server.
    """

    importer: Repeated | None = None

    def __init__(self, folder: Path, stack: ExitStack, urls: dict[str, str]) -> None:
        self._folder = folder
        self._urls = urls
        self._number = 0
        self._target = ExitStack()
        stack.callback(self._target.close)
        (folder / "source").mkdir()
        self.source = stack.enter_context(running(urls["source"], folder / "source"))

    def start_target(self) -> None:
        self._number += 1
        folder = self._folder / f"target{self._number}"
        folder.mkdir()
        options = [] if self.importer else ["--follow", self.source.uri]
        self.target = self._target.enter_context(running(self._urls["target"], folder, *options))

    def kill(self, what: str) -> None:
        parent = self.target.process.pid
        if what == "source":
            kill(children(self.source.process.pid))  # its worker; the parent starts another one
        elif what == "follower" and self.importer:
            self.importer.kill()
        elif what == "follower":
            kill(children(parent)[-1:])
        elif what == "worker":
            kill(children(parent)[:1])
        else:
            kill([parent, *children(parent)])
            self._target.close()
            self._target = ExitStack()
            self.start_target()


def chaos(run: Run, kills: int, seed: int, pause: float, stopped: Event, writers: list[Writer]) -> Counter[str]:
    """Kills at random while the writers work. Returns the kills by kind."""
    actual: Counter[str] = Counter()
    choice = random.Random(seed)
    for writer in writers:
        writer.start()
    for _ in range(kills):
        time.sleep(choice.random() * pause)
        (what,) = choice.choices(["follower", "worker", "server", "source"], [5, 2, 2, 1])
        run.kill(what)
        actual[what] += 1
    stopped.set()
    for writer in writers:
        writer.join()
    return actual


@click.command()
@click.option("--kills", default=100, show_default=True)
@click.option("--writers", "number", default=8, show_default=True)
@click.option("--pause", default=4.0, show_default=True, help="Maximum seconds between two kills.")
@click.option("--seed", default=1, show_default=True)
@click.option("--importer", is_flag=True, help="Copy and follow by a command that is killed from the beginning.")
def main(kills: int, number: int, pause: float, seed: int, importer: bool) -> None:
    with sides() as (folder, stack, urls):
        run = Run(folder, stack, urls)
        fill(run.source)
        if importer:
            program = [sys.executable, "-m", "metastore.cli", "import", "run", run.source.uri, "--follow"]
            run.importer = Repeated([*program, "--database-url", urls["target"]])
            run.importer.start()
        else:
            copy(run.source.uri, urls["target"])
        run.start_target()
        stopped = Event()
        writers = [Writer(run.source, seed * 100 + location, stopped) for location in range(number)]
        begun = time.monotonic()
        actual_chaos = chaos(run, kills, seed, pause, stopped, writers)
        seconds = time.monotonic() - begun
        awaited(lambda: position(urls["target"]) >= last_event(run.source))
        behind = time.monotonic() - begun - seconds
        differences = compare(run.source.uri, run.target.uri)
        changes = sum((writer.counts for writer in writers), Counter[str]())
        click.echo(
            f"kills: {sum(actual_chaos.values())} {dict(actual_chaos)}; changes: {changes.total()} in {seconds:.0f} s; "
            f"calls without a reply: {sum(writer.lost for writer in writers)}; "
            f"behind at the end: {behind:.1f} s; differences: {len(differences)}"
        )
        for text, times in run.importer.failures.most_common() if run.importer else ():
            click.echo(f"the importer ended {times} times: {text}")
        for one in differences[:50]:
            click.echo(str(one))
        if run.importer:
            run.importer.stop()
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
