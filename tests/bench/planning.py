"""What Spark spends on planning and scanning: our session beside Spark's own Hive catalog, on one server of ours.

python -m tests.bench.planning [partitions]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow
from pyarrow import parquet
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import spark_client
from metastore.storage.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import descriptor, new_database, partition, table

HOURS, BATCH, ROUNDS = 100, 1_000, 7
KEYS = [("ds", "string"), ("hr", "int")]
DAY = "2024-01-05"
# Each needs the same 10 partitions. The first two are what Spark can hand to any metastore; the others it cannot.
QUESTIONS = {
    "ds = '…' AND hr < 10": f"ds = '{DAY}' AND hr < 10",
    "ds = '…' AND hr IN (0 … 9)": f"ds = '{DAY}' AND hr IN ({', '.join(map(str, range(10)))})",
    "ds LIKE '…%' AND hr < 10": f"ds LIKE '{DAY}%' AND hr < 10",
    "to_date(ds) = DATE '…' AND hr < 10": f"to_date(ds) = DATE '{DAY}' AND hr < 10",
}
FILES, SCANNED = 3, 1_000


def main() -> None:
    """Fills the tables, lets both sessions answer in turn, and prints the medians."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        with EmbeddedPostgres(folder / "postgres") as postgres:
            runner.upgrade(postgres.url)
            with running(postgres.url, folder) as server:
                names = _fill(server, folder, size)
                measured = {side: _child(server, side, folder, names) for side in ("ours", "Spark's own")}
    _show(size, measured)


def _fill(server: Server, folder: Path, size: int) -> dict[str, str]:
    """Three tables: the large one, one of 1,000 partitions alike, and one with files in each partition."""
    with connected(server) as client:
        database = new_database(client)
        for name, partitions in (("large", size), ("small", BATCH)):
            _table(client, database, folder, name, partitions)
            for hour in range(10):
                _write(folder / name / f"ds={DAY}" / f"hr={hour}" / "part-0.parquet")
        _table(client, database, folder, "scanned", SCANNED)
        for number in range(SCANNED):
            for file in range(FILES):
                _write(folder / "scanned" / _name(number) / f"part-{file}.parquet")
    return {name: f"{database}.{name}" for name in ("large", "small", "scanned")}


def _table(client: Any, database: str, folder: Path, name: str, partitions: int) -> None:
    client.create_table(table(database, name, KEYS, sd=descriptor(f"file:{folder}/{name}")))
    for start in range(0, partitions, BATCH):
        client.add_partitions(
            [
                partition(database, name, _values(number), sd=descriptor(f"file:{folder}/{name}/{_name(number)}"))
                for number in range(start, min(start + BATCH, partitions))
            ]
        )


def _values(number: int) -> list[str]:
    day = time.strftime("%Y-%m-%d", time.gmtime(1_704_067_200 + number // HOURS * 86_400))
    return [day, str(number % HOURS)]


def _name(number: int) -> str:
    day, hour = _values(number)
    return f"ds={day}/hr={hour}"


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {"a": pyarrow.array([1, 2, 3], pyarrow.int32()), "x": pyarrow.array(["a", "b", "c"])}
    parquet.write_table(pyarrow.table(rows), path)


def _child(server: Server, side: str, folder: Path, names: Mapping[str, str]) -> dict[str, Any]:
    """A session in a process of its own: what it holds in memory is then its own, too."""
    request = json.dumps({"side": side, "uri": server.uri, "folder": str(folder), "names": names})
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.bench.planning", "--child", request],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _measure(request: Mapping[str, Any]) -> dict[str, Any]:
    spark = _session(request)
    spark.sparkContext.setLogLevel("ERROR")
    names, found = request["names"], {}
    for question, condition in QUESTIONS.items():
        for size in ("small", "large"):
            query = f"SELECT * FROM {names[size]} WHERE {condition}"
            found[f"{question}, {size}"] = _median(lambda query=query: _plan(spark, query))  # type: ignore[misc]
    found["heap held by the plan, small"] = _heap(spark, names["small"])
    found["heap held by the plan, large"] = _heap(spark, names["large"])
    found["scan of the table"] = _median(lambda: spark.sql(f"SELECT sum(a) FROM {names['scanned']}").collect())
    folder = f"{request['folder']}/scanned"
    found["scan by path"] = _median(lambda: spark.read.parquet(folder).selectExpr("sum(a)").collect())
    spark.stop()
    return found


def _session(request: Mapping[str, Any]) -> SparkSession:
    conf = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "4",
    }
    if request["side"] == "ours":
        return spark_client.session(request["uri"], master="local[2]", warehouse=request["folder"], conf=conf)
    builder = SparkSession.builder.master("local[2]").enableHiveSupport()
    builder = builder.config("spark.hadoop.hive.metastore.uris", request["uri"])
    return builder.config("spark.sql.warehouse.dir", request["folder"]).config(map=conf).getOrCreate()


def _plan(spark: SparkSession, query: str) -> Any:
    """From the text to the list of files; runs nothing."""
    frame = spark.sql(query)
    scans = [node for node in _nodes(frame._jdf.queryExecution().sparkPlan()) if node.nodeName().startswith("Scan")]
    files = sum(int(scan.selectedPartitions().totalNumberOfFiles()) for scan in scans)
    if files != 10:
        raise AssertionError(f"{query} reads {files} files instead of 10")
    return frame


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for index in range(node.children().size()):
        yield from _nodes(node.children().apply(index))


def _median(run: Callable[[], Any]) -> float:
    """Seconds, after two rounds that are not counted."""
    times = []
    for _ in range(2 + ROUNDS):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return median(times[2:])


def _heap(spark: SparkSession, name: str) -> float:
    """Bytes that planning leaves in the driver while its query is kept, in MB."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()

    def used() -> int:
        for _ in range(3):
            spark._jvm.System.gc()
        return int(runtime.totalMemory()) - int(runtime.freeMemory())

    before = used()
    kept = [_plan(spark, f"SELECT * FROM {name} WHERE {condition}") for condition in QUESTIONS.values()]
    held = used() - before
    del kept
    return held / 1e6


def _show(size: int, measured: Mapping[str, Mapping[str, float]]) -> None:
    sides: Sequence[str] = tuple(measured)
    grid = Table("", *sides, "ratio", title=f"large: {size:,} partitions, small: {BATCH:,}; planning and scans in ms")
    for what in measured[sides[0]]:
        ours, theirs = (measured[side][what] * (1 if "heap" in what else 1000) for side in sides)
        unit = " MB" if "heap" in what else ""
        grid.add_row(what, f"{ours:,.1f}{unit}", f"{theirs:,.1f}{unit}", f"{theirs / ours:,.1f}" if ours > 0 else "")
    Console(width=140).print(grid)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        sys.stdout.write("\n" + json.dumps(_measure(json.loads(sys.argv[2]))) + "\n")
    else:
        main()
