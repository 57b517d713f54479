"""Small INSERTs, ours beside Spark's own with Derby, in turns; and a repeated read without a filter."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from pyspark.sql import SparkSession

import spark_client
from tests.bench.writing.processes import answering

OURS, DERBY = "ours", "Spark's own with Derby"
_MODULE = "tests.bench.writing.small_inserts"
_WARM = 6  # statements of each side before the first that counts
TABLES = {
    "partitioned, rows name the partition": ("PARTITIONED BY (p INT)", "INSERT INTO {t} VALUES ({i}, 'x', {p})"),
    "partitioned, the clause names it": (
        "PARTITIONED BY (p INT)",
        "INSERT INTO {t} PARTITION (p = {p}) VALUES ({i}, 'x')",
    ),
    "unpartitioned": ("", "INSERT INTO {t} VALUES ({i}, 'x')"),
}
READ, PARTITIONS = "read of 200 partitions, again", 200


def small_inserts(uri: str, folder: str, rounds: int) -> Iterator[str]:
    """Yields a row of a Markdown table for each kind of INSERT, and for the read."""
    with ExitStack() as stack:
        sides = {side: stack.enter_context(answering(_MODULE, side, uri, folder)) for side in (OURS, DERBY)}

        def run(side: str, *statements: str) -> float:
            return float(sides[side](statements=statements)["seconds"])

        for number, (name, (layout, insert)) in enumerate(TABLES.items()):
            for side in sides:
                run(side, f"CREATE TABLE t_{number} (a INT, s STRING) {layout} STORED AS PARQUET")
            seconds: dict[str, list[float]] = defaultdict(list)
            for turn in range(_WARM + rounds):
                for side in [OURS, DERBY][:: 1 if turn % 2 else -1]:
                    seconds[side].append(run(side, insert.format(t=f"t_{number}", i=turn, p=turn % 3)))
            yield _row(name, seconds)
        rows = f"SELECT CAST(id AS INT), 'x', CAST(id % {PARTITIONS} AS INT) FROM range(2000)"
        for side in sides:
            run(
                side,
                "CREATE TABLE t (a INT, s STRING) PARTITIONED BY (p INT) STORED AS PARQUET",
                f"INSERT INTO t {rows}",
            )
        seconds = defaultdict(list)
        for turn in range(_WARM + rounds):
            for side in [OURS, DERBY][:: 1 if turn % 2 else -1]:
                seconds[side].append(run(side, "SELECT count(*), sum(a), max(s) FROM t"))
        yield _row(READ, seconds)


def _row(name: str, seconds: dict[str, list[float]]) -> str:
    ours, theirs = (statistics.median(seconds[side][_WARM:]) for side in (OURS, DERBY))
    return f"| {name} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} |"


def main(side: str, uri: str, folder: str) -> None:
    """Until the input ends: runs the statements of each line and prints their seconds."""
    home = Path(folder) / ("ours" if side == OURS else "derby")
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
    }
    if side == OURS:
        spark: SparkSession = spark_client.session(uri, master="local[2]", conf=settings)
    else:
        builder = (
            SparkSession.builder.master("local[2]").enableHiveSupport().config("spark.sql.warehouse.dir", str(home))
        )
        url = f"jdbc:derby:;databaseName={home}/derby;create=true"
        for key, value in {**settings, "spark.hadoop.javax.jdo.option.ConnectionURL": url}.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for line in sys.stdin:
        began = time.monotonic()
        for statement in json.loads(line)["statements"]:
            spark.sql(statement).collect()
        print(json.dumps({"seconds": time.monotonic() - began}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
