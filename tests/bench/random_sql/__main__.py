"""Random statements and queries by two drivers, Spark Connect and JDBC, beside SQLite: python -m tests.bench.random_sql

A driver or the metastore is killed now and then.
"""

from __future__ import annotations

import random

import click

from tests.bench.random_sql.many import many_partitions, small_inserts
from tests.bench.random_sql.processes import started
from tests.bench.random_sql.run import Run
from tests.fixtures.java_options import set_java_options


@click.command()
@click.option("--steps", default=200, show_default=True, help="Statements on random tables.")
@click.option("--each", default=25, show_default=True, help="Statements on three tables, before they are dropped.")
@click.option("--inserts", default=100, show_default=True, help="Of one row each, by all clients at once.")
@click.option("--partitions", default=5_000, show_default=True, help="With three files each; 0: none.")
@click.option("--queries", default=40, show_default=True, help="Of the table with many partitions.")
@click.option("--seconds", default=3_600, show_default=True, help="No statement begins after them.")
@click.option("--seed", default=1, show_default=True)
def main(steps: int, each: int, inserts: int, partitions: int, queries: int, seconds: int, seed: int) -> None:
    """Runs random statements, and compares the rows with those of SQLite."""
    set_java_options()  # drivers live for minutes
    with started() as (interfaces, kills):
        run = Run(interfaces, kills, random.Random(seed), tell=lambda text: click.echo(f"\n{text}", err=True))
        if inserts:
            small_inserts(run, inserts)
        if partitions:
            many_partitions(run, partitions, 3, queries)
        figures = run.run(steps, each, seconds)
    for kind, text in figures.rejected.items():
        click.echo(f"rejected: {kind}\n    {text}", err=True)
    click.echo(f"seed {seed}: {figures}")
    raise SystemExit(1 if figures.wrong else 0)


if __name__ == "__main__":
    main()
