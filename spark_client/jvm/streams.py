"""Settings of a streaming query before it starts, and the current batch of a running query. Spark hides both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_client.jvm import versions
from spark_client.jvm.objects import java_class
from spark_client.jvm.plans import elements

# Local properties of a query's thread (StreamExecution, MicroBatchExecution).
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The settings of a DataStreamWriter.

    Attributes:
        format: The format.
        mode: The output mode, such as `Append`.
        options: The options, by name in lower case.
        partition_by: The columns of `partitionBy`.
        is_clustered: Whether there is a `clusterBy`.
        columns: All columns, as in CREATE TABLE.
    """

    format: str
    mode: str
    options: Mapping[str, str]
    partition_by: list[str]
    is_clustered: bool
    columns: str


def stream_settings(writer: DataStreamWriter) -> StreamSettings:
    """Returns the settings so far."""
    fields = _fields(writer)

    def value(name: str) -> Any:
        return fields[name].get(writer._jwrite)  # noqa: SLF001 - PySpark has no public API for it

    options, partitions = value("extraoptions"), value("partitioningcolumns")
    keys, by_name = options.keysIterator(), {}
    while keys.hasNext():
        key = keys.next()
        by_name[str(key).lower()] = str(options.apply(key))
    partition_columns = [str(column) for column in elements(partitions.get())] if partitions.isDefined() else []
    clustered = "clusteringcolumns" in fields and bool(value("clusteringcolumns").isDefined())
    columns = str(writer._df._jdf.schema().asNullable().toDDL())  # noqa: SLF001 - as above
    return StreamSettings(
        str(value("source")), str(value("outputmode").toString()), by_name, partition_columns, clustered, columns
    )


def without_partitioning(writer: DataStreamWriter) -> DataStreamWriter:
    """Removes the columns of `partitionBy`, which `foreachBatch` does not accept."""
    java: Any = writer._jwrite  # noqa: SLF001 - PySpark has no public API for it
    nothing = java_class(_jvm(writer._spark), "scala.Option").empty()  # noqa: SLF001 - as above
    _fields(writer)["partitioningcolumns"].set(java, nothing)
    return writer


def _fields(writer: DataStreamWriter) -> dict[str, Any]:
    """Returns the private fields of Spark's writer, by name in lower case."""
    java: Any = writer._jwrite  # noqa: SLF001 - PySpark has no public API for it
    fields = {str(field.getName()).lower(): field for field in java.getClass().getDeclaredFields()}
    for field in fields.values():
        field.setAccessible(True)
    return fields


@dataclass(frozen=True, slots=True)
class RunningBatch:
    """A batch of a streaming query. `run` changes with each start of the query, and is None after it has ended."""

    query: str
    run: str | None
    number: int


def running_batch(spark: SparkSession) -> RunningBatch | None:
    """Returns the batch whose function calls this, or None outside of streaming queries."""
    context = spark.sparkContext
    query, number = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
    if query and number:
        execution = _executions(spark).get(_jvm(spark).java.util.UUID.fromString(query))
        return RunningBatch(query, None if execution is None else str(execution.runId()), int(number))
    return _batch_of_session(spark) if versions.BATCHES_HAVE_SESSIONS else None


def _batch_of_session(spark: SparkSession) -> RunningBatch | None:
    """Returns the batch of a function of a Spark Connect client, whose statements run in other threads."""
    running = _executions(spark)
    if running.isEmpty():  # an empty iterator would cost dozens of calls (see `to_python`)
        return None
    for execution in running.values():
        if execution.sparkSessionForStream().equals(spark._jsparkSession):  # noqa: SLF001 - PySpark has no public API for it
            number = int(execution.getLatestExecutionContext().batchId())
            return RunningBatch(str(execution.id()), str(execution.runId()), number)
    return None


def _executions(spark: SparkSession) -> Any:
    """Returns the running queries by id.

    They come from the state that all sessions share: a batch has its own session, which knows no queries. The job group
    is initially the id of the run, but users may change it.
    """
    return spark._jsparkSession.sharedState().activeStreamingQueries()  # noqa: SLF001 - PySpark has no public API for it


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001 - PySpark has no public API for it
