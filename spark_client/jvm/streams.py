"""What has been said of a streaming query before it starts, and which of its runs is on: Spark keeps it to itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_client.jvm import versions
from spark_client.jvm.objects import java_class
from spark_client.jvm.plans import elements

# Spark's own (StreamExecution, MicroBatchExecution): what the thread of a query knows.
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The format, the output mode (`Append`), the options by their names in lower case, the columns of `partitionBy`;
    whether there is a `clusterBy`; all columns as CREATE TABLE has them.
    """

    format: str
    mode: str
    options: Mapping[str, str]
    partition_by: list[str]
    is_clustered: bool
    columns: str


def stream_settings(writer: DataStreamWriter) -> StreamSettings:
    """Returns what was set so far."""
    fields = _fields(writer)

    def value(name: str) -> Any:
        return fields[name].get(writer._jwrite)  # noqa: SLF001 - PySpark has no public API for it

    options, partitions = value("extraoptions"), value("partitioningcolumns")
    keys, found = options.keysIterator(), {}
    while keys.hasNext():
        key = keys.next()
        found[str(key).lower()] = str(options.apply(key))
    by = [str(column) for column in elements(partitions.get())] if partitions.isDefined() else []
    clustered = "clusteringcolumns" in fields and bool(value("clusteringcolumns").isDefined())
    columns = str(writer._df._jdf.schema().asNullable().toDDL())  # noqa: SLF001 - as above
    return StreamSettings(str(value("source")), str(value("outputmode").toString()), found, by, clustered, columns)


def without_partitioning(writer: DataStreamWriter) -> DataStreamWriter:
    """Takes back what `partitionBy` has said, which `foreachBatch` refuses."""
    java: Any = writer._jwrite  # noqa: SLF001 - PySpark has no public API for it
    nothing = java_class(_jvm(writer._spark), "scala.Option").empty()  # noqa: SLF001 - as above
    _fields(writer)["partitioningcolumns"].set(java, nothing)
    return writer


def _fields(writer: DataStreamWriter) -> dict[str, Any]:
    """Returns the private ones of Spark's own writer, by their names in lower case."""
    java: Any = writer._jwrite  # noqa: SLF001 - PySpark has no public API for it
    found = {str(field.getName()).lower(): field for field in java.getClass().getDeclaredFields()}
    for field in found.values():
        field.setAccessible(True)
    return found


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
        if execution.sparkSessionForStream().equals(spark._jsparkSession):  # noqa: SLF001 - PySpark has no public API for it
            number = int(execution.getLatestExecutionContext().batchId())
            return RunningBatch(str(execution.id()), str(execution.runId()), number)
    return None


def _executions(spark: SparkSession) -> Any:
    """Returns what runs, by the queries' ids.

    Asked of what all sessions share: a batch has a session of its own, which knows no queries. And the job group, which
    is the id of the run when a batch begins, is the user's to set.
    """
    return spark._jsparkSession.sharedState().activeStreamingQueries()  # noqa: SLF001 - PySpark has no public API for it


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001 - PySpark has no public API for it
