"""`python -m tests.bench.compaction`: OPTIMIZE beside plain Spark, which reads the same small files and writes others.

A table has partitions of many small files. Plain Spark reads its directory, and writes one file for each partition to
another directory. OPTIMIZE compacts the table. Each round has a new table, whose files both read; they take turns at
being the first. It prints the bytes a second of both, and the time of a query before and after.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlsplit

import click

from spark_client import Session, scan_report
from tests.bench.spark import session

_POLICY: Final = "'care.compaction' = 'on', 'care.compaction.quiet.period' = '0', 'care.compaction.min.files' = '2'"
_HASH: Final = "SELECT count(*) AS count, sum(xxhash64(id, word, price, ds) % 1000000007) AS hash FROM {}"


@click.command(help=__doc__)
@click.option("--partitions", default=200, show_default=True)
@click.option("--files", default=20, show_default=True, help="Files of each partition.")
@click.option("--rows", default=5_000, show_default=True, help="Rows of each file.")
@click.option("--rounds", default=3, show_default=True)
def main(partitions: int, files: int, rows: int, rounds: int) -> None:
    """Prints the figures of each round, and the median of their ratios."""
    with session() as spark, tempfile.TemporaryDirectory() as name:
        ratios = [
            _round(spark, f"small_{number}", Path(name) / str(number), (partitions, files, rows), ours_first=number % 2)
            for number in range(rounds)
        ]
    click.echo(f"OPTIMIZE has {median(ratios):.2f} of the throughput of plain Spark")


def _round(spark: Session, table: str, target: Path, size: tuple[int, int, int], *, ours_first: int) -> float:
    root = _filled(spark, table, *size)
    count, amount = _contents(root)
    copy = Path(f"{target}-source")
    shutil.copytree(root, copy)
    whole = _row(spark, _HASH.format(table))
    before = _seconds(lambda: _row(spark, _HASH.format(table)))
    steps = {
        "plain": lambda: _rewritten(spark, copy, target),
        "ours": lambda: spark.sql(f"OPTIMIZE {table}").collect(),
    }
    seconds = {name: _seconds(steps[name]) for name in sorted(steps, reverse=not ours_first)}
    if _row(spark, _HASH.format(table)) != whole or _row(spark, _HASH.format(f"parquet.`{target}`")) != whole:
        raise SystemExit("the rows differ")
    after = _seconds(lambda: _row(spark, _HASH.format(table)))
    speeds = {name: amount / taken / 2**20 for name, taken in seconds.items()}
    compacted = scan_report(spark.table(table)).scans[0].kept.files
    click.echo(
        f"{count:,} files ({amount / 2**20:.1f} MiB) become {compacted:,}: OPTIMIZE {seconds['ours']:.1f} s "
        f"({speeds['ours']:.2f} MiB/s), plain Spark {seconds['plain']:.1f} s ({speeds['plain']:.2f} MiB/s), "
        f"× {seconds['plain'] / seconds['ours']:.2f}; a query {before:.2f} s before, {after:.2f} s after"
    )
    return seconds["plain"] / seconds["ours"]


def _filled(spark: Session, table: str, partitions: int, files: int, rows: int) -> Path:
    """Creates a table, each of whose partitions has this number of files, and returns its directory."""
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, word STRING, price DOUBLE) PARTITIONED BY (ds STRING) STORED AS PARQUET "
        f"TBLPROPERTIES ({_POLICY})"
    )
    each = partitions * rows
    for number in range(files):  # an INSERT writes one file into each partition
        numbers = spark.range(number * each, (number + 1) * each)
        numbers.createOrReplaceTempView("numbers")
        spark.sql(
            f"INSERT INTO {table} SELECT id, concat('word-', id % 1000), id / 7, "
            f"format_string('day-%05d', id % {partitions}) FROM numbers"
        )
    return Path(urlsplit(spark.metastore.get_table("default", table).location).path)


def _contents(root: Path) -> tuple[int, int]:
    """Returns the number of the data files below a directory, and their bytes."""
    sizes = [file.stat().st_size for file in root.rglob("*") if file.is_file() and file.name[0] not in "._"]
    return len(sizes), sum(sizes)


def _rewritten(spark: Session, source: Path, target: Path) -> None:
    rows = spark.read.parquet(str(source))
    rows.repartition("ds").sortWithinPartitions("ds").write.partitionBy("ds").parquet(str(target))


def _row(spark: Session, query: str) -> tuple[int, int]:
    (row,) = spark.sql(query).collect()
    return row["count"], row["hash"]


def _seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
