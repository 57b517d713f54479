"""A program for Spark on S3: writes by uploads, the requests that they make, and what is left of failed ones.

    python -m tests.interop.storage.uploads thrift://host:port ENDPOINT MASTER SETTINGS

Prints the attempts as JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame

import spark_client
from tests.interop.report import Report
from tests.interop.storage.s3 import COPY, client_of, take_counts
from tests.interop.storage.statements import SETTINGS, Tables

BUCKET = "bucket"


class Uploading(Tables):
    """Tables on S3, and functions that count requests and uploads."""

    def __init__(self, spark: Any, endpoint: str) -> None:
        super().__init__(spark, f"s3a://{BUCKET}/warehouse")
        self.endpoint = endpoint
        self.s3 = client_of(endpoint)

    def counted(self, action: Callable[[], object]) -> Counter[str]:
        take_counts(self.endpoint)
        action()
        return take_counts(self.endpoint)

    def uploads(self) -> list[str]:
        """Returns the keys of uploads that are not complete."""
        return [upload["Key"] for upload in self.s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", ())]

    def rows(self, start: int, stop: int, partitions: int, tasks: int = 4) -> DataFrame:
        """Every third row has the heavy value 7."""
        return self.spark.range(start, stop, 1, tasks).selectExpr(
            "id", "IF(id % 3 = 0, 7, CAST(id % 5 AS INT)) AS x", f"CAST(id % {partitions} AS INT) AS p"
        )


def compare(tables: Uploading, *, skewed: bool) -> dict[str, dict[str, int]]:
    """Returns the requests of INSERTs into a table, and of plain Spark writing the same rows to a path."""
    name = tables.make("compared_skewed" if skewed else "compared", skewed=skewed)
    path = f"s3a://{BUCKET}/plain/{name}"
    found = {}
    for step, (start, stop) in {"new": (0, 3000), "append": (3000, 6000)}.items():
        data = tables.rows(start, stop, 10)
        data.write.mode("append").partitionBy("p").parquet(f"{path}_warm_{step}")
        found[f"{step} plain"] = dict(
            tables.counted(lambda d=data: d.repartition("p").write.mode("append").partitionBy("p").parquet(path))
        )
        data.createOrReplaceTempView("data")
        found[step] = dict(tables.counted(lambda: tables.spark.sql(f"INSERT INTO {name} SELECT * FROM data")))
    assert tables.ids(name) == list(range(6000))
    return found


def figures(tables: Uploading) -> None:
    for skewed in (False, True):
        for step, counts in compare(tables, skewed=skewed).items():
            print(skewed, step, sum(counts.values()), counts, file=sys.stderr)  # noqa: T201


def attempts(tables: Uploading) -> Iterator[tuple[str, Callable[[], None]]]:
    yield "figures", lambda: figures(tables)


def main(uri: str, endpoint: str, master: str, settings: str) -> None:
    report = Report("uploads")
    spark = spark_client.session(uri, master=master, conf={**SETTINGS, **json.loads(settings)})
    tables = Uploading(spark, endpoint)
    for name, attempt in attempts(tables):
        with report.attempt("uploads", name):
            attempt()
    print(json.dumps(report.outcomes))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
