"""Costs and gains of buckets: a table with 256 buckets, the same table without, and files of Spark's own writer: python
-m tests.bench.buckets [rows]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

import spark_client
from spark_client.scan.report import readable_size
from tests.bench.spark import run, session

BUCKETS, LOOK_UPS, ROUNDS = 256, 20, 3
COLUMNS = "id BIGINT, name STRING, amount DOUBLE, note STRING"
TABLES = {
    "plain": "",
    "bucketed": f"CLUSTERED BY (id) INTO {BUCKETS} BUCKETS",
    "sorted": f"CLUSTERED BY (id) SORTED BY (id) INTO {BUCKETS} BUCKETS",
}


def main() -> None:
    """Writes the tables in turn, looks up the same ids in each, joins them with each other, and prints medians."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with session() as spark, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = prepared(spark, folder, size)
        console = Console()
        console.print(writing(spark, folder, rows, size))
        console.print(looking_up(spark, size))
        console.print(joining(spark))


def prepared(spark: Any, folder: Path, size: int) -> Any:
    """Returns the rows in files, so that reading them costs every writer the same. Rows have about 100 bytes and no
    order.
    """
    noise = "sha2(cast(id AS STRING), 256)"
    ids = spark.range(size).selectExpr("hash(id) * 2147483647L + id AS id")
    rows = ids.selectExpr("id", f"substr({noise}, 1, 12) AS name", "rand(7) AS amount", f"{noise} AS note")
    rows.write.parquet(f"{folder}/rows")
    return spark.read.parquet(f"{folder}/rows")


def writing(spark: Any, folder: Path, rows: Any, size: int) -> Table:
    """Writes with Spark's own writer to a directory, then with ours."""
    for name, clause in TABLES.items():
        spark.sql(
            f"CREATE TABLE {name} ({COLUMNS}) {clause} STORED AS PARQUET TBLPROPERTIES ('bucketing_version' = '2')"
        )
    rows.createOrReplaceTempView("rows")
    writers: dict[str, Callable[[], Any]] = {
        "Spark's own, into a directory": lambda: rows.write.mode("overwrite").parquet(f"{folder}/own")
    }
    for name in TABLES:
        statement = f"INSERT OVERWRITE {name} SELECT * FROM rows"
        writers[f"{name}, {TABLES[name] or 'no buckets'}"] = lambda statement=statement: spark.sql(statement)
    times = in_turn(writers, ROUNDS)
    grid = Table("writer", "s", "rows/s", title=f"Writing {size:,} rows")
    for name, seconds in times.items():
        grid.add_row(name, f"{seconds:.1f}", f"{size / seconds:,.0f}")
    return grid


def looking_up(spark: Any, size: int) -> Table:
    """Runs SELECT … WHERE id = … for existing ids."""
    dice = random.Random(1)
    numbers = [dice.randrange(size) for _ in range(LOOK_UPS)]
    wanted = [
        row.id
        for row in spark.createDataFrame([(n,) for n in numbers], "id long")
        .selectExpr("hash(id) * 2147483647L + id AS id")
        .collect()
    ]
    grid = Table("table", "ms", "files opened", "bytes of them", title=f"Point look-ups, median of {LOOK_UPS}")
    for name in TABLES:
        frames = [spark.table(name).where(f"id = {id_}") for id_ in wanted]
        frames[0].collect()
        runs = [run(frame) for frame in frames]
        assert all(each.answer.count("Row(") == 1 for each in runs)
        kept = [spark_client.scan_report(frame).scans[0].kept for frame in frames[:3]]
        grid.add_row(
            name,
            f"{median(each.seconds for each in runs) * 1000:.0f}",
            f"{median(extent.files for extent in kept):g}",
            readable_size(int(median(extent.bytes for extent in kept))),
        )
    return grid


def joining(spark: Any) -> Table:
    """Joins the two bucketed tables, by bucket and with a shuffle."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")

    def count(read: Callable[[Any], Any]) -> Callable[[], Any]:
        left, right = (read(spark.table(name).select("id", "amount")) for name in ("bucketed", "sorted"))
        return lambda: left.join(right.withColumnRenamed("amount", "other"), "id").selectExpr("sum(other)").collect()

    times = in_turn({"both shuffled": count(lambda table: table), "by_bucket": count(spark_client.by_bucket)}, ROUNDS)
    grid = Table("join", "s", title="Joining two tables by their bucketing column")
    for name, seconds in times.items():
        grid.add_row(name, f"{seconds:.1f}")
    return grid


def in_turn(tasks: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Returns the median seconds of each action. The actions take turns, so that a disturbance affects all of them."""
    seconds: dict[str, Sequence[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            started = time.perf_counter()
            task()
            seconds[name] = [*seconds[name], time.perf_counter() - started]
    return {name: median(sequence) for name, sequence in seconds.items()}


if __name__ == "__main__":
    main()
