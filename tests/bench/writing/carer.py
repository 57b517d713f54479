"""A driver that cares for tables, as `metastore care run` does. SIGKILL ends it, and its JVM, at a given step."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Timer
from typing import Any, Final

import spark_client
from metastore.client import lease
from metastore.client.care import expire
from metastore.client.lease import LeaseHeldError
from spark_client.care import add_discovered, compact
from spark_client.care_statistics import refresh_statistics
from spark_client.context import Context
from spark_client.write import journal
from tests.bench.writing.changer import SETTINGS
from tests.bench.writing.processes import answering
from tests.bench.writing.writer import DONE, FAILED, KILLED, prepare

PAUSE: Final = 0.5  # seconds until the lease of a dead program is tried again


@contextmanager
def carers(uri: str) -> Iterator[Callable[..., Any]]:
    """Yields a function that has a driver care for tables. The next driver starts meanwhile."""
    with ExitStack() as last:

        def start() -> Callable[..., Any]:
            return drivers.enter_context(answering("tests.bench.writing.carer", uri))

        drivers = last.enter_context(ExitStack())
        ready = start()

        def care(**order: Any) -> Any:
            nonlocal drivers, ready
            mine, ask = drivers, ready
            drivers = last.enter_context(ExitStack())
            ready = start()
            with mine:
                try:
                    return ask(**order)
                except EOFError:  # its JVM, which has the same output, has ended, too
                    return {"fate": KILLED}

        yield care


def main(uri: str) -> None:
    """Does what the first line of the input says, and prints the outcome."""
    journal.CHUNK = 1  # a step for each rename
    lease._HEARTBEAT = 0.5  # the time-out of the server is short, too
    spark = spark_client.session(uri, app_name="carer", master="local[2]", conf=SETTINGS)
    if not (line := sys.stdin.readline()):
        return
    order = json.loads(line)
    try:
        context = Context(spark, spark.metastore, prepare(spark, order))
        if order["delay"] is not None:  # a moment that no step names
            Timer(order["delay"], os.kill, (os.getpid(), signal.SIGKILL)).start()
        _care(context, order)
        fate = DONE
    except Exception as error:  # noqa: BLE001 - the outcome is reported
        sys.stderr.write(f"{order['kind']}: {error}\n")
        fate = FAILED
    print(json.dumps({"fate": fate}), flush=True)  # noqa: T201


def _care(context: Context, order: dict[str, Any]) -> None:
    for table in order["tables"]:
        _leased(partial(_DO[order["kind"]], context, table))


def _leased(action: Callable[[], list[Any]]) -> list[Any]:
    """Runs an action as soon as the lease of a dead program has ended."""
    while True:
        try:
            return action()
        except LeaseHeldError:
            time.sleep(PAUSE)


def _compact(context: Context, table: str) -> list[Any]:
    return list(compact(context, f"default.{table}", dry_run=False))


def _count(context: Context, table: str) -> list[Any]:
    return list(refresh_statistics(context, f"default.{table}"))


def _discover(context: Context, table: str) -> list[Any]:
    return list(add_discovered(context, "default", table, dry_run=False))


def _expire(context: Context, table: str) -> list[Any]:
    return list(expire(context.metastore.methods, "default", table, dry_run=False))


_DO: Final[dict[str, Callable[[Context, str], list[Any]]]] = {
    "compaction": _compact,
    "statistics": _count,
    "discovery": _discover,
    "retention": _expire,
}


if __name__ == "__main__":
    main(sys.argv[1])
