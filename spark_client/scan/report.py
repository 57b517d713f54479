"""What a query reads of Hive tables: kept of total, without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession

from spark_client.context import is_remote
from spark_client.errors import SessionError
from spark_client.jvm.plans import kind, nodes_and_subqueries, query_execution
from spark_client.scan.lineage import DependentScan, dependent_scans

_INDEX = "spark_client.core.HiveTableIndex"
_BY_BUCKET = "spark_client.joins.BucketPartitioning"
_COUNTS = ("partitions", "directories", "files", "bytes", "buckets")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class ScanStatistics:
    """How much there is to read. `directories` that do not exist, or are empty, count; so do buckets."""

    partitions: int
    directories: int
    files: int
    bytes: int
    buckets: int = 0


@dataclass(frozen=True, slots=True)
class TableScan:
    """One scan of a table: what is read, and what a scan of the whole table would read."""

    table: str
    kept: ScanStatistics
    total: ScanStatistics

    def __str__(self) -> str:
        """Returns one line."""
        names = ("partitions", "directories", *(("buckets",) if self.total.buckets else ()), "files")
        parts = [f"{self._of_total(name)} {name}" for name in names]
        return f"{self.table}: {', '.join(parts)}, {self._of_total('bytes')}"

    def _of_total(self, name: str) -> str:
        show = readable_size if name == "bytes" else "{:,}".format
        return " of ".join(show(getattr(extent, name)) for extent in (self.kept, self.total))


@dataclass(frozen=True, slots=True)
class ScanReport:
    """All scans of tables of Parquet and ORC in a query, in the order of its plan; a table read twice is there twice.

    `dependents`: what is read through dependent tables, whatever their bases are.
    """

    scans: tuple[TableScan, ...]
    dependents: tuple[DependentScan, ...] = ()

    def __str__(self) -> str:
        """Returns a line for each scan; for each dependent table its partitions, and a line for each of its bases."""
        return "\n".join(map(str, (*self.scans, *self.dependents))) or "no table of the metastore is read"


# Of a TableScan as a row.
SCAN_COLUMNS = ", ".join(["table string", *(f"{name} bigint, all_{name} bigint" for name in _COUNTS)])


def scan_row(scan: TableScan) -> tuple[object, ...]:
    """Returns the values of these columns."""
    counts = [(getattr(scan.kept, name), getattr(scan.total, name)) for name in _COUNTS]
    return (scan.table, *(count for pair in counts for count in pair))


def scan_report(df: DataFrame) -> ScanReport:
    """Plans the query and lists the files it would read, and those of the whole tables; runs nothing of it.

    What depends on the data (dynamic partition pruning) is not known before the query runs, and counts as read;
    of a cached DataFrame nothing is read. A client of Spark Connect asks its server, and hears of the scans alone.
    Raises what planning the query raises, and SessionError where that server is not one of ours.
    """
    if is_remote(df):
        return _asked(df)
    return report_of(df.sparkSession, query_execution(df))


def report_of(spark: SparkSession, execution: Any) -> ScanReport:
    """Returns the report of Spark's QueryExecution, as `scan_report`."""
    nodes = [_in_any_order(node) for node in nodes_and_subqueries(execution.executedPlan())]
    scans = tuple(_scan(node) for node in nodes if _reads_ours(node))
    return ScanReport(scans, dependent_scans(spark, execution.analyzed(), nodes))


def _asked(df: DataFrame) -> ScanReport:
    name = f"scan_report_{uuid4().hex}"
    df.createTempView(name)
    try:
        rows = df.sparkSession.sql(f"SHOW SCANS OF SELECT * FROM {name}").collect()  # noqa: S608 - our own name
    except ParseException:
        raise SessionError(
            "scan_report asks the server of Spark Connect, and this one does not know this library: "
            "`metastore spark serve --connect 15002` starts one that does"
        ) from None
    finally:
        df.sparkSession.catalog.dropTempView(name)
    return ScanReport(
        tuple(
            TableScan(
                row.table, *(ScanStatistics(**{count: row[of + count] for count in _COUNTS}) for of in ("", "all_"))
            )
            for row in rows
        )
    )


def _in_any_order(node: Any) -> Any:
    """Returns, of rows that are read by bucket, the scan behind them; any other node itself."""
    if kind(node) != "RDDScanExec" or node.outputPartitioning().getClass().getName() != _BY_BUCKET:
        return node
    return node.outputPartitioning().scan()


def _reads_ours(node: Any) -> bool:
    return kind(node) == "FileSourceScanExec" and node.relation().location().getClass().getName() == _INDEX


def _scan(node: Any) -> TableScan:
    index = node.relation().location()
    return TableScan(
        table=str(index.name()),
        kept=_statistics(index.measure(node.partitionFilters(), node.dataFilters())),
        total=_statistics(index.measureAll()),
    )


def _statistics(measured: Mapping[str, int]) -> ScanStatistics:
    return ScanStatistics(**{name: int(measured[name]) for name in _COUNTS})


def readable_size(size: int) -> str:
    """Bytes in the largest unit that leaves a number of at least 1: `1.5 MiB`."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{size:,} B" if not unit else f"{value:,.1f} {_UNITS[unit]}"
