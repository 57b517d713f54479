"""Gain of skew_join: a table with Zipf-distributed keys is joined with one that is too large to broadcast: python -m
tests.bench.skew_join
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from spark_client import Session, skew_join
from tests.bench.spark import run, session

ROOT = Path(__file__).parents[2]
HEAVY = 10


@click.command()
@click.option("--rows", default=4_000_000, show_default=True)
@click.option("--keys", default=200_000, show_default=True)
@click.option("--rounds", default=3, show_default=True)
def main(rows: int, keys: int, rounds: int) -> None:
    """Runs the plain join, with and without Spark's own skew handling, and skew_join."""
    seconds: dict[str, list[float]] = {}
    with session() as spark:
        make(spark, rows, keys)
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
        spark.conf.set("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "4m")
        for number in range(rounds + 1):
            answers = set()
            for name in ("plain join", "plain join, adaptive skew join off", "skew_join"):
                adaptive = str(name != "plain join, adaptive skew join off").lower()
                spark.conf.set("spark.sql.adaptive.skewJoin.enabled", adaptive)
                actual = run(asked(spark, split=name == "skew_join"))
                answers.add(actual.answer)
                if number:
                    seconds.setdefault(name, []).append(actual.seconds)
            assert len(answers) == 1, answers
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    grid = Table("join", "median, s", "of the plain join's time", title=f"{rows:,} rows, 80 % of them of {HEAVY} keys")
    for name, median in medians.items():
        grid.add_row(name, f"{median:.2f}", f"{median / medians['plain join']:.0%}")
    Console(width=120).print(grid)
    output = ROOT / "build" / "bench"
    output.mkdir(parents=True, exist_ok=True)
    (output / "skew_join.json").write_text(json.dumps({"rows": rows, "keys": keys, "seconds": seconds}, indent=1))


def make(spark: Session, rows: int, keys: int) -> None:
    """Creates `facts`, skewed by their key, and `names` of all keys."""
    # Eight of ten rows have a heavy key; nearly half of those have the first one. All other keys are equally frequent.
    uniform = "(pmod(xxhash64(id), 1000003) + 0.5) / 1000003"
    light = f"{HEAVY + 1} + pmod(xxhash64(id, 1), {keys - HEAVY - 1})"
    key = f"int(IF(id % 10 < 8, 1 + {HEAVY} * pow({uniform}, 3), {light}))"
    heavy = ", ".join(map(str, range(1, HEAVY + 1)))
    spark.sql(
        f"CREATE TABLE facts (id BIGINT, k INT, note STRING) PARTITIONED BY (day INT) SKEWED BY (k) ON ({heavy}) "
        "STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.range(0, rows, 1, 8).selectExpr(
        "id", f"{key} AS k", "sha2(string(id), 256) AS note", "int(id % 4) AS day"
    ).write.insertInto("facts")
    spark.sql("CREATE TABLE names (k INT, name STRING) STORED AS PARQUET")
    spark.range(0, keys, 1, 2).selectExpr("int(id) AS k", "sha2(string(id), 256) AS name").write.insertInto("names")


def asked(spark: Session, *, split: bool) -> object:
    """Returns an expression that needs columns of both tables."""
    facts, names = spark.table("facts"), spark.table("names")
    joined = skew_join(facts, names, "k") if split else facts.join(names, "k")
    return joined.selectExpr("count(*)", "sum(id)", "sum(length(note) + length(name))")


if __name__ == "__main__":
    main()
