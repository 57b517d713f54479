"""What has been said of a streaming query before it starts, and which of its runs is on: Spark keeps it to itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_client.jvm import versions
from spark_client.jvm.plans import elements

# Spark's own (StreamExecution, MicroBatchExecution): what the thread of a query knows.
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The output mode (`Append`), the options by their names in lower case, and the columns of `partitionBy`."""

    mode: str
    options: Mapping[str, str]
    partition_by: list[str]


def stream_settings(writer: DataStreamWriter) -> StreamSettings:
    """Returns what was set so far."""
    java: Any = writer._jwrite  # noqa: SLF001 - PySpark has no name for it
    fields = {str(field.getName()).lower(): field for field in java.getClass().getDeclaredFields()}

    def value(name: str) -> Any:
        fields[name].setAccessible(True)
        return fields[name].get(java)

    options, partitions = value("extraoptions"), value("partitioningcolumns")
    keys, found = options.keysIterator(), {}
    while keys.hasNext():
        key = keys.next()
        found[str(key).lower()] = str(options.apply(key))
    by = [str(column) for column in elements(partitions.get())] if partitions.isDefined() else []
    return StreamSettings(str(value("outputmode").toString()), found, by)


@dataclass(frozen=True, slots=True)
class RunningBatch:
    """A batch of a streaming query. `run` is new after each start of the query, None where it has ended."""

    query: str
    run: str | None
    number: int


def running_batch(spark: SparkSession) -> RunningBatch | None:
    """Returns the batch in whose function this is called; None outside of streaming queries."""
    context = spark.sparkContext
    query, number = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
    if query and number:
        execution = _executions(spark).get(_jvm(spark).java.util.UUID.fromString(query))
        return RunningBatch(query, None if execution is None else str(execution.runId()), int(number))
    return _batch_of_session(spark) if versions.BATCHES_HAVE_SESSIONS else None


def _batch_of_session(spark: SparkSession) -> RunningBatch | None:
    """Returns the batch of a function that came by Spark Connect: its statements run in threads of their own."""
    running = _executions(spark)
    if running.isEmpty():  # To learn so from an iterator takes dozens of calls (see `members`).
        return None
    for execution in running.values():
        if execution.sparkSessionForStream().equals(spark._jsparkSession):  # noqa: SLF001 - PySpark has no name for it
            number = int(execution.getLatestExecutionContext().batchId())
            return RunningBatch(str(execution.id()), str(execution.runId()), number)
    return None


def _executions(spark: SparkSession) -> Any:
    """Returns what runs, by the queries' ids.

    Asked of what all sessions share: a batch has a session of its own, which knows no queries. And the job group, which
    is the id of the run when a batch begins, is the user's to set.
    """
    return spark._jsparkSession.sharedState().activeStreamingQueries()  # noqa: SLF001 - PySpark has no name for it


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001 - PySpark has no name for it
