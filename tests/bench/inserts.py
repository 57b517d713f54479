"""`python -m tests.bench.inserts`: small INSERTs into partitions, beside plain Spark with a metastore in Derby.

Both run the same statements, each in a process of its own, and take turns. The median of each counts.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from statistics import median
from typing import Any, Final

import click
from pyspark.sql import SparkSession

from tests.bench.spark import SETTINGS, session
from tests.bench.writing.processes import answering

_CREATE: Final = "CREATE TABLE {table} (id INT, word STRING) PARTITIONED BY (p {type}) STORED AS PARQUET"
_STATEMENTS: Final = {
    "an existing partition": ("INT", "INSERT INTO {table} VALUES ({number}, 'word', 0)"),
    "an existing partition of a text": ("STRING", "INSERT INTO {table} VALUES ({number}, 'word', 'a')"),
    "a named partition": ("INT", "INSERT INTO {table} PARTITION (p = 0) VALUES ({number}, 'word')"),
    "a new partition": ("INT", "INSERT INTO {table} VALUES ({number}, 'word', {number})"),
}


@click.command(help=__doc__)
@click.option("--rounds", default=60, show_default=True, help="INSERTs of each kind, and as many that warm up.")
@click.option("--plain", "folder", hidden=True, help="Only answer for plain Spark, with Derby in this folder.")
def main(rounds: int, folder: str | None) -> None:
    """Prints the medians."""
    if folder:
        _answer(folder)
        return
    with (
        session() as spark,
        tempfile.TemporaryDirectory() as home,
        answering("tests.bench.inserts", "--plain", home) as ask,
    ):
        statements = dict(_statements(2 * rounds))
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in _STATEMENTS}
        for statement, name in statements.items():
            seconds = _seconds(spark, statement), float(ask(q=statement)["seconds"])
            taken.get(name, []).append(seconds)
    ratios = {name: [part[rounds:] for part in zip(*seconds, strict=True)] for name, seconds in taken.items()}
    for name, (ours, plain) in ratios.items():
        one, other = median(ours), median(plain)
        click.echo(f"{name}: {one * 1e3:.0f} ms, plain Spark {other * 1e3:.0f} ms, × {one / other:.2f}")


def _statements(rounds: int) -> Iterator[tuple[str, str]]:
    """Yields each statement and its kind, which is empty for CREATE TABLE."""
    tables = {name: f"small_{position}" for position, name in enumerate(_STATEMENTS)}
    for name, table in tables.items():
        yield _CREATE.format(table=table, type=_STATEMENTS[name][0]), ""
    for number in range(rounds):
        for name, table in tables.items():
            yield _STATEMENTS[name][1].format(table=table, number=number), name


def _seconds(spark: SparkSession, statement: str) -> float:
    begun = time.perf_counter()
    spark.sql(statement)
    return time.perf_counter() - begun


def _answer(folder: str) -> None:
    settings: dict[str, Any] = SETTINGS | {
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/derby;create=true",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
    }
    builder = SparkSession.builder.master("local[*]").enableHiveSupport()
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for line in sys.stdin:
        print(json.dumps({"seconds": _seconds(spark, json.loads(line)["q"])}), flush=True)  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main()
