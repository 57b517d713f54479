"""A program on a cluster of two executors, of which one is killed between the two jobs of each MERGE.

    python -m tests.interop.lost_executors thrift://host:port WAREHOUSE TABLE

Prints as JSON, for each kind of source: whether the MERGE succeeded, its error, and the ids and number of its rows.
Prints {"skipped": reason} if the cluster does not start.
"""

import json
import os
import random
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql import types as T  # noqa: N812 - Spark's own custom

import spark_client
from spark_client import Session
from spark_client.context import Context
from spark_client.errors import SparkClientError
from spark_client.jvm.plans import column_attributes
from spark_client.write.change import Change, Clause
from spark_client.write.row_changes import change_rows

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.scripting.enabled": "true",
}


def executors(spark: SparkSession) -> list[int]:
    """The process ids of the executors of this program."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text()
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in command and str(spark.sparkContext.applicationId) in command:
            found.append(int(folder.name))
    return sorted(found)


def merge(spark: Session, name: str, source: DataFrame) -> dict[str, object]:
    killed: list[int] = []

    def on_step(step: str) -> None:
        if step == "planned" and not killed:
            killed.append(executors(spark)[0])
            os.kill(killed[0], signal.SIGKILL)

    target = spark.table(name)
    own, new = column_attributes(target), column_attributes(source)
    updated = {"x": new["x"], "m": new["m"]}
    clauses = [Clause("matched", None, updated), Clause("not_matched", None, {"id": new["id"], **updated})]
    change = Change(f"default.{name}", target, clauses, source, own["id"] == new["id"])
    error = None
    try:
        change_rows(Context(spark, spark.metastore, on_step), change)
    except SparkClientError as failure:
        error = f"{type(failure).__name__}: {failure}"
    rows = [tuple(row) for row in spark.sql(f"SELECT id, x FROM {name}").collect()]
    return {"killed": len(killed), "error": error, "ids": sorted(row[0] for row in rows), "x": [row[1] for row in rows]}


def main(uri: str, warehouse: str, name: str) -> dict[str, object]:
    try:
        spark = spark_client.session(uri, master="local-cluster[2,1,1024]", warehouse=warehouse, conf=SETTINGS)
        spark.range(4).count()
    except Exception as failure:  # noqa: BLE001 - whatever it is, the machine cannot run such a cluster
        return {"skipped": str(failure)}
    certain = (F.col("id") % 9).cast("int")
    kinds = {
        "function": F.udf(lambda _: random.randrange(9), T.IntegerType())("id"),
        "uuid": F.expr("CAST(abs(hash(uuid())) % 9 AS INT)"),
        "certain": certain,
    }
    seen: dict[str, object] = {}
    for kind, value in kinds.items():
        table = f"{name}_{kind}"
        spark.sql(f"CREATE TABLE {table} (id BIGINT, x STRING) PARTITIONED BY (m INT) STORED AS PARQUET")
        spark.sql(f"INSERT INTO {table} SELECT id, 'old', CAST(id % 4 AS INT) FROM range(0, 200, 4)")
        source = spark.range(0, 200, 1, 8).select("id", F.lit("new").alias("x"), value.alias("m"))
        seen[kind] = merge(spark, table, source)
    spark.stop()
    return seen


if __name__ == "__main__":
    sys.stdout.write(f"\n{json.dumps(main(*sys.argv[1:4]))}\n")
