"""INSERT and SELECT in each layout, by our library and by Spark's own writer and reader, alternating, on one
metastore."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

import spark_client
from tests.bench.writing.processes import answering

COLUMNS = "id BIGINT, x INT, s STRING, v DOUBLE"
QUERY = "SELECT count(*), sum(id), sum(x), max(s), sum(v) FROM {table}"
OURS, THEIRS = "ours", "Spark's own"
_MODULE = "tests.bench.writing.throughput"
READS = 3  # of each table, after its first


@dataclass(frozen=True)
class Layout:
    """`rows`: the share of the requested rows. `x`: a column. `ours`, `theirs`: the rest of CREATE TABLE after the
    columns. `p`: another column, by which both tables are partitioned, or only Spark's, whose partitions then
    correspond to our directories of heavy values.
    """

    rows: float
    x: str
    ours: str
    theirs: str
    p: str = ""

    def has_p(self, side: str) -> bool:
        return (side == THEIRS and bool(self.p)) or self.ours.startswith("PARTITIONED")


_HEAVY = "IF(id % 2 = 0, id DIV 2 % 10, 10 + id % 1000)"
_SKEWED = "SKEWED BY (x) ON (0, 1, 2, 3, 4, 5, 6, 7, 8, 9) STORED AS DIRECTORIES"
LAYOUTS = {
    "unpartitioned": Layout(1, "id % 1000", "", ""),
    "100 partitions": Layout(1, "id % 1000", "PARTITIONED BY (p INT)", "PARTITIONED BY (p)", "id % 100"),
    "2,000 tiny partitions": Layout(0.01, "id % 1000", "PARTITIONED BY (p INT)", "PARTITIONED BY (p)", "id % 2000"),
    "10 heavy values": Layout(1, _HEAVY, _SKEWED, "PARTITIONED BY (p)", f"least({_HEAVY}, 10)"),
    "10 heavy values, Spark's in one directory": Layout(1, _HEAVY, _SKEWED, ""),
    "64 buckets": Layout(1, "id % 1000", "CLUSTERED BY (id) INTO 64 BUCKETS", "CLUSTERED BY (id) INTO 64 BUCKETS"),
}


@dataclass
class Timing:
    """Seconds of one layout, of each side: writing and reading, cold (the first in its process) and warm (medians)."""

    layout: str
    seconds: dict[tuple[str, str], dict[str, float]]

    def __str__(self) -> str:
        cells = []
        for kind in ("write", "read"):
            for when in ("cold", "warm"):
                ours, theirs = (self.seconds[kind, when][side] for side in (OURS, THEIRS))
                cells.append(f"{ours:.2f} / {theirs:.2f} = {ours / theirs:.2f}")
        return f"| {self.layout} | {' | '.join(cells)} |"


HEAD = (
    "| seconds, ours / Spark's own | writing, cold | writing, warm | reading, cold | reading, warm |\n"
    "| --- | --- | --- | --- | --- |"
)


def throughput(uri: str, warehouse: str, rows: int, rounds: int, layouts: Sequence[str]) -> Iterator[Timing]:
    """Measures each side in its own process. The order of the sides alternates from round to round."""
    with ExitStack() as stack:
        sides = {side: stack.enter_context(answering(_MODULE, side, uri, warehouse)) for side in (OURS, THEIRS)}
        for layout in layouts:
            measured: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for number in range(rounds + 1):
                for side in [OURS, THEIRS][:: 1 if number % 2 else -1]:
                    answer = sides[side](layout=layout, rows=rows, number=number)
                    when = "warm" if number else "cold"
                    measured["write", when][side].append(answer["write"])
                    measured["read", when][side] += answer["read"][:1] if not number else answer["read"][1:]
            medians = {
                key: {side: statistics.median(all_) for side, all_ in of.items()} for key, of in measured.items()
            }
            yield Timing(layout, medians)


def main(side: str, uri: str, warehouse: str) -> None:
    """Writes and reads a layout for each line of the input, until it ends."""
    spark = _session(side, uri, warehouse)
    spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        print(json.dumps(_measured(spark, side, **json.loads(line))), flush=True)  # noqa: T201


def _session(side: str, uri: str, warehouse: str) -> SparkSession:
    settings = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": warehouse,
        "hive.exec.max.dynamic.partitions": "100000",
    }
    if side == OURS:
        return spark_client.session(uri, master="local[2]", conf=settings)
    builder = (
        SparkSession.builder.master("local[2]").enableHiveSupport().config("spark.hadoop.hive.metastore.uris", uri)
    )
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _measured(spark: SparkSession, side: str, layout: str, rows: int, number: int) -> dict[str, Any]:
    chosen, table = LAYOUTS[layout], f"t_{side[0].lower()}_{list(LAYOUTS).index(layout)}_{number}"
    if side == OURS:
        spark.sql(f"CREATE TABLE {table} ({COLUMNS}) {chosen.ours} STORED AS PARQUET")
    else:
        columns = COLUMNS + (", p INT" if chosen.p else "")
        spark.sql(f"CREATE TABLE {table} ({columns}) USING parquet {chosen.theirs}")
    data = spark.range(0, int(rows * chosen.rows), numPartitions=2).selectExpr(
        "id",
        f"CAST({chosen.x} AS INT) AS x",
        "concat('value ', id % 5000) AS s",
        "id / 7 AS v",
        *([f"CAST({chosen.p} AS INT) AS p"] if chosen.has_p(side) else []),
    )
    data.createOrReplaceTempView("source")
    write = _seconds(lambda: spark.sql(f"INSERT INTO {table} SELECT * FROM source"))
    read = [_seconds(lambda: spark.sql(QUERY.format(table=table)).collect()) for _ in range(READS + 1)]
    ((actual,),) = spark.sql(f"SELECT count(*) FROM {table}").collect()
    assert actual == int(rows * chosen.rows), (layout, side, actual)
    spark.sql(f"DROP TABLE {table}")
    return {"write": write, "read": read}


def _seconds(action: Any) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


if __name__ == "__main__":
    main(*sys.argv[1:])
