"""What has been said of a streaming query before it starts, and which of its runs is on: Spark keeps it to itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_client.jvm.plans import elements


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


def run_of(spark: SparkSession, query: str) -> str | None:
    """Returns the id of the run of a streaming query; None where it does not run.

    Asked of what all sessions share: a batch has a session of its own, which knows no queries. And the job group, which
    is this id when a batch begins, is the user's to set.
    """
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no name for it
    shared = spark._jsparkSession.sharedState()  # noqa: SLF001 - as above
    execution = shared.activeStreamingQueries().get(java.java.util.UUID.fromString(query))
    return None if execution is None else str(execution.runId())
