"""Answers the JVM's requests about reading: the directories of a scan, and checks before other readers and LOAD DATA.

A scan is one call to the metastore, `plan_scan`. It takes two more if some filters on partition columns cannot be
written as a predicate (functions, casts of texts):

1. `scan_values` returns the values of these partition columns, reduced by the filters that can be written.
2. Spark evaluates its filters on the values (SparkEvaluatedFilters.java) and asks again with one list of values per
   column: those that can match, or those that cannot. `plan_scan` takes the lists as TEXT_IN and NOT TEXT_IN.

Partitions may be added between the two calls. `scan_values` therefore returns the state of the partition list, and
`plan_scan` rejects another state. The scan then asks once more without a state: it excludes only values that Spark has
seen and that cannot match, so new partitions are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from metastore.client import MetastoreClient
from metastore.client.structs import ScanPartition, ScanPlan, ScanStorage
from metastore.domain.expression import FALSE, Expression, has_unknown
from spark_client.errors import InvalidStatementError, UnreadableTableError, ValuesChangedError
from spark_client.jvm import Handlers
from spark_client.jvm.requests import CheckLoadData, MetastoreProbe
from spark_client.jvm.scan_messages import (
    CheckRead,
    CheckSparkReader,
    ChooseBucketFiles,
    EvaluationRequest,
    PartitionBuckets,
    PushedFilter,
    Scan,
    ScanAnswer,
    ScannedPartition,
    SparkEvaluatedFilters,
)
from spark_client.scan.buckets import choose_files, partition_buckets, table_buckets
from spark_client.scan.predicate import conjunction, parse_filters, values_predicate

_NATIVE_FORMATS = ("parquet", "orc")


class Planner:
    """Plans scans with a metastore."""

    def __init__(self, metastore: MetastoreClient) -> None:
        self._metastore = metastore

    def handlers(self) -> Handlers:
        """Returns the handlers of the requests about reading."""
        return {
            Scan: lambda request, _: self.scan(request),
            ChooseBucketFiles: lambda request, _: choose_files(request),
            CheckRead: lambda request, _: self.check_read(request),
            CheckSparkReader: lambda request, _: self.check_spark_reader(request),
            CheckLoadData: lambda request, _: self.check_load(request),
            MetastoreProbe: lambda _, __: self._metastore.check_reachable(),
        }

    def scan(self, request: Scan) -> ScanAnswer | EvaluationRequest:
        """Returns the directories of each partition that can hold rows for which all filters are true.

        If some filters can only be evaluated by Spark, it returns the values on which Spark evaluates them. Spark then
        repeats the request with its `pushed_filters` and the `state` of that answer.
        """
        filters = parse_filters(request.filters, request.char_columns)
        if request.pushed_filters is None and _spark_filters(filters, request.columns):
            return self._values(request, filters)
        predicate = conjunction([*filters, *map(_values_predicate, request.pushed_filters or ())])
        try:
            plan = self._metastore.plan_scan(
                request.database, request.table, predicate, state=request.state, is_query=request.is_query
            )
        except ValuesChangedError:
            return self._values(request, filters, fixed=False)
        name, buckets = f"{request.database}.{request.table}", plan.buckets if request.bucketed else None
        _check_formats(name, request.serde, plan)
        return ScanAnswer(
            [
                _scanned_partition(partition, partition_buckets(name, buckets, request.keys, partition, plan.storages))
                for partition in _in_order(name, request.keys, plan)
            ],
            pruned=[storage.pruned_files for storage in plan.storages],
            writes=plan.writes,
            buckets=None if buckets is None else table_buckets(buckets),
        )

    def _values(self, request: Scan, filters: Sequence[Expression], *, fixed: bool = True) -> EvaluationRequest:
        """Returns the values on which Spark evaluates its filters.

        `fixed`: the values are valid for one state of the partition list, so Spark may conclude which values to
        include. Otherwise there is no state, and Spark may only conclude which values to exclude.
        """
        groups = _spark_filters(filters, request.columns)
        values = [
            self._metastore.scan_values(request.database, request.table, columns, conjunction(filters))
            for columns in groups
        ]
        evaluate = [
            SparkEvaluatedFilters(columns, positions, "\0".join([*group_values.texts, ""]))
            for (columns, positions), group_values in zip(groups.items(), values, strict=True)
        ]
        # The state of the first call: a change before any of the later calls must be noticed as well.
        return EvaluationRequest(evaluate, values[0].state if fixed else None)

    def check_read(self, request: CheckRead) -> None:
        """Plans a scan of no rows, for which the metastore requires the right to read the table."""
        self._metastore.plan_scan(request.database, request.table, FALSE)

    def check_spark_reader(self, request: CheckSparkReader) -> None:
        """Raises UnreadableTableError if Spark's own reader would miss skew directories of a table.

        Tables in formats other than Parquet and ORC are left to that reader, which does not look into sub-directories.
        """
        for partition in self._metastore.plan_scan(request.database, request.table).partitions:
            if any(directory.location != partition.location for directory in partition.directories):
                name = _partition_name(f"{request.database}.{request.table}", partition)
                raise UnreadableTableError(
                    f"{name} has skew directories in the format of {request.serde}. Skew directories can be read only "
                    "in Parquet and ORC: copy the table with Hive into a table STORED AS PARQUET"
                )

    def check_load(self, request: CheckLoadData) -> None:
        """Raises InvalidStatementError for LOAD DATA into a table with skew directories or buckets, as Hive does.

        LOAD DATA moves files without reading rows, so it cannot put rows into the right directory or bucket.
        """
        table = self._metastore.get_table(request.database, request.table)
        if table.skew.directories:
            raise InvalidStatementError(
                "[Error 10195]: A stored-as-directories table cannot be used as target for LOAD; "
                f"INSERT INTO {table.full_name} instead"
            )
        if table.buckets.count and request.strict.strip().lower() == "true":
            raise InvalidStatementError(
                "Load into bucketed tables are disabled for safety reasons. If you know what you are doing, please set "
                f"hive.strict.checks.bucketing to false to proceed; or INSERT INTO {table.full_name} instead"
            )


def _spark_filters(
    filters: Sequence[Expression], columns: Sequence[Sequence[str]]
) -> Mapping[tuple[str, ...], list[int]]:
    """Groups the filters that the metastore cannot evaluate completely: partition columns to positions of filters.

    `columns` are the partition columns of the first filters. The remaining filters also use other columns, or none.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, (predicate, names) in enumerate(zip(filters, columns, strict=False)):
        if names and has_unknown(predicate):
            groups.setdefault(tuple(sorted(names)), []).append(position)
    return groups


def _values_predicate(pushed: PushedFilter) -> Expression:
    return values_predicate(pushed.column, pushed.values, include=pushed.include)


def _in_order(table: str, keys: Sequence[str], plan: ScanPlan) -> Iterable[ScanPartition]:
    """Returns the partitions with their values in the order of the query's partition columns: a DataFrame or view may
    be older than the table. Raises UnreadableTableError if the table has other partition columns by now.
    """
    wanted, present = [key.lower() for key in keys], [key.lower() for key in (keys if plan.keys is None else plan.keys)]
    if wanted == present:
        return plan.partitions
    if sorted(wanted) != sorted(present):
        said = f"partitioned by {', '.join(present)}" if present else "not partitioned"
        raise UnreadableTableError(f"{table} was replaced after this query was analyzed, and is {said}: read it again")
    order = [present.index(key) for key in wanted]
    return (
        replace(partition, values=tuple(partition.values[position] for position in order))
        for partition in plan.partitions
    )


def _scanned_partition(partition: ScanPartition, buckets: PartitionBuckets | None) -> ScannedPartition:
    directories = [directory.location for directory in partition.directories]
    outside = None if partition.location in directories else partition.location
    return ScannedPartition(partition.values, directories, outside, partition.unplaced, partition.storage, buckets)


def _check_formats(table: str, serde: str | None, plan: ScanPlan) -> None:
    """Raises UnreadableTableError for a partition in another format than its table: one reader reads a whole scan.

    `serde` is None for datasource tables: their format is recorded by Spark, and the metastore's is only for Hive.
    """
    if serde is None:
        return
    other = {index: storage for index, storage in enumerate(plan.storages) if _format(storage.serde) != _format(serde)}
    for partition in _stored_as(other, plan.partitions):
        raise UnreadableTableError(
            f"{_partition_name(table, partition)} is stored with {other[partition.storage or 0].serde}, its table with "
            f"{serde}; rewrite the partition with INSERT OVERWRITE, or exclude it with a filter"
        )


def _stored_as(storages: Mapping[int, ScanStorage], partitions: Iterable[ScanPartition]) -> Iterable[ScanPartition]:
    return (partition for partition in partitions if partition.storage in storages) if storages else ()


def _format(serde: str) -> str:
    """Returns the format in which Spark reads the serde's files (HiveMetastoreCatalog.isConvertible), or the serde."""
    return next((name for name in _NATIVE_FORMATS if name in serde.lower()), serde)


def _partition_name(table: str, partition: ScanPartition) -> str:
    return f"partition {list(partition.values)} of {table}" if partition.values else table
