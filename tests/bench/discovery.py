"""`python -m tests.bench.discovery`: new directories among many, by `metastore care discover` and by Spark's MSCK.

Each partition has a directory with one file. Both find as many new directories, one after the other, in the same table.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from pyspark.sql import SparkSession

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import AddPartitionsRequest

TABLE: Final = "default.t"
BATCH: Final = 5000


@click.command()
@click.option("--partitions", default=20_000, show_default=True, help="Directories that are partitions already.")
@click.option("--new", default=100, show_default=True, help="New directories for each of the two.")
@click.option("--master", default="local[*]", show_default=True)
def main(partitions: int, new: int, master: str) -> None:
    """Compares the times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        with EmbeddedPostgres(folder / "postgres") as postgres:
            runner.upgrade(postgres.url)
            with running(postgres.url, folder) as server:
                _compare(server, folder / "warehouse" / "t", partitions, new, master)


def _compare(server: Server, place: Path, count: int, new: int, master: str) -> None:
    with connected(server) as client:
        _create(client, place, count)
        spark = _plain_spark(server, master)
        command = [sys.executable, "-m", "metastore.cli", "care", "discover", TABLE, "--uri", server.uri]
        msck = _timed(client, place, "a", new, lambda: spark.sql(f"MSCK REPAIR TABLE {TABLE}").collect())
        ours = _timed(client, place, "b", new, lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
        spark.stop()
    click.echo(f"{new:,} new directories among {count:,}")
    click.echo(f"MSCK REPAIR TABLE, plain Spark {spark.version}: {msck:.2f} s")
    click.echo(f"metastore care discover, with the start of the program: {ours:.2f} s, {ours / msck:.1%}")


def _create(client: Any, place: Path, count: int) -> None:
    """Creates an external table with this number of partitions, and registers them."""
    sd = descriptor(place.as_uri())
    parameters = {"EXTERNAL": "TRUE", "discover.partitions": "true"}
    client.create_table(
        table("default", "t", [("dt", "string")], sd=sd, tableType="EXTERNAL_TABLE", parameters=parameters)
    )
    names = [f"{number:07}" for number in range(count)]
    _make(place, names)
    for start in range(0, count, BATCH):
        batch = [
            partition("default", "t", [name], sd=descriptor(f"{place.as_uri()}/dt={name}"))
            for name in names[start : start + BATCH]
        ]
        client.add_partitions_req(AddPartitionsRequest("default", "t", batch, ifNotExists=False, needResult=False))


def _make(place: Path, names: list[str]) -> None:
    for name in names:
        folder = place / f"dt={name}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_bytes(b"PAR1")


def _plain_spark(server: Server, master: str) -> SparkSession:
    """Returns a session without this library, which has run a statement of the kind."""
    settings = {
        "spark.hadoop.hive.metastore.uris": server.uri,
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "2g",
    }
    builder = SparkSession.builder.master(master).enableHiveSupport()
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sql("CREATE TABLE warm (n INT) PARTITIONED BY (d INT) STORED AS PARQUET")
    spark.sql("MSCK REPAIR TABLE warm").collect()
    return spark


def _timed(client: Any, place: Path, prefix: str, new: int, action: Callable[[], Any]) -> float:
    """Creates directories, runs the action, and checks that it has added them. Returns its seconds."""
    before = len(client.get_partition_names("default", "t", -1))
    _make(place, [f"{prefix}{number}" for number in range(new)])
    started = time.perf_counter()
    action()
    seconds = time.perf_counter() - started
    added = len(client.get_partition_names("default", "t", -1)) - before
    if added != new:
        raise SystemExit(f"{added} of {new} partitions were added")
    return seconds


if __name__ == "__main__":
    main()
