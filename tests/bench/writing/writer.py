"""A process that forks a writer for each line of its input, which names the INSERT and the step at which SIGKILL ends
it.

The writer is an ordinary driver program with the library. It uses the JVM of the running session, so that a writer
takes a second instead of ten.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

from metastore.client import MetastoreClient
from spark_client.context import Context
from spark_client.jvm.versions import sql_class
from spark_client.write import journal
from spark_client.write.insert import insert_into
from tests.bench.writing.history import PARTITIONS, ROWS

KILLED, DONE, FAILED = "killed", "done", "failed"


def main(uri: str) -> None:
    """Makes one write for each line of the input and prints a line with the outcome, until the input ends."""
    journal.CHUNK = 1  # a step for each rename
    for line in sys.stdin:
        print(json.dumps(_one(uri, json.loads(line))), flush=True)  # noqa: T201


def _one(uri: str, order: dict[str, Any]) -> dict[str, Any]:
    ready, begun = os.pipe()
    process = os.fork()
    if not process:
        os.close(ready)
        status = 1
        try:
            _write(uri, order, begun)
            status = 0
        except Exception:  # noqa: BLE001 - its own process ends here
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(begun)
    os.read(ready, 1)
    os.close(ready)
    if order["delay"] is not None:
        time.sleep(order["delay"])  # a moment that no step names
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        return {"fate": KILLED}
    return {"fate": DONE if os.WEXITSTATUS(status) == 0 else FAILED}


def _write(uri: str, order: dict[str, Any], begun: int) -> None:
    spark = _attached()
    context = Context(spark, MetastoreClient(uri), prepare(spark, order))
    data = rows(spark, order["k"])
    os.write(begun, b".")
    insert_into(context, order["table"], data, partition={}, overwrite=order["kind"] == "overwrite")


def prepare(spark: SparkSession, order: dict[str, Any]) -> Callable[[str], None]:
    """Applies the settings of an order. Returns a function that kills this process at the step of the order."""
    spark.conf.set("write.mode", order["write_mode"])
    spark.conf.set("write.lease.seconds", str(order["lease"]))
    seen: list[str] = []

    def on_step(step: str) -> None:
        seen.append(step)
        if (step, seen.count(step)) == (order["step"], order["number"]):
            os.kill(os.getpid(), signal.SIGKILL)

    return on_step


def rows(spark: SparkSession, number: int) -> DataFrame:
    """Returns the rows of a write, in the order of the table's columns."""
    return spark.range(len(PARTITIONS) * ROWS).selectExpr(
        f"id DIV {len(PARTITIONS)} AS id", f"{number} AS k", f"CAST(id % {len(PARTITIONS)} AS INT) AS p"
    )


def _attached() -> SparkSession:
    """Returns a session of the running JVM, with its own settings."""
    gateway = launch_gateway()  # through PYSPARK_GATEWAY_PORT
    java = gateway.jvm.JavaSparkContext(gateway.jvm.org.apache.spark.SparkContext.getOrCreate())
    conf = SparkConf(_jvm=gateway.jvm, _jconf=java.getConf())
    session = sql_class(gateway.jvm, "SparkSession").getDefaultSession().get().newSession()
    return SparkSession(SparkContext(gateway=gateway, jsc=java, conf=conf), session)


if __name__ == "__main__":
    main(sys.argv[1])
