"""Readers in threads of one session: each query must see a state that the history allows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from tests.bench.writing.history import History, State, Tally, state_of

QUERY = "SELECT p, k, count(*) FROM {table} GROUP BY p, k"


def read(spark: SparkSession, table: str) -> State | str:
    """Returns the state that is visible now."""
    return state_of([tuple(row) for row in spark.sql(QUERY.format(table=table)).collect()])


@contextmanager
def reading(spark: SparkSession, table: str, history: History, readers: int) -> Iterator[Tally]:
    """Runs readers until the end of the block."""
    tally, lock, stopped = Tally(), threading.Lock(), threading.Event()

    def run() -> None:
        while not stopped.is_set():
            mark = history.mark()
            try:
                seen = read(spark, table)
            except Exception as error:  # noqa: BLE001 - what a reader meets is what is to be told
                seen = f"{type(error).__name__}: {str(error)[:300]}"
            allowed = history.allowed(mark)
            with lock:
                tally.reads += 1
                if isinstance(seen, str) or seen not in allowed:
                    tally.wrong.append(f"{seen} instead of one of {[sorted(state) for state in allowed]}")
                else:
                    tally.states.add(seen)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(readers)]
    for thread in threads:
        thread.start()
    try:
        yield tally
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
