"""Basic statistics of partitions: files, bytes and rows, for those whose statistics nobody knows to be accurate. Then
statistics of columns (`care_columns`).

Rows of Parquet and ORC files come from their footers, those of other formats from a query. Statistics are stored only
if the partition has not changed since its files were listed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from metastore.client import convert
from metastore.client.care_record import recorded
from metastore.client.errors import ClientError, MetastoreUnavailableError
from metastore.client.lease import Lease, leased
from metastore.client.structs import Table, VisibleWrites
from metastore.domain.care_plan import STATISTICS
from metastore.domain.column_statistics import ANALYZED, NOT_UPDATED, restated
from spark_client.care_columns import count_columns, groups
from spark_client.context import Context
from spark_client.errors import first_line
from spark_client.jvm.catalog import refresh
from spark_client.jvm.files import FILE_ERRORS, Files
from spark_client.jvm.sql_text import quote
from spark_client.scan.predicate import partition_predicate
from spark_client.scan.purpose import no_query
from spark_client.table.datasource_tables import with_spark_schema
from spark_client.write.partition_rows import in_partitions, partition_columns
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext
from thrift_idl.gen.metastore.ttypes import CarePartition, CarePartitionsRequest

FROM_FOOTERS: Final = "counted from footers"
BY_A_SCAN: Final = "counted by a query"
_PAGE: Final = 1000  # partitions of a call
_AT_ONCE: Final = 8  # partitions that are counted at the same time
_FORMATS: Final = ("parquet", "orc")


@dataclass(frozen=True, slots=True)
class Counted:
    """The statistics of a partition, or of a table without partitions, whose `partition` is empty.

    `outcome`: FROM_FOOTERS, BY_A_SCAN, `care_columns.BY_A_QUERY`, or why the partition was left as it is. `files`,
    `bytes` and `rows`: None unless they were counted.
    """

    partition: str
    files: int | None
    bytes: int | None
    rows: int | None
    outcome: str


def refresh_statistics(context: Context, name: str, deadline: float | None = None) -> Iterator[Counted]:
    """Counts the partitions of `database.table` without accurate statistics, and yields them. Then counts the columns
    whose stored statistics are outdated, and yields their partitions: a partition may occur twice.

    `deadline` (`time.monotonic`): no further partitions are counted afterwards. This program holds the lease of the
    table meanwhile.

    Raises NoSuchTableError, LeaseHeldError if another program cares for the table, and MetastoreRefusedError if its
    policies or its format do not allow it.
    """
    database, _, table_name = name.rpartition(".")
    table = with_spark_schema(context.metastore.get_table(database, table_name))
    done = _refresh(context, table, deadline)
    yield from recorded(context.metastore.methods, table.database, table.name, STATISTICS, done)


def _refresh(context: Context, table: Table, deadline: float | None) -> Iterator[Counted]:
    with leased(context.metastore.methods, table.database, table.name, STATISTICS) as lease:
        counting, columns_begin = _Counting(context, table), None
        for page in _pages(context, table, lease, "", deadline):
            yield from counting.count([one for one in page if not one.isCounted], deadline)
            if columns_begin is None:
                columns_begin = next((one.name for one in page if one.columns), None)
        if columns_begin is None:
            return
        # Listed again: partitions that were counted have another version now. The first one is listed, too.
        before = columns_begin[:-1] if table.partition_columns else ""
        for page in _pages(context, table, lease, before, deadline):
            for group in groups([one for one in page if one.columns]):
                if deadline is not None and time.monotonic() >= deadline:
                    return
                lease.check()
                for one, outcome in count_columns(context, table, group):
                    yield Counted(_name(table, one), None, None, None, outcome)


def _pages(
    context: Context, table: Table, lease: Lease, after: str, deadline: float | None
) -> Iterator[list[CarePartition]]:
    """Yields the partitions to count after a name, until the deadline."""
    while deadline is None or time.monotonic() < deadline:
        lease.check()
        request = CarePartitionsRequest(table.database, table.name, kind=STATISTICS, after=after, limit=_PAGE)
        page = context.metastore.methods.get_care_partitions(request)
        yield page
        if len(page) < _PAGE:
            return
        after = page[-1].name


def _name(table: Table, one: CarePartition) -> str:
    return str(one.name) if table.partition_columns else ""


class _Counting:
    """Counts partitions of a table. Several threads use it."""

    def __init__(self, context: Context, table: Table) -> None:
        self._context, self._table = context, table
        self._methods: Any = context.metastore.methods
        self._files = Files(context.spark)

    def count(self, page: Sequence[CarePartition], deadline: float | None) -> Iterator[Counted]:
        """Counts partitions until the deadline, and yields them."""
        if not page:
            return
        writes = self._writes(page[0])
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="statistics") as threads:
            for start in range(0, len(page), _AT_ONCE):
                if deadline is not None and time.monotonic() >= deadline:
                    return
                yield from threads.map(lambda one: self._counted(one, writes), page[start : start + _AT_ONCE])

    def _writes(self, one: CarePartition) -> VisibleWrites:
        """Returns which writes a reader sees. A later one changes the version of the partition."""
        keys = [column.name for column in self._table.partition_columns]
        predicate = partition_predicate(dict(zip(keys, one.values, strict=True))) if keys else None
        plan = self._context.metastore.plan_scan(self._table.database, self._table.name, predicate, is_query=False)
        return plan.writes

    def _counted(self, one: CarePartition, writes: VisibleWrites) -> Counted:
        name = _name(self._table, one)
        try:
            return self._count(one, name, writes)
        except MetastoreUnavailableError:
            raise
        except ClientError as error:  # another writer has changed it, for example
            return Counted(name, None, None, None, f"skipped: {first_line(error)}")
        except FILE_ERRORS as error:
            text = first_line(error)
            missing = "FileNotFoundException" in str(error)
            return Counted(name, None, None, None, f"skipped: {text}" if missing else f"failed: {text}")

    def _count(self, one: CarePartition, name: str, writes: VisibleWrites) -> Counted:
        raw = self._read(one)
        storage = convert.storage_of(raw.sd)
        kind = f"{storage.input_format} {storage.serde}".lower()
        format_ = next((known for known in _FORMATS if known in kind), "other")
        listed = self._files.rows(raw.sd.location, format_)
        seen = [each for each in listed if not writes.hides(each[0].rpartition("/")[2])]
        files, size = len(seen), sum(each[1] for each in seen)
        by_footers = format_ != "other" and self._holds_all(raw)
        rows = sum(each[2] for each in seen) if by_footers else self._count_rows(one)
        self._store(one, raw, {"numFiles": files, "totalSize": size, "numRows": rows})
        return Counted(name, files, size, rows, FROM_FOOTERS if by_footers else BY_A_SCAN)

    def _read(self, one: CarePartition) -> Any:
        if not self._table.partition_columns:
            return self._methods.get_table(self._table.database, self._table.name)
        return self._methods.get_partition(self._table.database, self._table.name, list(one.values))

    def _holds_all(self, raw: Any) -> bool:
        """Returns whether all files of a partition are below its directory."""
        places = (raw.sd.skewedInfo and raw.sd.skewedInfo.skewedColValueLocationMaps) or {}
        return all(place.startswith(f"{raw.sd.location.rstrip('/')}/") for place in places.values())

    def _count_rows(self, one: CarePartition) -> int:
        refresh(self._context.spark, self._table.database, self._table.name)  # the session may have cached rows
        rows = self._context.spark.table(f"{quote(self._table.database)}.{quote(self._table.name)}")
        if columns := partition_columns(self._table):
            rows = rows.where(in_partitions(self._table, columns, [tuple(one.values)]))
        with no_query(self._context.spark):
            return rows.count()

    def _store(self, one: CarePartition, raw: Any, counts: dict[str, int]) -> None:
        """Stores statistics, if the partition still has the version that it had before its files were listed."""
        texts = {key: str(value) for key, value in counts.items()}
        # Spark's own, of ANALYZE, which it plans with.
        of_spark = {f"{ANALYZED}{key}": texts[key] for key in ("numRows", "totalSize")}
        known = {key: value for key, value in of_spark.items() if key in raw.parameters}
        raw.parameters = restated(raw.parameters | texts | known, {"STATS_GENERATED": "TASK"})
        properties = {
            "expected_version": str(one.version),
            NOT_UPDATED: "true",  # the server does not count again
            "alterTableOpType": "UPDATESTATS",
        }
        change = EnvironmentContext(properties)
        names = (self._table.database, self._table.name)
        if self._table.partition_columns:
            self._methods.alter_partition_with_environment_context(*names, raw, change)
        else:
            self._methods.alter_table_with_environment_context(*names, raw, change)
