"""Handles the requests of the JVM's side: which directories hold what a query can match, in one call each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metastore.client import MetastoreClient
from metastore.client.structs import ScanPartition, ScanPlan, ScanStorage
from spark_client.errors import InvalidStatementError, UnreadableTableError, ValuesChangedError
from spark_client.jvm import Handlers
from spark_client.jvm.requests import (
    CheckLoadData,
    CheckSparkReader,
    ChooseBucketFiles,
    EvaluationRequest,
    MetastoreProbe,
    PartitionBuckets,
    PushedFilter,
    Scan,
    ScanAnswer,
    ScannedPartition,
    SparkEvaluatedFilters,
)
from spark_client.scan.buckets import bucketing, chosen_files, declaration
from spark_client.scan.predicate import Term, conjunction, terms, texts_in, texts_not_in

_NATIVE = ("parquet", "orc")


class Planner:
    """Plans scans with a metastore."""

    def __init__(self, metastore: MetastoreClient) -> None:
        self._metastore = metastore

    def handlers(self) -> Handlers:
        """Returns them by the kinds of requests about reading."""
        return {
            Scan: lambda request, _: self.scan(request),
            ChooseBucketFiles: lambda request, _: chosen_files(request),
            CheckSparkReader: lambda request, _: self.check_plain(request),
            CheckLoadData: lambda request, _: self.check_load(request),
            MetastoreProbe: lambda _, __: self._metastore.check_reachable(),
        }

    def scan(self, request: Scan) -> ScanAnswer | EvaluationRequest:
        """Returns the directories of each partition that may hold rows for which all filters are true.

        Or values of partition columns, for filters that only Spark can judge. It asks again with what it has `judged`
        and the state of that answer.
        """
        known = terms(request.filters, request.padded)
        if request.judged is None and _engine_evaluated(known, request.columns):
            return self._values(request, known)
        predicate = conjunction([*known, *(_term(judged) for judged in request.judged or ())])
        try:
            plan = self._metastore.plan_scan(request.database, request.table, predicate, state=request.state)
        except ValuesChangedError:
            return self._values(request, known, at_rest=False)
        name, buckets = f"{request.database}.{request.table}", plan.buckets if request.bucketed else None
        _check_formats(name, request.serde, plan)
        return ScanAnswer(
            [
                _readable(partition, bucketing(name, buckets, request.keys, partition, plan.storages))
                for partition in plan.partitions
            ],
            pruned=[storage.pruned_files for storage in plan.storages],
            writes=plan.writes,
            buckets=None if buckets is None else declaration(buckets),
        )

    def _values(self, request: Scan, known: Sequence[Term], *, at_rest: bool = True) -> EvaluationRequest:
        """Returns the values that Spark is to judge.

        `at_rest`: as long as partitions neither come nor go, the values are all that there are; else there is no
        `state`, and what Spark judges must be true of values that it has not seen, too.
        """
        groups = _engine_evaluated(known, request.columns)
        found = [
            self._metastore.scan_values(request.database, request.table, columns, conjunction(known))
            for columns in groups
        ]
        evaluated = [
            SparkEvaluatedFilters(columns, filters, "\0".join([*values.texts, ""]))
            for (columns, filters), values in zip(groups.items(), found, strict=True)
        ]
        # The first one's: whatever was read behind it must not have changed either.
        return EvaluationRequest(evaluated, found[0].state if at_rest else None)

    def check_plain(self, request: CheckSparkReader) -> None:
        """Refuses a table in a format that is left to Spark's own reader, if that would miss directories of it."""
        for partition in self._metastore.plan_scan(request.database, request.table).partitions:
            if any(directory.location != partition.location for directory in partition.directories):
                name = _name(f"{request.database}.{request.table}", partition)
                raise UnreadableTableError(
                    f"{name} has skew directories that are written with {request.serde}; only Parquet and ORC can "
                    "be read from such directories: copy it with Hive into a table STORED AS PARQUET"
                )

    def check_load(self, request: CheckLoadData) -> None:
        """Refuses LOAD DATA, whose files would lie beside the skew directories, or in no bucket."""
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


def _engine_evaluated(known: Sequence[Term], columns: Sequence[Sequence[str]]) -> Mapping[tuple[str, ...], list[int]]:
    """By the partition columns that they speak of, the filters that the metastore is not told whole: their positions.

    `columns` are those of the first filters; the others speak of more than partition columns, or of none.
    """
    found: dict[tuple[str, ...], list[int]] = {}
    for position, (term, names) in enumerate(zip(known, columns, strict=False)):
        if names and not term.is_whole:
            found.setdefault(tuple(sorted(names)), []).append(position)
    return found


def _term(judged: PushedFilter) -> Term:
    return (texts_in if judged.kept else texts_not_in)(judged.column, judged.texts)


def _readable(partition: ScanPartition, buckets: PartitionBuckets | None) -> ScannedPartition:
    directories = [directory.location for directory in partition.directories]
    outside = None if partition.location in directories else partition.location
    return ScannedPartition(partition.values, directories, outside, partition.unplaced, partition.storage, buckets)


def _check_formats(table: str, serde: str | None, plan: ScanPlan) -> None:
    """Refuses several formats: one reader reads all files of a scan, so all partitions must be of the table's.

    Of tables of Spark's own kind, Spark says it: what the metastore has of them is for Hive alone.
    """
    if serde is None:
        return
    wrong = {index: storage for index, storage in enumerate(plan.storages) if _format(storage.serde) != _format(serde)}
    for partition in _stored_as(wrong, plan.partitions):
        raise UnreadableTableError(
            f"{_name(table, partition)} is stored with {wrong[partition.storage or 0].serde}, its table with {serde}; "
            "write it anew with INSERT OVERWRITE, or leave it out of the query"
        )


def _stored_as(storages: Mapping[int, ScanStorage], partitions: Iterable[ScanPartition]) -> Iterable[ScanPartition]:
    return (partition for partition in partitions if partition.storage in storages) if storages else ()


def _format(serde: str) -> str:
    """Returns the format that Spark reads it as (HiveMetastoreCatalog.isConvertible)."""
    return next((name for name in _NATIVE if name in serde.lower()), serde)


def _name(table: str, partition: ScanPartition) -> str:
    return f"partition {list(partition.values)} of {table}" if partition.values else table
