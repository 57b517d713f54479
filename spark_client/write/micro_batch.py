"""Writes of a streaming query's batch (foreachBatch): one that runs again, as after a restart, does nothing twice.

Each statement that changes rows is noted with the partitions that it changes, in the transaction that makes it visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from metastore.client.structs import Table
from spark_client.errors import PublishConflictError, WriteUncertainError
from spark_client.jvm.streams import running_batch
from spark_client.write.snapshot import Values

PREFIX = "streaming.batch."


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """The `ordinal`th statement of a batch that changes a table; before it, those of the numbers `failed` did.

    The run is new after each start of the query.
    """

    query: str
    run: str | None
    batch: int
    table: str
    ordinal: int
    failed: tuple[int, ...] = ()

    @property
    def note(self) -> Mapping[str, str]:
        """What partitions are to remember, as a parameter."""
        return {f"{PREFIX}{self.query}": ".".join(map(str, (self.batch, self.ordinal, *self.failed)))}

    def done(self, metastore: MetastoreClient, table: Table, static: Mapping[str, str]) -> set[Values]:
        """Returns the partitions of the static values that remember this statement, or a later one; of a table without
        partitions, the one without values.

        Asks for them as they are now: to be called after their versions are known. Raises PublishConflictError for a
        statement that failed where a later one was done: so the function of the batch goes the same way again.
        """
        name = f"{PREFIX}{self.query}"
        found = {values: own[name] for values, own in _parameters(metastore, table, static).items() if name in own}
        notes = {values: tuple(map(int, note.split("."))) for values, note in found.items()}
        batch, _, *failed = max(notes.values(), default=(-1, 0))
        if batch == self.batch and self.ordinal in failed:
            raise PublishConflictError(f"this statement about {self.table} failed when batch {batch} ran before")
        return {values for values, note in notes.items() if note >= (self.batch, self.ordinal)}


# By query and table: the statement that ended last, and those that failed until then.
_ended: dict[tuple[str, str], tuple[MicroBatch, tuple[int, ...]]] = {}


@contextmanager
def statement_of_batch(spark: SparkSession, table: str) -> Iterator[MicroBatch | None]:
    """A statement about the table, in the batch in whose function this runs; None outside of streaming queries."""
    running = running_batch(spark)
    if running is None:
        yield None
        return
    query = running.query
    batch = MicroBatch(query, running.run, running.number, table, 1)
    last, failed = _ended.get((query, table), (None, ()))
    if last and (last.run, last.batch) == (batch.run, batch.batch):
        batch = replace(batch, ordinal=last.ordinal + 1, failed=failed)
    try:
        yield batch
    except WriteUncertainError:
        raise  # Who tries it again finds out whether it was done.
    except BaseException:
        _ended[query, table] = batch, (*batch.failed, batch.ordinal)
        raise
    _ended[query, table] = batch, batch.failed


def _parameters(
    metastore: MetastoreClient, table: Table, static: Mapping[str, str]
) -> Mapping[Values, Mapping[str, str]]:
    keys = [column.name for column in table.partition_columns]
    if not keys:
        return {(): metastore.get_table(table.database, table.name).parameters}
    prefix = tuple(static[key] for key in keys if key in static)
    found = metastore.get_partitions(table.database, table.name, prefix)
    return {partition.values: partition.parameters for partition in found}
