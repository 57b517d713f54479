"""A driver that carries out one DELETE, UPDATE or MERGE, and is killed with SIGKILL where it is told to.

What is read of the table is planned by rules in the process that asks: so each has a JVM, which dies with it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from threading import Timer
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

import spark_client
from metastore.client import MetastoreClient
from spark_client.context import Context
from spark_client.jvm.plans import own_columns
from spark_client.write import journal
from spark_client.write.row_changes import MATCHED, NOT_MATCHED, Change, Clause, change_rows
from tests.bench.writing.processes import answering
from tests.bench.writing.writer import DONE, FAILED, KILLED, prepare, rows

SETTINGS = {"spark.ui.enabled": "false", "spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "1"}


@contextmanager
def changers(uri: str) -> Iterator[Callable[..., Any]]:
    """Returns a function that has one change done by a driver; another one starts meanwhile for the next."""
    with ExitStack() as last:

        def start() -> Callable[..., Any]:
            return drivers.enter_context(answering("tests.bench.writing.changer", uri))

        drivers = last.enter_context(ExitStack())
        ready = start()

        def change(**order: Any) -> Any:
            nonlocal drivers, ready
            mine, ask = drivers, ready
            drivers = last.enter_context(ExitStack())
            ready = start()
            with mine:
                try:
                    return ask(**order)
                except EOFError:  # its JVM has ended, too: it has the same output
                    return {"fate": KILLED}

        yield change


def main(uri: str) -> None:
    """Does what the first line says, and tells what became of it."""
    journal.CHUNK = 1  # a step for each rename
    spark = spark_client.session(uri, app_name="changer", master="local[2]", conf=SETTINGS)
    if not (line := sys.stdin.readline()):
        return
    try:
        _change_rows(spark, uri, json.loads(line))
        fate = DONE
    except Exception as error:  # noqa: BLE001 - what becomes of it is told
        sys.stderr.write(f"{error}\n")
        fate = FAILED
    print(json.dumps({"fate": fate}), flush=True)  # noqa: T201


def _change_rows(spark: SparkSession, uri: str, order: dict[str, Any]) -> None:
    context = Context(spark, MetastoreClient(uri), prepare(spark, order))
    change = _change(spark, rows(spark, order["k"]), **order)
    if order["delay"] is not None:  # a moment that no step names
        Timer(order["delay"], os.kill, (os.getpid(), signal.SIGKILL)).start()
    change_rows(context, change)


def _change(spark: SparkSession, new: DataFrame, kind: str, table: str, k: int, old: int, **_: object) -> Change:
    """The rows of an older write go (delete), become those of this one (update), or are exchanged for them (merge)."""
    target = spark.table(table)
    own = own_columns(target)
    if kind == "delete":
        return Change(table, target, [Clause(MATCHED, own["k"] == old, None)])
    if kind == "update":
        return Change(table, target, [Clause(MATCHED, own["k"] == old, {"k": F.lit(k)})])
    both = new if old < 0 else new.unionAll(rows(spark, old))
    source = both.selectExpr("id AS s_id", "k AS s_k", "p AS s_p")
    given = {name: F.col(f"s_{name}") for name in own}
    on = reduce(Column.__and__, (own[name] == given[name] for name in own))
    clauses = [Clause(MATCHED, None, None), Clause(NOT_MATCHED, None, given)]
    return Change(table, target, clauses, source, on)


if __name__ == "__main__":
    main(sys.argv[1])
