"""Writes of a streaming query's batch (foreachBatch): one that runs again, as after a restart, brings nothing twice.

What an append has brought is noted with the partitions that it went to, in the transaction that makes it visible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from spark_client.write.snapshot import Snapshot

# Spark's own (StreamExecution, MicroBatchExecution); the run is new after each start, the query goes on.
_QUERY, _BATCH, _RUN = "sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id"
PREFIX = "streaming.batch."
_counted: Counter[tuple[str, str, str]] = Counter()


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """The `ordinal`th append of a batch to a table."""

    query: str
    batch: int
    ordinal: int

    @property
    def note(self) -> Mapping[str, str]:
        """What partitions are to remember, as a parameter."""
        return {f"{PREFIX}{self.query}": f"{self.batch}.{self.ordinal}"}

    def is_done(self, seen: Snapshot) -> bool:
        """Tells whether a partition remembers this append, or a later one."""
        notes = (existing.parameters.get(f"{PREFIX}{self.query}") for existing in seen.values())
        found = (tuple(map(int, note.split("."))) for note in notes if note)
        return any(note >= (self.batch, self.ordinal) for note in found)


def micro_batch(spark: SparkSession, table: str) -> MicroBatch | None:
    """Returns the append that begins now, of the batch in whose thread this runs; None outside of streaming queries."""
    context = spark.sparkContext
    query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
    if not query or not batch:
        return None
    key = (str(context.getLocalProperty(_RUN)), batch, table)
    _counted[key] += 1
    for old in [row for row in _counted if row[0] == key[0] and row[1] != batch]:
        del _counted[old]
    return MicroBatch(query, int(batch), _counted[key])
