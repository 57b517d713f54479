"""Kills importer, server, and both databases during imports, and compares the result.

    python -m tests.bench.moving_kills --kills 20

Each import is started again after each death, until it ends. Meanwhile the source changes. At the end of each import
every partition must be stored once, and `metastore import verify` must find no difference.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from migrations import runner
from tests.bench.moving import processes_of
from tests.bench.moving_source import generate
from tests.bench.servers import Postgres, postgres
from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import Server, running

CHANGES = (
    """UPDATE "PARTITIONS" SET "CREATE_TIME" = "CREATE_TIME" + 1 WHERE "PART_ID" = {id}""",
    """DELETE FROM "PARTITIONS" WHERE "PART_ID" = {id}""",
    """UPDATE "TBLS" SET "OWNER" = 'owner{id}' WHERE "TBL_ID" = 1 + {id} %% 10""",
    """UPDATE "PARTITION_PARAMS" SET "PARAM_VALUE" = '{id}' WHERE "PART_ID" = {id}
        AND "PARAM_KEY" = 'transient_lastDdlTime'""",
)


def command(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "metastore.cli", *arguments], stdout=subprocess.DEVNULL)


def crash(database: Postgres, name: str) -> None:
    """Kills a process that serves a database: PostgreSQL closes all connections and recovers from its log."""
    for process in processes_of(database)():
        if f" {name} " in " ".join(process.cmdline()):
            process.kill()
            return


def wait_for(url: str) -> None:
    """Waits until a database accepts connections again."""
    engine = create_engine(url, poolclass=NullPool)
    while True:
        try:
            with engine.connect() as connection:
                connection.execute(text("SELECT 1"))
                return
        except OperationalError:
            time.sleep(0.1)


def change(source: HiveDatabase, chosen: random.Random, partitions: int) -> None:
    """Changes an object of the source."""
    vars(source).pop("_connection", None)  # it may have been killed
    source.execute(chosen.choice(CHANGES).format(id=chosen.randrange(1_000, 1_000 + partitions)))


@dataclass
class Round:
    """One import into a new database."""

    source: HiveDatabase
    source_url: str
    target: str
    server: Server
    victims: dict[str, Callable[[], object]]

    def run(self, chosen: random.Random, partitions: int) -> Iterator[str]:
        """Imports until the end. Yields the kinds of processes that were killed."""
        while True:
            process = command("import", "run", self.source.url, "--database-url", self.target)
            victim = chosen.choice(list(self.victims))
            wait = chosen.uniform(2, 9)
            try:
                status = process.wait(wait)
            except subprocess.TimeoutExpired:
                self.victims[victim]()
                if victim == "importer":
                    process.kill()
                status = process.wait()
                yield f"{victim} after {wait:.1f} s, the import ended with {status}"
            wait_for(self.target)
            wait_for(self.source_url)
            if status == 0:
                return
            change(self.source, chosen, partitions)


@click.command()
@click.option("--kills", default=20, show_default=True)
@click.option("--partitions", default=60_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(kills: int, partitions: int, seed: int) -> None:
    """Repeats imports until the given number of processes was killed. Exits with 1 after a difference."""
    chosen, killed, imports = random.Random(seed), 0, 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL may run as another user
        theirs, ours = (stack.enter_context(postgres(folder / name)) for name in ("theirs", "ours"))
        source_url = theirs.create("hive")
        source = generate(lambda **_: source_url, partitions)
        while killed < kills:
            imports += 1
            name, home = f"ours{imports}", folder / f"server{imports}"
            home.mkdir()
            target = ours.create(name)
            runner.upgrade(target)
            with running(target, home) as server:
                victims = {
                    "importer": lambda: None,
                    "database of the source": partial(crash, theirs, "hive"),
                    "database of the target": partial(crash, ours, name),
                    "server": server.process.kill,
                }
                for death in Round(source, source_url, target, server, victims).run(chosen, partitions):
                    killed += 1
                    click.echo(f"{killed}: {death}")
            home.with_suffix(".after").mkdir()
            with running(target, home.with_suffix(".after")) as server:
                compare(source, target, server.uri)
    click.echo(f"{imports} imports, {killed} killed: 0 differences")


def compare(source: HiveDatabase, target: str, uri: str) -> None:
    """Compares counts and all objects. Raises ClickException."""
    vars(source).pop("_connection", None)
    ((theirs,),) = source.rows('SELECT COUNT(*) FROM "PARTITIONS"')
    with create_engine(target, poolclass=NullPool).connect() as connection:
        ours, names = connection.execute(
            text("SELECT count(*), count(DISTINCT (table_id, name)) FROM partitions")
        ).one()
    if not theirs == ours == names:
        raise click.ClickException(f"{theirs} partitions at the source, {ours} here, with {names} names")
    if command("import", "verify", source.url, "--uri", uri).wait():
        raise click.ClickException("the comparison has found differences")


if __name__ == "__main__":
    main()
