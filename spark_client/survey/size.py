"""The size of a table, from which the savings of directories follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import SparkSession

from spark_client.scan.report import scan_report
from spark_client.survey.suggestion import HeavyValue, SkewSuggestion

SMALLEST_DIRECTORY: Final = 2**20
"""Bytes of a value in an average partition from which a directory is suggested: below, directories cost more in small
files than they save in reads."""


@dataclass(frozen=True, slots=True)
class TableSize:
    """The bytes and partitions of a table. A table without partitions counts as one."""

    bytes: int
    partitions: int

    def saved(self, value: HeavyValue) -> int:
        """Returns the bytes that a query for a value, of all partitions, no longer reads, if rows are equally large."""
        return round(self.bytes * value.pruned)

    def suggested(self, suggestion: SkewSuggestion) -> SkewSuggestion:
        """Returns the suggestion without values that are too small for a directory."""
        average = self.bytes / max(1, self.partitions)
        kept = tuple(value for value in suggestion.values if value.share * average >= SMALLEST_DIRECTORY)
        return replace(suggestion, values=kept)


def table_size(spark: SparkSession, name: str) -> TableSize | None:
    """Returns the size of a table of the metastore; None for a view, and for a table that Spark's own reader reads."""
    scans = scan_report(spark.table(name)).scans
    return TableSize(scans[0].total.bytes, scans[0].total.partitions) if len(scans) == 1 else None
