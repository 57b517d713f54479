"""Readers without Spark beside plain pyarrow: python -m tests.bench.reading [--partitions 10000] [--rounds 25].

A table has one partition for each day, and each day has the same files. `dataset` fixes the files of one day and of all
days: the calls over the wire, and the listing of directories. Then one day is read, by turns with a `pyarrow.dataset`
that is given the same files by hand. It prints the median time of the rounds, and the mean processor time of this
process, on which other work on the machine has little effect.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean, median

import click
import pyarrow as pa
import pyarrow.dataset as ds

from metastore.client import MetastoreClient, connect, dataset, files
from metastore.client.structs import Publication, PublishMode, PublishPartition
from metastore.domain.filters import parse_filter
from tests.bench.servers import ours, postgres
from tests.wire.reading.tables import Written, make_table

_WHERE = "ds = 'day-00007'"
_IMPORT = "import metastore.client; metastore.client.dataset"
_AT_ONCE = 1_000  # partitions of a publication
_FEW = 5  # rounds of what takes long


@click.command(help=__doc__)
@click.option("--partitions", default=10_000, show_default=True, help="Partitions of the table, at least 8.")
@click.option("--files", "count", default=4, show_default=True, help="Files of each partition.")
@click.option("--rows", default=250_000, show_default=True, help="Rows of each file.")
@click.option("--rounds", default=25, show_default=True, help="Rounds of each measurement of one day.")
def main(partitions: int, count: int, rows: int, rounds: int) -> None:
    """Prints a line for each figure."""
    with _metastore() as client:
        table = _filled(client, partitions, count, rows)
        home, name, full_name = table.database, table.name, table.full_name
        predicate = parse_filter(_WHERE)
        few = min(rounds, _FEW)
        _show("one day, plan_scan", _spent(rounds, lambda: client.plan_scan(home, name, predicate)))
        _show("one day, dataset", _spent(rounds, lambda: dataset(client, full_name, _WHERE)))
        _show(f"all {partitions:,} days, plan_scan", _spent(few, lambda: client.plan_scan(home, name)))
        _show(f"all {partitions:,} days, dataset", _spent(few, lambda: dataset(client, full_name)))
        planned, whole, by_hand = _readers(client, full_name)
        if not whole().equals(by_hand()):
            raise SystemExit("the rows differ")
        _show("one day, rows", _spent(rounds, planned.to_table, by_hand), "given the files by hand")
        _show("one day, dataset and rows", _spent(rounds, whole, by_hand), "given the files by hand")
    spent = _spent(few, lambda: _python(_IMPORT), lambda: _python("import pyarrow.dataset, pyarrow.compute"))
    _show("a process that imports it", spent, "pyarrow alone")


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


@contextmanager
def _metastore() -> Iterator[MetastoreClient]:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        database = stack.enter_context(postgres(folder / "postgres"))
        side = stack.enter_context(ours(database, folder / "ours"))
        yield stack.enter_context(connect(f"thrift://{side.host}:{side.port}"))


def _filled(client: MetastoreClient, partitions: int, count: int, rows: int) -> Written:
    """Returns a table whose partitions have hard links to the files of the first one."""
    table = make_table(client, {"id": "bigint", "price": "double", "word": "string"}, {"ds": "string"})
    numbers = range(rows)
    content = pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "price": pa.array([number / 7 for number in numbers], pa.float64()),
            "word": pa.array([f"word-{number % 1000}" for number in numbers]),
        }
    )
    for start in range(0, partitions, _AT_ONCE):
        query_id = table.begin()
        first = [table.write(f"{table.root}/_first", query_id, content) for _ in range(count)]
        entries = []
        for day in range(start, min(start + _AT_ONCE, partitions)):
            directory = table.root / f"ds=day-{day:05}"
            directory.mkdir()
            for file in first:
                os.link(file, directory / file.name)
            entries.append(PublishPartition((f"day-{day:05}",), PublishMode.CREATE, f"file:{directory}"))
        client.publish([Publication(client.get_table(table.database, table.name), query_id, entries)])
    return table


def _readers(client: MetastoreClient, name: str) -> tuple[ds.Dataset, Callable[[], pa.Table], Callable[[], pa.Table]]:
    """Returns the dataset of one day, and functions that read the day: by a new dataset, and by a dataset of pyarrow
    with the paths that are already known.
    """
    paths = [file.path for file in files(client, name, _WHERE)]
    planned = dataset(client, name, _WHERE)
    schema = planned.schema
    partitioning = ds.partitioning(pa.schema([schema.field("ds")]), flavor="hive")

    def by_hand() -> pa.Table:
        return ds.dataset(paths, schema=schema, format="parquet", partitioning=partitioning).to_table()

    return planned, lambda: dataset(client, name, _WHERE).to_table(), by_hand


def _spent(rounds: int, *functions: Callable[[], object]) -> list[list[tuple[float, float]]]:
    """Returns, for each function and round, the seconds and the seconds of this machine's processors without the
    servers. The first round is not counted.
    """
    spent: list[list[tuple[float, float]]] = [[] for _ in functions]
    for number in range(rounds + 1):
        for function, seconds in zip(functions, spent, strict=True):
            started, before = time.perf_counter(), _processor()
            function()
            if number:
                seconds.append((time.perf_counter() - started, _processor() - before))
    return spent


def _processor() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _show(name: str, spent: list[list[tuple[float, float]]], other: str = "") -> None:
    texts = [
        f"{1e3 * median(wall):.1f} ms, processor {1e3 * mean(cpu):.1f} ms"
        for wall, cpu in (zip(*each, strict=True) for each in spent)
    ]
    more = (
        f"; {other} {texts[1]}; × {median(a / b for (a, _), (b, _) in zip(*spent, strict=True)):.2f}" if other else ""
    )
    click.echo(f"{name}: {texts[0]}{more}")


if __name__ == "__main__":
    main()
