"""Reports what a query reads of Hive tables, compared with the whole tables, without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession

from spark_client import notebook
from spark_client.context import is_remote, require
from spark_client.errors import SessionError
from spark_client.jvm.plans import kind, nodes_and_subqueries, query_execution
from spark_client.scan.lineage import DependentScan, dependent_scans, listed
from spark_client.scan.purpose import no_query

_INDEX = "spark_client.core.HiveTableIndex"
_BY_BUCKET = "spark_client.joins.BucketPartitioning"
_COUNTS = ("partitions", "directories", "files", "bytes", "buckets")
_SHOWN = ("partitions", "directories", "files")
_NOTHING = "the query reads no table of the metastore"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class ScanStatistics:
    """The amount of data of a scan. Empty or missing directories and buckets are counted, too."""

    partitions: int
    directories: int
    files: int
    bytes: int
    buckets: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class TableScan:
    """One scan of a table: what it reads (`kept`), and what a scan of the whole table would read (`total`)."""

    table: str
    kept: ScanStatistics
    total: ScanStatistics

    def __str__(self) -> str:
        """Returns one line."""
        names = ("partitions", "directories", *(("buckets",) if self.total.buckets else ()), "files")
        parts = [f"{self.of_total(name)} {name}" for name in names]
        return f"{self.table}: {', '.join(parts)}, {self.of_total('bytes')}"

    def __repr__(self) -> str:
        return f"<TableScan: {self}>"

    def of_total(self, name: str) -> str:
        """Returns a figure of the scan, and of the whole table: 1 of 12."""
        show = readable_size if name == "bytes" else "{:,}".format
        return " of ".join(show(getattr(extent, name)) for extent in (self.kept, self.total))


@dataclass(frozen=True, slots=True, repr=False)
class ScanReport:
    """The scans of Parquet and ORC tables in a query, in the order of its plan. A table that is read twice has two
    scans.

    `dependents` are the dependent tables of the query, with base tables of any format.
    """

    scans: tuple[TableScan, ...]
    dependents: tuple[DependentScan, ...] = ()

    def __str__(self) -> str:
        """Returns a line for each scan, then a line for each dependent table and each of its base tables."""
        return "\n".join(map(str, (*self.scans, *self.dependents))) or _NOTHING

    def __repr__(self) -> str:
        return f"<ScanReport: {'; '.join(map(str, self.scans)) or _NOTHING}>"

    def _repr_html_(self) -> str:
        """Returns a table for a notebook."""
        if not self.scans and not self.dependents:
            return f"<p>{_NOTHING[0].upper()}{_NOTHING[1:]}.</p>"
        header = ("table", *_SHOWN, "size")
        rows = [(scan.table, *map(scan.of_total, (*_SHOWN, "bytes"))) for scan in self.scans]
        parts = [notebook.table("What the query reads, of what its tables have", header, rows)] if rows else []
        bases = [(each.table, base, listed(names)) for each in self.dependents for base, names in each.bases]
        if bases:
            parts.append(notebook.table("Dependent tables", ("table", "reads", "partitions"), bases))
        return "".join(parts)


# The columns of a TableScan as a row.
SCAN_COLUMNS = ", ".join(["table string", *(f"{name} bigint, all_{name} bigint" for name in _COUNTS)])


def scan_row(scan: TableScan) -> tuple[object, ...]:
    """Returns a scan as a row of SCAN_COLUMNS."""
    counts = [(getattr(scan.kept, name), getattr(scan.total, name)) for name in _COUNTS]
    return (scan.table, *(count for pair in counts for count in pair))


def scan_report(df: DataFrame) -> ScanReport:
    """Plans the query and lists the files that it would read, and all files of its tables. Runs nothing.

    Dynamic partition pruning depends on data that is known only when the query runs, so its partitions count as read. A
    cached DataFrame reads nothing. A client of Spark Connect asks its server and gets no dependent tables.

    Raises the errors of planning the query, and SessionError if that server does not run this library.
    """
    require(df, DataFrame, "scan_report", "a DataFrame", "scan_report(spark.sql('SELECT …'))")
    if is_remote(df):
        return _ask_server(df)
    return report_of(df.sparkSession, query_execution(df))


def report_of(spark: SparkSession, execution: Any) -> ScanReport:
    """Returns the report of a Spark QueryExecution. See `scan_report`."""
    with no_query(spark):
        nodes = [_file_scan(node) for node in nodes_and_subqueries(execution.executedPlan())]
        scans = tuple(_scan(node) for node in nodes if _reads_hive_table(node))
        return ScanReport(scans, dependent_scans(spark, execution.analyzed(), nodes))


def _ask_server(df: DataFrame) -> ScanReport:
    name = f"scan_report_{uuid4().hex}"
    df.createTempView(name)
    try:
        rows = df.sparkSession.sql(f"SHOW SCANS OF SELECT * FROM {name}").collect()  # noqa: S608 - the name is our own
    except ParseException:
        raise SessionError(
            "scan_report asks the Spark Connect server, which does not run spark_client. Start a server with "
            "`metastore spark serve --connect 15002`"
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


def _file_scan(node: Any) -> Any:
    """Returns the file scan behind rows that are read by bucket, and any other node as it is."""
    if kind(node) != "RDDScanExec" or node.outputPartitioning().getClass().getName() != _BY_BUCKET:
        return node
    return node.outputPartitioning().scan()


def _reads_hive_table(node: Any) -> bool:
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
    """Returns a size in the largest unit that gives at least 1, such as `1.5 MiB`."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{size:,} B" if not unit else f"{value:,.1f} {_UNITS[unit]}"
