"""Settings of a streaming query before it starts, and the current batch of a running query. Spark hides both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_client.jvm import sessions
from spark_client.jvm.objects import java_class
from spark_client.jvm.plans import elements


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
    """Returns the batch whose function calls this, or None outside of streaming queries (SessionFacts.java)."""
    text = sessions.facts(spark).batch(spark._jsparkSession)  # noqa: SLF001 - PySpark has no public API for it
    if not text:
        return None
    query, number, run = str(text).split("\0")
    return RunningBatch(query, run or None, int(number))


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001 - PySpark has no public API for it
