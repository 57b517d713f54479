"""Concurrent overwrites of the same partitions, with readers: losers get a conflict, and no rows are mixed or lost."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from spark_client.context import Context
from spark_client.errors import PublishConflictError
from spark_client.write.insert import insert_into
from tests.bench.writing.crash import clean
from tests.bench.writing.files import unreferenced
from tests.bench.writing.history import PARTITIONS, ROWS, State, Tally
from tests.bench.writing.readers import read, reading


@dataclass
class Figures:
    """The results."""

    published: int = 0
    conflicts: int = 0
    tally: Tally = field(default_factory=Tally)
    unreferenced: list[str] = field(default_factory=list)
    last: State = frozenset()
    seconds: float = 0

    def __str__(self) -> str:
        return (
            f"{self.published} overwrites published, {self.conflicts} told of a conflict, in {self.seconds:.0f} s; "
            f"{self.tally.reads} reads saw {len(self.tally.states)} states, {len(self.tally.wrong)} of them wrong; "
            f"one clean-up left {len(self.unreferenced)} files unreferenced"
        )


class _Any:
    """A history of writes in any order: each state consists of one write."""

    def __init__(self) -> None:
        self.tried: set[State] = {frozenset()}

    def mark(self) -> None:
        """Does nothing: the states do not depend on the moment."""

    def allowed(self, _: None) -> set[State]:
        return set(self.tried)


def rivals(
    spark: SparkSession, metastore: MetastoreClient, table: str, rounds: int, *, writers: int, readers: int
) -> Figures:
    """In each round, `writers` overwrite all of `table` at once. At least one of them must succeed."""
    figures, began, numbers = Figures(), time.monotonic(), itertools.count()
    context, history, barrier = Context(spark, metastore), _Any(), threading.Barrier(writers)

    def overwrite(number: int) -> bool:
        data = spark.range(len(PARTITIONS) * ROWS).selectExpr(
            f"id DIV {len(PARTITIONS)}", f"{number}", f"CAST(id % {len(PARTITIONS)} AS INT)"
        )
        history.tried.add(frozenset({number}))
        barrier.wait()
        try:
            insert_into(context, f"default.{table}", data, overwrite=True)
        except PublishConflictError:
            return False
        return True

    with reading(spark, table, history, readers) as tally, ThreadPoolExecutor(writers) as pool:
        figures.tally = tally
        for _ in range(rounds):
            drawn = list(itertools.islice(numbers, writers))
            through = [number for number, done in zip(drawn, pool.map(overwrite, drawn), strict=True) if done]
            seen = read(spark, table)
            assert seen in {frozenset({number}) for number in through}, (seen, through)
            figures.published += len(through)
            figures.conflicts += writers - len(through)
            figures.last = seen
    clean(spark, metastore, table)
    figures.unreferenced = unreferenced(spark, metastore, "default", table)
    assert read(spark, table) == figures.last
    figures.seconds = time.monotonic() - began
    return figures
