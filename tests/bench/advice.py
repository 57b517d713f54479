"""`make bench-advice`: queries are recorded, the advised layout is made, and the same queries read again.

Three tables that their queries have not shaped: the demo's flights by month, the rows of `make bench-zipf`, and a log
of requests with filters of several kinds. Compares the predicted saving with the bytes of the files that queries read.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from metastore.client.scans import recorded_workload
from spark_client import Session, care, scan_report
from spark_client.demo import flights
from spark_client.demo.questions import questions
from tests.bench.spark import session
from tests.bench.zipf import make_rows

INTERVAL = 0.2  # seconds after which the server adds scans to the record
SEED = 7


@dataclass(frozen=True)
class Result:
    """Bytes that the queries of a workload read, before and after, and the prediction."""

    name: str
    queries: int
    before: int
    after: int
    predicted_before: int
    predicted_after: int
    advice: str

    @property
    def ratio(self) -> float:
        """What the advised layout reads, of the given one."""
        return self.after / self.before

    @property
    def line(self) -> str:
        """The result in one line."""
        saving = 1 - self.predicted_after / self.predicted_before
        return (
            f"{self.name}: {self.advice} reads {self.ratio:.1%} of the bytes; saving predicted {saving:.1%}, measured "
            f"{1 - self.ratio:.1%} ({self.error:+.1%})"
        )

    @property
    def error(self) -> float:
        """The error of the predicted saving, of the measured one."""
        return (self.predicted_before - self.predicted_after) / (self.before - self.after) - 1


@dataclass(frozen=True)
class Given:
    """A table without skew, and conditions of its queries. `{v}` is a value of `column`, drawn as rows have it."""

    name: str
    column: str
    make: Callable[[Session], None]
    conditions: Sequence[str]
    shares: Sequence[int]  # how often each condition is asked, of `queries`


@click.command()
@click.option("--rows", default=flights.ROWS, show_default=True, help="Flights.")
@click.option("--partitions", default=20, show_default=True, help="Days of the other tables.")
@click.option("--each", default=30_000, show_default=True, help="Rows of such a day.")
@click.option("--queries", default=60, show_default=True, help="Queries on each table.")
@click.option("--values/--no-values", default=False, show_default=True, help="Record the values of filters.")
def main(rows: int, partitions: int, each: int, queries: int, *, values: bool) -> None:
    """Records, advises, and measures each table."""
    console = Console(width=150)
    options = ["--scan-record-interval", f"{INTERVAL}s", *(["--scan-record-values"] if values else [])]
    with session(*options) as spark, tempfile.TemporaryDirectory() as folder:
        spark.sql("CREATE DATABASE bench")
        results = []
        for given in tables(Path(folder), rows, partitions, each):
            result = measured(spark, given, queries)
            results += [] if isinstance(result, str) else [result]
            console.print(result if isinstance(result, str) else result.line, soft_wrap=True, highlight=False)
    grid = Table(*("table", "queries", "MB before", "MB after", "of before", "predicted saving", "measured", "error"))
    for one in results:
        saving = f"{1 - one.predicted_after / one.predicted_before:.1%}", f"{1 - one.ratio:.1%}"
        sizes = f"{one.before / 1e6:,.2f}", f"{one.after / 1e6:,.2f}", f"{one.ratio:.1%}"
        grid.add_row(one.name, f"{one.queries}", *sizes, *saving, f"{one.error:+.1%}")
    console.print(grid)


def tables(folder: Path, rows: int, partitions: int, each: int) -> list[Given]:
    """Returns the tables."""

    def make_flights(spark: Session) -> None:
        flights.register_raw(spark, flights.unpack(folder, rows))
        columns = ", ".join([*(name for name in spark.table(flights.RAW).columns if name != "month"), "month"])
        spark.sql(
            f"CREATE TABLE bench.flights PARTITIONED BY (month) STORED AS PARQUET AS "
            f"SELECT {columns} FROM {flights.RAW}"
        )

    def make_zipf(spark: Session) -> None:
        make_rows(spark, partitions, each, 110)
        spark.sql(
            "CREATE TABLE bench.zipf PARTITIONED BY (ds) STORED AS PARQUET AS SELECT id, amount, note, x, ds FROM rows"
        )

    def make_requests(spark: Session) -> None:
        # Countries have shares of 1 / rank²; users are spread evenly.
        spark.range(0, partitions * each, 1, 8).selectExpr(
            "id % 100003 AS user_id",
            "concat('c', int(pow((pmod(xxhash64(id, 3), 1000000) + 1) / 1000001D, -1))) AS country",
            "IF(pmod(xxhash64(id, 4), 50) = 0, 500, 200) AS status",
            "concat('/', sha2(string(id), 256)) AS url",
            "pmod(xxhash64(id, 5), 100000) AS size",
            f"date_add(DATE '2026-01-01', int(id % {partitions})) AS ds",
        ).createOrReplaceTempView("requested")
        spark.sql("CREATE TABLE bench.requests PARTITIONED BY (ds) STORED AS ORC AS SELECT * FROM requested")

    of_demo = [each.condition.replace("a.faa", "dest") for each in questions("{v}", "{v}", "{w}")]
    day = "ds = DATE '2026-01-05'"
    of_requests = [f"country = '{{v}}' AND {day}", "country IN ('{v}', '{w}') AND ds >= DATE '2026-01-03'"]
    of_requests += ["status = 500", f"size > 90000 AND {day}", "user_id = 4711", "country = '{v}'"]
    return [
        Given("bench.flights", "dest", make_flights, of_demo, [1] * len(of_demo)),
        Given("bench.zipf", "x", make_zipf, ["x = '{v}'", "x = '{v}' AND ds = 3", "x IN ('{v}', '{w}')"], [2, 1, 1]),
        Given("bench.requests", "country", make_requests, of_requests, [5, 3, 1, 2, 1, 4]),
    ]


def asked(spark: Session, given: Given, number: int) -> list[str]:
    """Returns conditions of queries. Values are drawn as often as rows have them."""
    counts = spark.sql(f"SELECT {given.column}, count(*) FROM {given.name} GROUP BY 1").collect()
    chosen = random.Random(SEED)
    names, weights = [row[0] for row in counts], [row[1] for row in counts]
    conditions = chosen.choices(given.conditions, given.shares, k=number)
    drawn = [chosen.choices(names, weights, k=2) for _ in conditions]
    return [
        condition.replace("{v}", values[0]).replace("{w}", values[1])
        for condition, values in zip(conditions, drawn, strict=True)
    ]


def read(spark: Session, name: str, conditions: Sequence[str]) -> int:
    """Plans queries, which records them, and returns the bytes of the files that they read."""
    size = 0
    for condition in conditions:
        (scan,) = scan_report(spark.sql(f"SELECT * FROM {name} WHERE {condition}")).scans
        size += scan.kept.bytes
    return size


def measured(spark: Session, given: Given, number: int) -> Result | str:
    """Runs the queries on a table, makes the advised layout, and runs them again. Returns why none is advised."""
    given.make(spark)
    conditions = asked(spark, given, number)
    database, _, name = given.name.partition(".")
    before = read(spark, given.name, conditions)
    end = time.monotonic() + 60
    while recorded(spark, database, name) < number and time.monotonic() < end:
        time.sleep(INTERVAL)
    advice = care.advise(given.name, spark=spark)
    if not advice.layouts:
        return f"{given.name}: {advice.reason}"
    best = advice.layouts[0]
    for statement in best.statements:
        spark.sql(statement.rstrip(";"))
    made = given.name if "ALTER" in best.statements[0] else f"{given.name}_advised"
    after = sum(read(spark, made, [each]) * conditions.count(each) for each in sorted(set(conditions)))
    predicted = best.bytes_before or 0, best.bytes_after or 0
    return Result(given.name, number, before, after, *predicted, f"{best.kind} ({best.column})")


def recorded(spark: Session, database: str, name: str) -> int:
    """Returns the number of recorded scans with filters."""
    return recorded_workload(spark.metastore.methods, database, name)[0].scans


if __name__ == "__main__":
    main()
