"""Memory of readers of a table with many partitions: python -m tests.bench.reading_memory [--partitions 1000000].

SQL fills the table. Its partitions share a thousand directories, each with one small file. Each read without `where`
runs in a process of its own. It prints the seconds, the largest memory of that process beyond its imports, and the
largest memory that a worker of the server needed beyond the one it had before.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import click
import psutil
import pyarrow as pa
from sqlalchemy.engine import make_url

from metastore.client import MetastoreClient, connect
from tests.bench.servers import Side, ours, postgres
from tests.fixtures.database import execute
from tests.wire.builders import columns, descriptor, partition
from tests.wire.reading.tables import Written, make_table, write_file

_DIRECTORIES = 1_000
_WIDTH = 7  # digits of a value
_FIGURES = {"numFiles": "1", "totalSize": "1024", "numRows": "1", "transient_lastDdlTime": "1764410000"}
# The first partition is copied with another value and directory: texts of the same length.
_COPY = """
    INSERT INTO partitions (table_id, name, "values", keys, location, create_time, last_access_time, parameters,
                            descriptor_id, version, encoded)
    SELECT p.table_id, 'ds=' || made.value, ARRAY[made.value], ARRAY[made.value], {root} || made.directory,
           p.create_time, p.last_access_time, p.parameters, p.descriptor_id, p.version,
           overlay(
               overlay(p.encoded PLACING convert_to(made.value, 'UTF8')
                       FROM position(convert_to(repeat('0', {width}), 'UTF8') IN p.encoded))
               PLACING convert_to(made.directory, 'UTF8')
               FROM position(convert_to('part-000', 'UTF8') IN p.encoded))
    FROM partitions AS p, generate_series(1, {count} - 1) AS number,
         LATERAL (SELECT lpad(number::text, {width}, '0') AS value,
                         'part-' || lpad((number % {directories})::text, 3, '0') AS directory) AS made
"""
_START = """
import sys
from pathlib import Path
import pyarrow.dataset
from metastore.client import connect, dataset, files
def peak():
    (line,) = (each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1])
client = connect(sys.argv[1])
client.get_table(*sys.argv[2].split("."))
before = peak()
"""
_READS = {
    "plan_scan, whole": "count = len(client.plan_scan(*sys.argv[2].split('.')).partitions)",
    "plan_scan, paged": "count = len(client.plan_scan(*sys.argv[2].split('.'), paged=True).partitions)",
    "files": "count = sum(1 for _ in files(client, sys.argv[2]))",
    "dataset and head(5)": "count = dataset(client, sys.argv[2]).head(5).num_rows",
    "dataset and to_batches": "count = sum(each.num_rows for each in dataset(client, sys.argv[2]).to_batches())",
}
_END = "print(count, (peak() - before) // 1024)"


@click.command(help=__doc__)
@click.option("--partitions", default=1_000_000, show_default=True, help="Partitions of the table, at least 1,000.")
@click.option("--read", "chosen", multiple=True, type=click.Choice(list(_READS)), help="Only these reads.")
def main(partitions: int, chosen: tuple[str, ...]) -> None:
    """Prints a line for each read."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        database = stack.enter_context(postgres(folder / "postgres"))
        side = stack.enter_context(ours(database, folder / "ours"))
        client = stack.enter_context(connect(f"thrift://{side.host}:{side.port}"))
        url = make_url(database.url).set(database=side.database).render_as_string(hide_password=False)
        table = _filled(client, url, partitions)
        for read in chosen or _READS:
            click.echo(f"{read}: {_measured(side, table, read)}")


def _filled(client: MetastoreClient, url: str, partitions: int) -> Written:
    table = make_table(client, {"id": "bigint"}, {"ds": "string"}, tableType="EXTERNAL_TABLE")
    for number in range(_DIRECTORIES):
        directory = table.root / f"part-{number:03}"
        directory.mkdir(parents=True)
        write_file(directory / "0.parquet", pa.table({"id": pa.array([number], pa.int64())}))
    shape = descriptor(cols=columns(("id", "bigint")), location=f"{table.location}/part-000")
    first = partition(table.database, table.name, ["0" * _WIDTH], sd=shape, parameters=_FIGURES)
    client.methods.add_partitions([first])
    root = f"'{table.location}/'"
    execute(url, _COPY.format(root=root, width=_WIDTH, count=partitions, directories=_DIRECTORIES))
    execute(url, "VACUUM ANALYZE partitions")
    return table


def _measured(side: Side, table: Written, read: str) -> str:
    workers = side.workers()
    before = {each.pid: _peak(each, reset=True) for each in workers}
    arguments = (f"thrift://{side.host}:{side.port}", table.full_name)
    started = time.monotonic()
    code = f"{_START}{_READS[read]}\n{_END}"
    ended = subprocess.run([sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    count, megabytes = map(int, ended.stdout.split())
    most = max(_peak(each) - before[each.pid] for each in workers)
    seconds = time.monotonic() - started
    return f"{count:,} in {seconds:.0f} s; reader {megabytes:,} MB, server {most // 2**20:,} MB"


def _peak(process: psutil.Process, *, reset: bool = False) -> int:
    """Returns the largest resident memory so far in bytes. `reset`: makes it the present one first (proc(5))."""
    folder = Path(f"/proc/{process.pid}")
    if reset:
        (folder / "clear_refs").write_text("5")
    (line,) = (each for each in (folder / "status").read_text().splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
