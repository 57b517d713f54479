"""Writes inside foreachBatch of a streaming query: a batch that runs again, for example after a restart, repeats
nothing.

Each statement that changes rows stores a marker in the parameters of the partitions that it changes, in the transaction
that makes the change visible.
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
    """A statement of a batch that changes a table.

    Attributes:
        query: The id of the streaming query. It survives restarts.
        run: The id of the run, which is new after each start of the query.
        batch: The number of the batch.
        table: `database.table`, in lower case.
        ordinal: The position of the statement among those of the batch that change this table, from 1.
        failed: The ordinals of earlier statements that failed in this batch.
    """

    query: str
    run: str | None
    batch: int
    table: str
    ordinal: int
    failed: tuple[int, ...] = ()

    @property
    def marker(self) -> Mapping[str, str]:
        """The parameter that written partitions get: batch, ordinal and failed ordinals, separated by dots."""
        return {f"{PREFIX}{self.query}": ".".join(map(str, (self.batch, self.ordinal, *self.failed)))}

    def completed_partitions(self, metastore: MetastoreClient, table: Table, static: Mapping[str, str]) -> set[Values]:
        """Returns the partitions of the static values whose marker is of this statement or a later one.

        A table without partitions counts as one partition with the values (). The caller must have read the versions of
        the partitions before: then a write that is completed after this call is a conflict at publishing.

        Raises PublishConflictError if this statement failed in an earlier run and a later statement of the batch
        succeeded. The batch function caught the error then, so it must take the same path now.
        """
        name = f"{PREFIX}{self.query}"
        texts = {values: own[name] for values, own in _parameters(metastore, table, static).items() if name in own}
        markers = {values: tuple(map(int, text.split("."))) for values, text in texts.items()}
        batch, _, *failed = max(markers.values(), default=(-1, 0))
        if batch == self.batch and self.ordinal in failed:
            raise PublishConflictError(f"this statement on {self.table} failed in an earlier run of batch {batch}")
        return {values for values, marker in markers.items() if marker >= (self.batch, self.ordinal)}


# By query and table: the statement that ended last, and the ordinals that have failed until then.
_ended: dict[tuple[str, str], tuple[MicroBatch, tuple[int, ...]]] = {}


@contextmanager
def statement_of_batch(spark: SparkSession, table: str) -> Iterator[MicroBatch | None]:
    """Counts a statement that changes `table` in the batch that is running. Yields None if no batch is running."""
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
        # Not counted as failed: a retry has the same ordinal and finds out from the markers whether it was published.
        raise
    except BaseException:  # also Ctrl-C: a retry of the batch must know that this statement failed
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
    partitions = metastore.get_partitions(table.database, table.name, prefix)
    return {partition.values: partition.parameters for partition in partitions}
