"""The way back under kills: writers change this server, and the source must have all of it in the end.

    python -m tests.bench.following.back --kills 100

`import back` runs all the time, and is started again when it dies. It, this server, its worker and the source are
killed at random. In the end, `--give-back` is killed some times, too, and both sides are compared.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event

import click

from metastore.importing.switching import switch
from tests.bench.following.__main__ import awaited, children, kill, last_event
from tests.bench.following.repeated import Repeated
from tests.bench.following.sides import fill, sides
from tests.bench.following.writers import Writer
from tests.fixtures.installed_postgres import free_port
from tests.fixtures.server import running
from tests.wire.importing.moving import compare, copy, opened

_KINDS = {"returner": 5, "worker": 2, "server": 2, "source": 1}


class Servers:
    """The source and this server, which keeps its port when it is started again."""

    def __init__(self, folder: Path, stack: ExitStack, urls: dict[str, str]) -> None:
        self._folder, self._urls = folder, urls
        self._port = str(free_port())
        self._number = 0
        self._target = ExitStack()
        stack.callback(lambda: self._target.close())
        (folder / "source").mkdir()
        self.source = stack.enter_context(running(urls["source"], folder / "source"))
        self.start()

    def start(self) -> None:
        self._number += 1
        folder = self._folder / f"target{self._number}"
        folder.mkdir()
        self.target = self._target.enter_context(running(self._urls["target"], folder, "--port", self._port))

    def kill(self, what: str, returning: Repeated) -> None:
        parent = self.target.process.pid
        if what == "returner":
            returning.kill()
        elif what == "worker":
            kill(children(parent)[:1])
        elif what == "source":
            kill(children(self.source.process.pid))
        else:
            kill([parent, *children(parent)])
            self._target.close()
            self._target = ExitStack()
            self.start()


def returned(url: str) -> int:
    with opened(url) as store, store.read() as work:
        return int(work.imports.all()[0].options["returned"])


def give_back(command: list[str], choice: random.Random, kills: int) -> None:
    """Runs `--give-back` until it ends. Kills it several times first."""
    for number in range(kills + 1):
        process = subprocess.Popen([*command, "--give-back"], stderr=subprocess.PIPE, text=True)
        with suppress(subprocess.TimeoutExpired):
            _, errors = process.communicate(timeout=300 if number == kills else choice.random() * 4)
            if process.returncode:
                raise click.ClickException(errors)
            return
        process.kill()
        process.communicate()


@click.command()
@click.option("--kills", default=100, show_default=True)
@click.option("--writers", "number", default=8, show_default=True)
@click.option("--pause", default=4.0, show_default=True, help="Maximum seconds between two kills.")
@click.option("--seed", default=1, show_default=True)
def main(kills: int, number: int, pause: float, seed: int) -> None:
    with sides() as (folder, stack, urls):
        choice, both = random.Random(seed), Servers(folder, stack, urls)
        fill(both.source)
        copy(both.source.uri, urls["target"])
        with opened(urls["target"]) as store:
            switch(store, both.source.uri)
        program = [sys.executable, "-m", "metastore.cli", "import", "back", both.source.uri]
        command = [*program, "--uri", both.target.uri, "--database-url", urls["target"]]
        returning, stopped, actual = Repeated(command), Event(), Counter[str]()
        returning.start()
        writers = [Writer(both.target, seed * 100 + place, stopped) for place in range(number)]
        for writer in writers:
            writer.start()
        begun = time.monotonic()
        for _ in range(kills):
            time.sleep(choice.random() * pause)
            (what,) = choice.choices(list(_KINDS), list(_KINDS.values()))
            both.kill(what, returning)
            actual[what] += 1
        seconds = time.monotonic() - begun
        stopped.set()
        for writer in writers:
            writer.join()
        awaited(lambda: returned(urls["target"]) >= last_event(both.target))
        behind = time.monotonic() - begun - seconds
        returning.stop()
        give_back(command, choice, 3)
        differences = [one for one in compare(both.source.uri, both.target.uri) if one.field != "createTime"]
        changes = sum((writer.counts for writer in writers), Counter[str]())
        click.echo(
            f"kills: {sum(actual.values())} {dict(actual)} and of --give-back 3; changes: {changes.total()} in "
            f"{seconds:.0f} s; calls without a reply: {sum(writer.lost for writer in writers)}; behind at the end: "
            f"{behind:.1f} s; differences: {len(differences)}"
        )
        for text, times in returning.failures.most_common():
            click.echo(f"import back ended {times} times: {text}")
        for one in differences[:50]:
            click.echo(str(one))
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
