"""Cost of drops and undrops: python -m tests.bench.undrop [--partitions 100000] [--rounds 10].

Prints the seconds of one call over TCP, and the processor time of the server and of its connections to PostgreSQL.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median

import click
import psutil

from tests.bench.load import Connection, encode
from tests.bench.servers import Postgres, Side, ours, postgres
from tests.bench.workload import Workload
from thrift_idl.gen.hive_metastore.ttypes import DropPartitionsRequest, RequestPartsSpec
from thrift_idl.gen.metastore.ttypes import UndropRequest

COLUMNS = 40
BATCH = 1_000


@click.command()
@click.option("--partitions", default=100_000, show_default=True)
@click.option("--rounds", default=10, show_default=True)
@click.option("--vacuum/--no-vacuum", default=True, show_default=True, help="Before each call, as within a minute.")
def main(partitions: int, rounds: int, vacuum: bool) -> None:
    """Drops all partitions of a table by name, then the table, and undoes both."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        with postgres(Path(folder) / "postgres") as database, ours(database, Path(folder) / "ours") as side:
            workload = Workload(f"file:{folder}/wide", partitions, COLUMNS, BATCH, shared_directories=True)
            with closing(Connection(side)) as connection:
                for request in (*workload.create(), *workload.add()):
                    connection.call(request)
                seconds: dict[str, list[float]] = {}
                for _ in range(rounds):
                    for name, request in calls(workload):
                        if vacuum:
                            database.vacuum(side)
                        elapsed, spent = measured(connection, side, database, request)
                        seconds.setdefault(name, []).append(elapsed)
                        click.echo(f"{name:<44} {elapsed:6.3f} s; {spent}")
                for name, each in seconds.items():
                    click.echo(f"{name:<44} median {median(each):.3f} s, longest {max(each):.3f} s")


def calls(workload: Workload) -> Iterator[tuple[str, bytes]]:
    """Yields the measured calls in turn: each undoes the one before it."""
    names = RequestPartsSpec(names=workload.names())
    wanted = workload.database, workload.table
    back = encode("undrop", UndropRequest(*wanted))
    drop = DropPartitionsRequest(*wanted, names, deleteData=False, ifExists=False, needResult=False)
    yield f"drop of {workload.partitions:,} partitions by name", encode("drop_partitions_req", drop)
    yield "partitions taken back", back
    yield "drop of their table", encode("drop_table", *wanted, False)
    yield "table taken back", back


def measured(connection: Connection, side: Side, database: Postgres, request: bytes) -> tuple[float, str]:
    """Makes the call. Returns its seconds, and a text with its processor time."""
    server, behind, start = side.cpu(), _behind(side, database), time.perf_counter()
    connection.call(request)
    elapsed = time.perf_counter() - start
    server, behind = side.cpu() - server, _behind(side, database) - behind
    return elapsed, f"of the processor {server:6.3f} s in the server, {behind:6.3f} s in PostgreSQL"


def _behind(side: Side, database: Postgres) -> float:
    """Returns the processor time of the server's connections so far."""
    pids = database.scalar(f"SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = '{side.database}'")
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(time.user + time.system for time in times)


if __name__ == "__main__":
    main()
