"""One INSERT into many new partitions, by our library and by Spark's own Hive writer, on one metastore."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from metastore.client import MetastoreClient
from spark_client.context import Context
from spark_client.write.commit import Commit
from spark_client.write.insert import insert_into
from spark_client.write.placement import Write
from spark_client.write.publication import publish
from spark_client.write.snapshot import take_snapshot
from spark_client.write.staging import StagedFile

LIMITS = {
    "hive.exec.max.dynamic.partitions": "1000000",
    "hive.exec.max.dynamic.partitions.pernode": "1000000",
    "hive.exec.max.created.files": "1000000",
    "hive.exec.dynamic.partition.mode": "nonstrict",
}
COLUMNS, KEYS = "id BIGINT, x INT", "p STRING"


@dataclass
class Timing:
    """Seconds of each part of an INSERT."""

    who: str
    partitions: int
    parts: Mapping[str, float]

    def __str__(self) -> str:
        total = sum(self.parts.values())
        parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.parts.items())
        return f"{self.who}: {self.partitions:,} partitions in {total:.1f} s ({parts})"


def rows(spark: SparkSession, partitions: int) -> DataFrame:
    """Returns one row for each partition."""
    return spark.range(partitions, numPartitions=2).selectExpr("id", "1 AS x", "format_string('%06d', id) AS p")


def ours(spark: SparkSession, metastore: MetastoreClient, table: str, partitions: int, *, overwrite: bool) -> Timing:
    """Creates `table` in the database `default` and inserts into it; with `overwrite`, then replaces all rows."""
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table} ({COLUMNS}) PARTITIONED BY ({KEYS}) STORED AS PARQUET")
    for name, value in LIMITS.items():
        spark.conf.set(name, value)
    clock: dict[str, float] = {"began": time.monotonic()}
    context = Context(spark, metastore, lambda step: clock.__setitem__(step, time.monotonic()))
    insert_into(context, f"default.{table}", rows(spark, partitions), overwrite=overwrite)
    names = {"Spark's job": ("began", "staged"), "files": ("staged", "placed"), "publishing": ("placed", "published")}
    parts = {name: clock[end] - clock[start] for name, (start, end) in names.items()}
    return Timing("ours, overwriting" if overwrite else "ours", partitions, parts)


def placed(spark: SparkSession, metastore: MetastoreClient, table: str, partitions: int, *, overwrite: bool) -> Timing:
    """Measures all parts but Spark's job, as if it had written one file for each partition."""
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table} ({COLUMNS}) PARTITIONED BY ({KEYS}) STORED AS PARQUET")
    clock: dict[str, float] = {}
    context = Context(spark, metastore, lambda step: clock.__setitem__(step, time.monotonic()))
    write = Write(metastore.get_table("default", table), {}, overwrite)
    with Commit(context, write) as commit:
        staged = []
        for number in range(partitions):
            folder = Path(commit.directory.removeprefix("file:"), f"p={number:06d}")
            folder.mkdir(parents=True)
            (folder / f"{commit.query_id}-0").write_text("rows")
            staged.append(
                StagedFile(f"{commit.directory}/p={number:06d}/{commit.query_id}-0", (f"{number:06d}",), 0, 4, 1)
            )
        clock["began"] = time.monotonic()
        snapshot = take_snapshot(metastore, write.table, {}, with_skew=not overwrite)
        clock["seen"] = time.monotonic()
        commit.set_files(staged, snapshot)
        publish(context, [commit])
    names = {"what is there": ("began", "seen"), "files": ("seen", "placed"), "publishing": ("placed", "published")}
    parts = {name: clock[end] - clock[start] for name, (start, end) in names.items()}
    return Timing("overwriting, without Spark's job" if overwrite else "without Spark's job", partitions, parts)


def plain(uri: str, warehouse: str, table: str, partitions: int, *, converted: bool) -> Timing:
    """Measures a Spark without the library, in its own process. `converted`: with its own Parquet writer, else with
    Hive's.
    """
    code = f"from tests.bench.writing.publishing import _plain; _plain({table!r}, {partitions})"
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": uri,
        "spark.sql.warehouse.dir": warehouse,
        "spark.sql.hive.convertMetastoreParquet": str(converted).lower(),
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.master": "local[2]",
        **{f"spark.hadoop.{name}": value for name, value in LIMITS.items()},
    }
    arguments = [f"--conf {name}={value}" for name, value in settings.items()]
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": " ".join([*arguments, "pyspark-shell"])}
    command = [sys.executable, "-W", "ignore", "-c", code]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds = json.loads(done.stdout.splitlines()[-1])
    who = "Spark's Parquet writer" if converted else "Spark's Hive writer"
    return Timing(who, partitions, {"all": seconds})


def _plain(table: str, partitions: int) -> None:
    spark = SparkSession.builder.getOrCreate()
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) PARTITIONED BY ({KEYS}) STORED AS PARQUET")
    rows(spark, partitions).createOrReplaceTempView("source")
    began = time.monotonic()
    spark.sql(f"INSERT INTO {table} PARTITION (p) SELECT * FROM source")
    print(json.dumps(time.monotonic() - began))  # noqa: T201
