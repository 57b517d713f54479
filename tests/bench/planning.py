"""`python -m tests.bench.planning`: the time to plan scans of a table with many partitions, beside plain Spark.

Both plan the same queries of the same table until the list of files is complete, and run nothing. They take turns, and
the median of each counts. Plain Spark runs in a process of its own, with an empty cache of files before each plan.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from spark_client import Session
from tests.bench.spark import SETTINGS, session
from tests.bench.writing.processes import answering
from thrift_idl.gen.hive_metastore.ttypes import Partition

_TABLE: Final = "default.planned"
_AT_ONCE: Final = 1_000  # partitions of a call


@click.command(help=__doc__)
@click.option("--partitions", default=20_000, show_default=True)
@click.option("--files", default=2, show_default=True, help="Files of each partition.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--plain", "uri", hidden=True, help="Only answer for plain Spark on this metastore.")
def main(partitions: int, files: int, rounds: int, uri: str | None) -> None:
    """Prints the medians."""
    if uri:
        _answer(uri)
        return
    with session() as spark:
        _fill(spark, partitions, files)
        address = f"thrift://{spark.metastore.addresses[0].host}:{spark.metastore.addresses[0].port}"
        with answering("tests.bench.planning", "--plain", address) as ask:
            queries = {
                "1": "WHERE p = 7",
                f"{min(1_000, partitions):,}": "WHERE p < 1000",
                f"all {partitions:,}": "",
            }
            for name, where in queries.items():
                query = f"SELECT * FROM {_TABLE} {where}"
                ours, plain = _measured(
                    lambda query=query: _planned(spark, query), lambda query=query: ask(q=query), rounds
                )
                click.echo(f"{name} partitions of {partitions:,}: {ours:.3f} s, plain Spark {plain:.3f} s")


def _measured(ours: Callable[[], Any], plain: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Returns the medians of both, which take turns. The first turn warms up."""
    seconds: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        mine, other = ours(), plain()
        if mine["tasks"] == 0 or other["tasks"] == 0:
            raise SystemExit(f"no files were found: {mine}, {other}")
        seconds.append((mine["seconds"], other["seconds"]))
    return median(one for one, _ in seconds[1:]), median(one for _, one in seconds[1:])


def _planned(spark: SparkSession, query: str) -> dict[str, Any]:
    """Plans a query up to its tasks, which needs the list of its files."""
    begun = time.perf_counter()
    execution: Any = spark.sql(query)._jdf.queryExecution()
    tasks = execution.toRdd().getNumPartitions()
    return {"seconds": time.perf_counter() - begun, "tasks": tasks}


def _answer(uri: str) -> None:
    builder = SparkSession.builder.master("local[*]").enableHiveSupport()
    for key, value in (SETTINGS | {"spark.hadoop.hive.metastore.uris": uri}).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for line in sys.stdin:
        spark.catalog.refreshTable(_TABLE)
        print(json.dumps(_planned(spark, json.loads(line)["q"])), flush=True)  # noqa: T201
    spark.stop()


def _fill(spark: Session, partitions: int, files: int) -> None:
    spark.sql(f"CREATE TABLE {_TABLE} (id BIGINT) PARTITIONED BY (p INT) STORED AS PARQUET")
    methods: Any = spark.metastore.methods
    made = methods.get_table(*_TABLE.split("."))
    root = Path(made.sd.location.removeprefix("file:"))
    source = root.parent / "rows.parquet"
    pq.write_table(pa.table({"id": [1]}), source)
    for start in range(0, partitions, _AT_ONCE):
        chunk = range(start, min(start + _AT_ONCE, partitions))
        for number in chunk:
            (root / f"p={number}").mkdir()
            for file in range(files):
                os.link(source, root / f"p={number}" / f"part-{file:05}.parquet")
        methods.add_partitions([_partition(made, number) for number in chunk])


def _partition(table: Any, number: int) -> Partition:
    descriptor = copy(table.sd)
    descriptor.location = f"{table.sd.location}/p={number}"
    return Partition([str(number)], table.dbName, table.tableName, sd=descriptor, parameters={})


if __name__ == "__main__":
    main()
