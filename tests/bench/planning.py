"""Time that Spark spends on planning and scanning: our session beside Spark's own Hive catalog, on one of our servers:
python -m tests.bench.planning [partitions]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow
from pyarrow import parquet
from pyspark.sql import SparkSession

import spark_client
from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import columns, descriptor, new_database, partition, table

HOURS, BATCH = 100, 1_000
WARM, ROUNDS, ENOUGH = 2, 7, 25.0  # warm-up rounds, counted rounds, and the seconds after which three rounds are enough
KEYS = [("ds", "string"), ("hr", "int")]
COLUMNS = columns(("a", "int"), ("x", "string"), *((f"c{number}", "string") for number in range(38)))
STATISTICS = {"numFiles": "3", "numRows": "1000000", "totalSize": "123456789", "transient_lastDdlTime": "1704067200"}
DAY = "2024-01-05"
# Each query needs the same 10 partitions. Spark sends the whole filter of the first three to any metastore; of the
# fourth it sends `hr < 10`, because it casts ds to a date; of the last two, nothing.
QUESTIONS = {
    "ds = '…' AND hr < 10": f"ds = '{DAY}' AND hr < 10",
    "ds = '…' AND hr IN (0 … 9)": f"ds = '{DAY}' AND hr IN ({', '.join(map(str, range(10)))})",
    "ds LIKE '…%' AND hr < 10": f"ds LIKE '{DAY}%' AND hr < 10",
    "ds = DATE '…' AND hr < 10": f"ds = DATE '{DAY}' AND hr < 10",
    "date_format(ds, 'yyyyMMdd') = '…' AND hr % 100 < 10": (
        f"date_format(ds, 'yyyyMMdd') = '{DAY.replace('-', '')}' AND hr % 100 < 10"
    ),
    "concat(ds, ' ', lpad(hr, 2, '0')) BETWEEN '… 00' AND '… 09'": (
        f"concat(ds, ' ', lpad(hr, 2, '0')) BETWEEN '{DAY} 00' AND '{DAY} 09'"
    ),
}
FILES, SCANNED = 3, 1_000
OURS, OWN, FALLBACK = "ours", "Spark's own", "its fast fallback"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "6g",
    "spark.sql.shuffle.partitions": "4",
}


def main() -> None:
    """Fills the tables, lets the sessions run the queries in turn, and prints the medians."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        with EmbeddedPostgres(folder / "postgres") as postgres:
            runner.upgrade(postgres.url)
            with running(postgres.url, folder) as server:
                names = _fill(server, folder, size)
                request = {"uri": server.uri, "folder": str(folder), "names": names}
                first = {side: _child({**request, "first": side}) for side in (OURS, OWN)}
                measured = _child(request)
                _show(size, first, measured)


def _fill(server: Server, folder: Path, size: int) -> dict[str, str]:
    """Creates three tables: the large one, a similar one of 1,000 partitions, and one with files in each partition."""
    with connected(server) as client:
        database = new_database(client)
        for name, partitions in (("large", size), ("small", BATCH), ("scanned", SCANNED)):
            _table(client, database, folder, name, partitions)
    for name in ("large", "small"):
        for hour in range(10):
            _write(folder / name / f"ds={DAY}" / f"hr={hour}" / "part-0.parquet")
    for number in range(SCANNED):
        for file in range(FILES):
            _write(folder / "scanned" / _name(number) / f"part-{file}.parquet")
    return {name: f"{database}.{name}" for name in ("large", "small", "scanned")}


def _table(client: Any, database: str, folder: Path, name: str, partitions: int) -> None:
    def stored(path: str) -> Any:
        return descriptor(f"file:{folder}/{path}", cols=COLUMNS)

    client.create_table(table(database, name, KEYS, sd=stored(name)))
    for start in range(0, partitions, BATCH):
        client.add_partitions(
            [
                partition(database, name, _values(number), sd=stored(f"{name}/{_name(number)}"), parameters=STATISTICS)
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


def _child(request: Mapping[str, Any]) -> Any:
    """Runs in its own process, so that it loads and allocates only its own classes and objects."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.bench.planning", "--child", json.dumps(request)],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def _measure(request: Mapping[str, Any]) -> Any:
    """Returns the seconds of the first query in a JVM; of warm queries, all medians by measure and session."""
    spark = spark_client.session(request["uri"], master="local[2]", warehouse=request["folder"], conf=SETTINGS)
    spark.sparkContext.setLogLevel("ERROR")
    names, folder = request["names"], f"{request['folder']}/scanned"
    if "first" in request:
        side = spark if request["first"] == OURS else _own(spark)
        return _seconds(lambda: _plan(side, names["large"], next(iter(QUESTIONS.values()))))
    sides: dict[str, SparkSession] = {OURS: spark, OWN: _own(spark), FALLBACK: _own(spark)}
    sides[FALLBACK].conf.set("spark.sql.hive.metastorePartitionPruningFastFallback", "true")
    actual: dict[str, dict[str, float]] = {}
    for question, condition in QUESTIONS.items():
        runs = {side: lambda it=it, asked=condition: _plan(it, names["large"], asked) for side, it in sides.items()}
        actual[question] = _in_turn(runs)
    for name in ("small", "large"):
        actual[f"held, {name}"] = {side: _held(it, names[name]) for side, it in sides.items()}
        actual[f"used, {name}"] = {side: _used(it, names[name]) for side, it in sides.items()}
    actual["scan"] = _in_turn(
        {
            OURS: lambda: _sum(spark.table(names["scanned"])),
            OWN: lambda: _sum(sides[OWN].table(names["scanned"])),
            "by path": lambda: _sum(sides[OWN].read.parquet(folder)),
        }
    )
    return actual


def _own(spark: SparkSession) -> SparkSession:
    """Returns a session on Spark's own Hive catalog in the same JVM, without our library."""
    context = spark.sparkContext
    java = context._jvm.org.apache.spark.sql.classic.SparkSession(context._jsc.sc(), {})
    return SparkSession(context, java)


def _plan(spark: SparkSession, name: str, condition: str) -> Any:
    """Plans a query from its text to the list of files. Runs nothing."""
    frame = spark.sql(f"SELECT * FROM {name} WHERE {condition}")
    scans = [node for node in _nodes(frame._jdf.queryExecution().sparkPlan()) if node.nodeName().startswith("Scan")]
    files = sum(int(scan.selectedPartitions().totalNumberOfFiles()) for scan in scans)
    if files != 10:
        raise AssertionError(f"{condition} reads {files} files of {name} instead of 10")
    return frame


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for index in range(node.children().size()):
        yield from _nodes(node.children().apply(index))


def _sum(frame: Any) -> Any:
    return frame.selectExpr("sum(a)").collect()


def _seconds(run: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def _in_turn(runs: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """Returns the median seconds of each query. Each round runs all of them; the first rounds are not counted."""
    times: dict[str, list[float]] = {side: [] for side in runs}
    begun = time.perf_counter()
    for done in range(WARM + ROUNDS):
        if done >= WARM + 3 and time.perf_counter() - begun > ENOUGH:
            break
        for side, run in runs.items():
            times[side].append(_seconds(run))
    return {side: median(row[WARM:]) for side, row in times.items()}


def _live(spark: SparkSession) -> int:
    """Returns the bytes of the heap after a garbage collection."""
    for _ in range(3):
        spark._jvm.System.gc()
    return _occupied(spark)


def _occupied(spark: SparkSession) -> int:
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    return int(runtime.totalMemory()) - int(runtime.freeMemory())


def _held(spark: SparkSession, name: str) -> float:
    """Returns the MB that all plans hold while their queries are kept, as the driver keeps running ones."""
    for condition in QUESTIONS.values():
        _plan(spark, name, condition)  # fills caches that are kept anyway
    before = _live(spark)
    kept = [_plan(spark, name, condition) for condition in QUESTIONS.values()]
    held = _live(spark) - before
    del kept
    return max(0.0, held / 1e6)


def _used(spark: SparkSession, name: str) -> float:
    """Returns the MB of heap that planning the last query takes. A garbage collection meanwhile distorts it."""
    before = _live(spark)
    _plan(spark, name, list(QUESTIONS.values())[-1])
    return (_occupied(spark) - before) / 1e6


def _show(size: int, first: Mapping[str, float], measured: Mapping[str, Mapping[str, float]]) -> None:
    """Returns the table for docs/benchmarks.md in Markdown."""
    lines = [["10 of " + f"{size:,} partitions", OURS, OWN, FALLBACK, "own / ours"], ["---", *["--:"] * 4]]

    def add(what: str, sides: Mapping[str, float], scale: float, form: str) -> None:
        cells = [format(sides[side] * scale, form) if side in sides else "" for side in (OURS, OWN, FALLBACK)]
        lines.append([what, *cells, f"{sides[OWN] / sides[OURS]:,.1f}" if sides[OURS] else ""])

    add("first query of a session, ms", first, 1000, ",.0f")
    for question in QUESTIONS:
        add(f"`{question}`, ms", measured[question], 1000, ",.0f")
    for heap, meaning in (
        ("held", "heap that six such plans hold"),
        ("used", "heap that the last one takes, garbage included"),
    ):
        for name, partitions in (("small", BATCH), ("large", size)):
            add(f"{meaning}, {partitions:,} partitions, MB", measured[f"{heap}, {name}"], 1, ",.1f")
    by_path = measured["scan"]["by path"] * 1000
    what = f"scan of {SCANNED * FILES:,} files in {SCANNED:,} partitions, ms (by path {by_path:,.0f})"
    add(what, measured["scan"], 1000, ",.0f")
    sys.stdout.write("\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        sys.stdout.write("\n" + json.dumps(_measure(json.loads(sys.argv[2]))) + "\n")
    else:
        main()
