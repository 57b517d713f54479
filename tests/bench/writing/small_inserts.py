"""Small INSERTs, and a repeated read without a filter, by us and by Spark with Derby, in turns.

The read is also compared with Spark's own on the same metastore and the same files.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

import spark_client
from tests.bench.writing.processes import answering

OURS, DERBY, SAME = "ours", "Spark's own with Derby", "Spark's own with the same metastore"
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
PARTITIONS = 200


def small_inserts(uri: str, folder: str, rounds: int) -> Iterator[str]:
    """Yields a row of a Markdown table for each kind of INSERT, and for the read."""
    with ExitStack() as stack:
        sides = {side: stack.enter_context(answering(_MODULE, side, uri, folder)) for side in (OURS, DERBY, SAME)}

        def run(side: str, *statements: str) -> float:
            return float(sides[side](statements=statements)["seconds"])

        def in_turns(rounds: int, compared: Sequence[str], statement: Callable[[int], str]) -> dict[str, list[float]]:
            seconds: dict[str, list[float]] = defaultdict(list)
            for turn in range(_WARM + rounds):
                for side in compared[:: 1 if turn % 2 else -1]:
                    seconds[side].append(run(side, statement(turn)))
            return {side: values[_WARM:] for side, values in seconds.items()}

        for number, (name, (layout, insert)) in enumerate(TABLES.items()):
            for side in (OURS, DERBY):
                run(side, f"CREATE TABLE t_{number} (a INT, s STRING) {layout} STORED AS PARQUET")
            text = partial(insert.format, t=f"t_{number}")
            yield _row(name, in_turns(rounds, (OURS, DERBY), lambda turn, text=text: text(i=turn, p=turn % 3)))  # type: ignore[misc]
        rows = f"SELECT CAST(id AS INT), 'x', CAST(id % {PARTITIONS} AS INT) FROM range(2000)"
        for side in (OURS, DERBY):
            run(
                side,
                "CREATE TABLE t (a INT, s STRING) PARTITIONED BY (p INT) STORED AS PARQUET",
                f"INSERT INTO t {rows}",
            )
        seconds = in_turns(rounds, (OURS, DERBY, SAME), lambda _: "SELECT count(*), sum(a), max(s) FROM t")
        yield _row(f"read of {PARTITIONS} partitions, again", seconds)
        yield _row(f"read of {PARTITIONS} partitions, again; beside {SAME}", seconds, SAME)


def _row(name: str, seconds: dict[str, list[float]], other: str = DERBY) -> str:
    ours, theirs = (statistics.median(seconds[side]) for side in (OURS, other))
    return f"| {name} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} |"


def main(side: str, uri: str, folder: str) -> None:
    """Runs the statements of each line of the input and prints their seconds, until the input ends."""
    home = Path(folder) / {OURS: "ours", DERBY: "derby", SAME: "same"}[side]
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
        own = {"hive.metastore.uris": uri} if side == SAME else {"javax.jdo.option.ConnectionURL": url}
        for key, value in {**settings, **{f"spark.hadoop.{name}": text for name, text in own.items()}}.items():
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
