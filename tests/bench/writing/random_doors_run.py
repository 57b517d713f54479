"""Starts what `random_doors` needs: PostgreSQL, a metastore, two drivers, a client of Spark Connect."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pyspark

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.bench.writing.outage import kill
from tests.bench.writing.random_doors import CLASSIC, CONNECT, JDBC, OTHER, Door, Figures, RandomDoors
from tests.fixtures.real_hive import free_port
from tests.fixtures.server import running
from tests.fixtures.sparks import python_of_client

_ROOT = Path(__file__).parents[3]
_DOORS = str(Path(__file__).with_name("doors.py"))


def random_doors(
    tables: int,
    steps: int,
    inserts: int,
    partitions: int,
    *,
    seconds: float,
    seed: int,
    tell: Callable[[str], None],
) -> Figures:
    """Runs the steps, then the small INSERTs and the large table. Spark 3.5 takes no part through Spark Connect."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL may run as another user
        database = stack.enter_context(EmbeddedPostgres(folder / "postgres", connections=200))
        runner.upgrade(database.url)
        (folder / "ours").mkdir()
        port, connect, thrift = free_port(), free_port(), free_port()

        def started() -> Callable[[], None]:
            server = stack.enter_context(running(database.url, folder / "ours", "--port", str(port)))
            return lambda: kill(server)

        strike = [started()]

        def restart_metastore() -> None:
            strike.pop()()
            strike.append(started())

        environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
        uri, has_connect = f"thrift://127.0.0.1:{port}", pyspark.__version__ >= "4"
        program = [sys.executable, "-W", "ignore", _DOORS, "driver", uri]
        first = Door([*program, str(connect) if has_connect else "-", str(thrift)], environment)
        second = Door(program, environment)
        jdbc = f"jdbc:hive2://127.0.0.1:{thrift}/default"
        doors = [first, second]
        ways = {CLASSIC: first.ask, OTHER: second.ask, JDBC: lambda sql: second.ask(sql, jdbc)}
        if has_connect:
            client = [python_of_client(), "-W", "ignore", _DOORS, "connect", f"sc://127.0.0.1:{connect}"]
            plain = {name: text for name, text in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
            doors.append(Door(client, plain))
            ways[CONNECT] = doors[2].ask
        stack.callback(lambda: [door.kill() for door in doors])

        def restart_second() -> None:
            second.kill()
            second.start()

        def restart_first() -> None:
            first.kill()
            first.start()
            second.ask("SELECT 1", jdbc)  # fails; the next one connects again
            for door in doors[2:]:
                door.kill()
                door.start()

        kills = {
            OTHER: (OTHER, restart_second),
            CLASSIC: (CLASSIC, restart_first),
            "metastore": (CLASSIC, restart_metastore),
        }
        run = RandomDoors(ways, kills, random.Random(seed), tell)
        run.small_inserts(inserts)
        if partitions:
            run.many_partitions(partitions, 3)
        return run.run(tables, steps, seconds)
