"""`make crash`: writers that are killed, run concurrently, or lose their metastore."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
from pyspark.sql import SparkSession

import spark_client
from metastore.client import MetastoreClient
from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from spark_client import Session
from tests.bench.writing.care import care_kills
from tests.bench.writing.compacting import Compacting
from tests.bench.writing.crash import crash
from tests.bench.writing.engines import NAMES, engines
from tests.bench.writing.outage import kill, outage, restart
from tests.bench.writing.rivals import rivals
from tests.fixtures.java_options import set_java_options
from tests.fixtures.server import Server, running

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def server(*options: str) -> Iterator[Server]:
    """Yields a metastore on its own PostgreSQL."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL may run as another user
        database = stack.enter_context(EmbeddedPostgres(folder / "postgres", connections=200))
        runner.upgrade(database.url)
        (folder / "ours").mkdir()
        yield stack.enter_context(running(database.url, folder / "ours", "--log-level", "ERROR", *options))


@contextmanager
def started(*options: str) -> Iterator[tuple[Server, Session, MetastoreClient]]:
    """Yields a metastore on its own PostgreSQL, a session and a client."""
    with ExitStack() as stack:
        running_server = stack.enter_context(server(*options))
        metastore = stack.enter_context(MetastoreClient(running_server.uri))
        spark = spark_client.session(running_server.uri, master="local[2]", conf=SETTINGS)
        spark.sparkContext.setLogLevel("ERROR")
        stack.callback(spark.stop)
        yield running_server, spark, metastore


def made(spark: SparkSession) -> str:
    """Creates a table for `crash` and `rivals`. Returns its name."""
    name = f"t_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, k INT) PARTITIONED BY (p INT) STORED AS PARQUET")
    return name


def _other(programs: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Returns the option that names other engines. `programs`: how many plain programs are the default."""
    return click.option(
        "--other",
        "others",
        type=click.Choice(NAMES),
        multiple=True,
        default=["programs"] * programs,
        show_default=True,
        help="Another writer and reader; give it several times. Spark, Hive and Trino are those from Maven Central.",
    )


@click.group()
def main() -> None:
    """Long tests of atomic writes."""


@main.command("crash")
@click.option("--kills", default=150, show_default=True, help="Number of writers to kill while readers run.")
@click.option(
    "--in-place", "in_place", default=60, show_default=True, help="Number of writers to kill that overwrite in place."
)
@click.option("--readers", default=2, show_default=True)
@click.option(
    "--rounds",
    default=100,
    show_default=True,
    help="Number of rounds of eight concurrent overwrites, with four readers.",
)
@click.option("--changes", is_flag=True, help="Also kill DELETE, UPDATE, MERGE, streams …: each needs a driver.")
@click.option("--seconds", default=86_400, show_default=True, help="Start no writer to be killed after this time.")
@click.option(
    "--first",
    default=0,
    show_default=True,
    help="Number of the first write. It determines the statement, and the step of the kill.",
)
def crash_command(
    kills: int, in_place: int, readers: int, rounds: int, seconds: int, first: int, *, changes: bool
) -> None:
    """Kills writers at every step, and runs concurrent writers."""
    set_java_options()  # drivers live for seconds
    wrong: list[str] = []
    how: dict[str, Any] = {"first": first, "seconds": seconds, "tell": lambda text: click.echo(text, err=True)}
    with started() as (_, spark, metastore):
        if kills:
            figures = crash(spark, metastore, made(spark), kills, readers=readers, changes=changes, **how)
            click.echo(f"killed writers: {figures}")
            wrong += [*figures.tally.wrong, *figures.unreferenced]
        if in_place:
            figures = crash(spark, metastore, made(spark), in_place, readers=0, in_place=True, changes=changes, **how)
            click.echo(f"killed writers, in place: {figures}")
            wrong += figures.unreferenced
        if rounds:
            race = rivals(spark, metastore, made(spark), rounds, writers=8, readers=4)
            click.echo(f"eight overwriters, four readers, {rounds} rounds: {race}")
            wrong += [*race.tally.wrong, *race.unreferenced]
    for text in wrong:
        click.echo(text, err=True)
    raise SystemExit(1 if wrong else 0)


@main.command("care")
@click.option("--kills", default=200, show_default=True, help="Number of programs to kill.")
@click.option("--seconds", default=86_400, show_default=True, help="Start no program after this time.")
@_other(1)
def care_command(kills: int, seconds: int, others: tuple[str, ...]) -> None:
    """Kills programs that care for tables, beside writers and readers."""
    set_java_options()
    tell: dict[str, Any] = {"seconds": seconds, "tell": lambda text: click.echo(text, err=True)}
    with (
        started("--txn-timeout", "3s") as (server, spark, metastore),
        tempfile.TemporaryDirectory() as folder,
        engines(list(others), server) as beside,
    ):
        figures = care_kills(spark, metastore, Path(folder), kills, beside, **tell)
    click.echo(f"killed programs of table care: {figures}")
    for text in (wrong := [*figures.wrong, *figures.ledger.wrong]):
        click.echo(text, err=True)
    raise SystemExit(1 if wrong else 0)


@main.command("compacting")
@click.option("--partitions", default=10_000, show_default=True)
@click.option("--files", default=20, show_default=True, help="Files of each partition.")
@click.option("--rows", default=20, show_default=True, help="Rows of each file.")
@click.option("--own", default=4, show_default=True, help="Writers of this library, and as many readers.")
@_other(4)
@click.option("--pause", default=5.0, show_default=True, help="Mean seconds between two statements of each.")
@click.option("--runs", default=2, show_default=True, help="Runs of OPTIMIZE, one after the other.")
def compacting_command(
    partitions: int, files: int, rows: int, own: int, others: tuple[str, ...], pause: float, runs: int
) -> None:
    """Compacts many partitions, beside writers and readers."""
    set_java_options()
    with started() as (server, spark, _), engines(list(others), server) as beside:
        figures = Compacting(spark, partitions, files, rows, pause).run(own, beside, runs)
    click.echo(f"compaction beside writers and readers: {figures}")
    for text, count in figures.messages.most_common(20):
        click.echo(f"failed writes, {count} times: {text}", err=True)
    for text in figures.wrong:
        click.echo(text, err=True)
    raise SystemExit(1 if figures.wrong else 0)


@main.command("outage")
@click.option("--rounds", default=20, show_default=True, help="Number of rounds of each kind.")
def outage_command(rounds: int) -> None:
    """Kills the metastore, and restarts PostgreSQL, while a write is published."""
    wrong: list[str] = []
    with started() as (_, spark, _), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        with EmbeddedPostgres(folder / "postgres", connections=200) as database:
            runner.upgrade(database.url)
            kinds = {"metastore killed": kill, "PostgreSQL restarted": restart(database)}
            for number, (kind, strike) in enumerate(kinds.items()):
                figures = outage(spark, database.url, folder / str(number), kind, rounds, strike)
                click.echo(figures)
                wrong += figures.wrong
    for text in wrong:
        click.echo(text, err=True)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
