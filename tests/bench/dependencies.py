"""Time of dependency queries, with 1,000 dependent tables and 10,000 base partitions: python -m
tests.bench.dependencies
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.server import connected, running
from tests.wire.builders import new_database, table
from tests.wire.dependencies.requests import DOWN, DS, HR, UP, add, add_to_dependent, asked, create

DEPENDENTS, PARTITIONS, BATCH = 1_000, 10_000, 1_000


def main() -> None:
    """Prints a line for each query: the fastest of five runs."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedPostgres(Path(folder) / "postgres") as postgres:
        runner.upgrade(postgres.url)
        with running(postgres.url, Path(folder)) as server, connected(server) as client:
            database = make(client)
            report("what depends on one of the partitions", client, database, "wide", DOWN, ["1", "5"])
            report("what depends on the whole table", client, database, "wide", DOWN)
            report("what one of the dependents reads", client, database, "d5", UP)
            report("what a thousand dependent partitions read", client, database, "daily", UP)
            report("what depends on the days", client, database, "days", DOWN)


def make(client: Any) -> str:
    """Creates `wide`, where a thousand tables depend on all base partitions of one day, and `days`, with ten partitions
    for each of a thousand days.
    """
    database = new_database(client)
    specs: dict[str, Callable[[int], list[str]]] = {
        "wide": lambda number: ["1", str(number)],
        "days": lambda number: [str(number // 10), str(number % 10)],
    }
    for name, spec in specs.items():
        client.create_table(table(database, name, [DS, HR]))
        for start in range(0, PARTITIONS, BATCH):
            add(client, database, name, *map(spec, range(start, start + BATCH)))
    for number in range(DEPENDENTS):
        create(client, database, f"d{number}", "wide")
        add_to_dependent(client, database, f"d{number}", ["1"])
    create(client, database, "daily", "days")
    add_to_dependent(client, database, "daily", *[[str(day)] for day in range(PARTITIONS // 10)])
    return database


def report(
    question: str, client: Any, database: str, name: str, direction: int, values: list[str] | None = None
) -> None:
    """Runs the query five times."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        answers = asked(client, database, name, direction, values, basePartitions=direction == UP)
        times.append(time.perf_counter() - started)
    total = sum(partition.basePartitionsTotal for partition in answers.partitions)
    sys.stdout.write(
        f"{question}: {min(times):.3f} s for {len(answers.partitions):,} dependent partitions "
        f"on {total:,} base partitions\n"
    )


if __name__ == "__main__":
    main()
