"""A process that forks a writer of INSERT for each line it is told, and kills it with SIGKILL where it is told to.

The writer is an ordinary driver program with the library in it; its JVM is the one of the session that runs already,
so that a life costs a second instead of ten.
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
    """Until the input ends: one write for each line, and a line that says what became of it."""
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
    """Sets what is ordered of writes; returns what kills this process at the step that is ordered."""
    spark.conf.set("write.mode", order["write_mode"])
    spark.conf.set("write.lease.seconds", str(order["lease"]))
    seen: list[str] = []

    def on_step(step: str) -> None:
        seen.append(step)
        if (step, seen.count(step)) == (order["step"], order["number"]):
            os.kill(os.getpid(), signal.SIGKILL)

    return on_step


def rows(spark: SparkSession, number: int) -> DataFrame:
    """Returns those of a write, in the order of the table's columns."""
    return spark.range(len(PARTITIONS) * ROWS).selectExpr(
        f"id DIV {len(PARTITIONS)} AS id", f"{number} AS k", f"CAST(id % {len(PARTITIONS)} AS INT) AS p"
    )


def _attached() -> SparkSession:
    """The running session's, with settings of its own."""
    gateway = launch_gateway()  # PYSPARK_GATEWAY_PORT says where
    java = gateway.jvm.JavaSparkContext(gateway.jvm.org.apache.spark.SparkContext.getOrCreate())
    conf = SparkConf(_jvm=gateway.jvm, _jconf=java.getConf())
    session = sql_class(gateway.jvm, "SparkSession").getDefaultSession().get().newSession()
    return SparkSession(SparkContext(gateway=gateway, jsc=java, conf=conf), session)


if __name__ == "__main__":
    main(sys.argv[1])
