"""Table care in a session: advice on layouts, discovery of partitions, and compaction by the policies of a table.

Compaction merges the small files of partitions that nobody writes to.

Rows are read and written as by an INSERT OVERWRITE of exactly these partitions, so that skew directories, buckets,
codecs and other properties are those of the table. The partitions of a group are published together. One that another
writer changes meanwhile is left as it is. What was replaced can be undropped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.care_record import recorded
from metastore.client.discovery import Discovered
from metastore.client.discovery import discover as discover_partitions
from metastore.client.lease import Lease, leased
from metastore.client.structs import Table
from metastore.domain.care_plan import COMPACTION
from metastore.domain.discovery import Folder, ListFolders
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.care_undeclared import undeclared_columns
from spark_client.context import Context, check_kind, context_of, reject_remote, require
from spark_client.errors import (
    InvalidInsertError,
    InvalidStatementError,
    PublishConflictError,
    WriteFailedError,
    first_line,
)
from spark_client.jvm.catalog import refresh
from spark_client.jvm.files import Files
from spark_client.jvm.sql_text import quote
from spark_client.scan.purpose import no_query
from spark_client.survey.advice import LayoutAdvice, advise_table
from spark_client.write.insert import Insert, insert_all
from spark_client.write.partition_rows import check_names, in_partitions, partition_columns, typed
from spark_client.write.run_events import Statement, run_events
from spark_client.write.snapshot import Values, take_snapshot, with_files
from spark_client.write.writable import writable_table
from thrift_idl.gen.metastore.ttypes import CarePartition, CarePartitionsRequest

COMPACTED: Final = "compacted"
WOULD_BE_COMPACTED: Final = "would be compacted"
CHANGED: Final = "skipped: another writer changed it"
HELD: Final = "skipped: partitions of dependent tables rest on it"
_PAGE: Final = 10_000  # partitions of a call
_GROUP_BYTES: Final = 1 << 30
_GROUP: Final = 100
"""A group of partitions that are rewritten by one job has at most so many partitions and bytes."""
_TASK_BYTES: Final = 128 << 20
_NAMED: Final = 5  # columns in an outcome


@dataclass(frozen=True, slots=True)
class Compaction:
    """The compaction of one partition, or of a table without partitions, whose `partition` is empty.

    `files_after` and `bytes_after` are estimates unless the outcome is COMPACTED. `outcome`: COMPACTED,
    WOULD_BE_COMPACTED, or why the partition was left as it is.
    """

    partition: str
    files: int
    bytes: int
    files_after: int
    bytes_after: int
    outcome: str


class Budget(NamedTuple):
    """Limits of a run: bytes to rewrite, and the time (`time.monotonic`) after which no group begins."""

    max_bytes: int | None = None
    deadline: float | None = None

    def allows(self, rewritten: int, size: int) -> bool:
        """Returns whether a group of this size may begin after so many bytes."""
        is_late = self.deadline is not None and time.monotonic() >= self.deadline
        return not is_late and (self.max_bytes is None or rewritten + size <= self.max_bytes)


UNLIMITED: Final = Budget()


def optimize(
    table: str,
    where: str | None = None,
    *,
    dry_run: bool = False,
    max_bytes: int | None = None,
    max_minutes: float | None = None,
    spark: SparkSession,
) -> list[Compaction]:
    """Merges the small files of a table, as `OPTIMIZE` does.

    Args:
        table: The name of the table, as in SQL.
        where: A condition on partition columns, in SQL.
        dry_run: Only returns what would be done.
        max_bytes: Rewrites at most so many bytes.
        max_minutes: Begins no group of partitions later.
        spark: The session.

    Returns the partitions with small files, those first that lose most files for each byte rewritten.

    Raises:
        NoSuchTableError: The table does not exist.
        InvalidStatementError: The condition is not one on partition columns.
        MetastoreRefusedError: The policies of the table, or its format, do not allow it.
        LeaseHeldError: Another program cares for the table.
        InvalidInsertError: This library cannot write the table.
    """
    check_kind(table, str, "optimize", "the name of a table", "optimize('shop.orders', spark=spark)")
    require(spark, SparkSession, "optimize", "a session", "optimize('shop.orders', spark=spark)")
    reject_remote(spark, "optimize", f"OPTIMIZE {table}")
    context = context_of(spark, "optimize needs a session of this library: spark_client.session or attach")
    deadline = None if max_minutes is None else time.monotonic() + 60 * max_minutes
    return list(compact(context, table, where, dry_run=dry_run, budget=Budget(max_bytes, deadline)))


def discover(table: str, *, dry_run: bool = False, spark: SparkSession) -> list[Discovered]:
    """Adds the partitions of an external table for which there are directories, as `DISCOVER PARTITIONS` does.

    Args:
        table: The name of the table, as in SQL.
        dry_run: Only returns what would be done.
        spark: The session.

    Returns the partitions that were added, dropped, kept or failed.

    Raises:
        NoSuchTableError: The table does not exist.
        MetastoreRefusedError: The policies of the table do not allow it, or its directory does not exist.
        LeaseHeldError: Another program cares for the table.
        WriteFailedError: A directory cannot be listed.
    """
    check_kind(table, str, "discover", "the name of a table", "discover('shop.orders', spark=spark)")
    require(spark, SparkSession, "discover", "a session", "discover('shop.orders', spark=spark)")
    reject_remote(spark, "discover", f"DISCOVER PARTITIONS {table}")
    context = context_of(spark, "discover needs a session of this library: spark_client.session or attach")
    database, _, name = table.rpartition(".")
    found = list(add_discovered(context, database or spark.catalog.currentDatabase(), name, dry_run=dry_run))
    if not dry_run:
        refresh(spark, database or spark.catalog.currentDatabase(), name)
    return found


def add_discovered(context: Context, database: str, name: str, *, dry_run: bool) -> Iterator[Discovered]:
    """Discovers the partitions of a table, and yields them. Raises as `discover`."""
    context.metastore.get_table(database, name)  # the error for a missing table
    return discover_partitions(context.metastore.methods, database, name, folder_lists(context), dry_run=dry_run)


def folder_lists(context: Context) -> ListFolders:
    """Returns a function that lists directories by Hadoop's file systems. It raises WriteFailedError."""
    files = Files(context.spark)

    def folders(asked: Sequence[Folder]) -> Sequence[Sequence[str] | None]:
        # Hadoop's list of a directory cannot begin at a name.
        return files.subdirectories([folder.location for folder in asked])

    return folders


def advise(table: str, *, sample: float | None = None, spark: SparkSession) -> LayoutAdvice:
    """Measures what other layouts of a table would save over its recorded queries, as `ADVISE` does.

    Args:
        table: The name of the table, as in SQL.
        sample: The share of the rows in which values are counted. Default: all of the rows of up to 4 GiB.
        spark: The session.

    Returns the advice: layouts with predicted bytes and statements, or why there is none.

    Raises:
        NoSuchTableError: The table does not exist.
        InvalidStatementError: `sample` is no share.
        MetastoreRefusedError: The table is a view, or the user may not read it.
    """
    check_kind(table, str, "advise", "the name of a table", "advise('shop.orders', spark=spark)")
    require(spark, SparkSession, "advise", "a session", "advise('shop.orders', spark=spark)")
    reject_remote(spark, "advise", f"ADVISE {table}")
    context = context_of(spark, "advise needs a session of this library: spark_client.session or attach")
    database, _, name = table.rpartition(".")
    return advise_table(context, database or spark.catalog.currentDatabase(), name, sample=sample)


def compact(
    context: Context, name: str, where: str | None = None, *, dry_run: bool, budget: Budget = UNLIMITED
) -> Iterator[Compaction]:
    """Compacts the partitions of `database.table` in groups, and yields each group when it is done.

    A group that fails is yielded with the reason, and the next one begins. Unless it is a dry run, this program holds
    the lease of the table meanwhile. Raises as `optimize`.
    """
    table = writable_table(context, name)
    if dry_run:
        yield from _compact(context, table, where, None, budget)
        return
    done = _compact_leased(context, table, where, budget)
    yield from recorded(context.metastore.methods, table.database, table.name, COMPACTION, done)


def _compact_leased(context: Context, table: Table, where: str | None, budget: Budget) -> Iterator[Compaction]:
    with leased(context.metastore.methods, table.database, table.name, COMPACTION) as lease:
        yield from _compact(context, table, where, lease, budget)


def _compact(
    context: Context, table: Table, where: str | None, lease: Lease | None, budget: Budget
) -> Iterator[Compaction]:
    """Compacts the partitions of a table. Without a lease, only yields what would be done."""
    chosen = _matching(context, table, where, list(_chosen(context, table)))
    chosen.sort(key=lambda one: (-(one.files - one.filesAfter) / max(1, one.bytes), one.name))
    rewritten = 0
    yield from (_compaction(table, one, HELD) for one in chosen if one.held)
    for group in _groups([one for one in chosen if not one.held]):
        size = sum(one.bytes for one in group)
        if lease is None:
            yield from (_compaction(table, one, WOULD_BE_COMPACTED) for one in group)
            continue
        lease.check()
        if budget.allows(rewritten, size):
            rewritten += size
            yield from _rewrite(context, table, group)


def _chosen(context: Context, table: Table) -> Iterator[CarePartition]:
    """Yields the partitions that the policies of a table select, by name."""
    after = ""
    while True:
        request = CarePartitionsRequest(table.database, table.name, kind=COMPACTION, after=after, limit=_PAGE)
        page = context.metastore.methods.get_care_partitions(request)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].name


def _matching(context: Context, table: Table, where: str | None, chosen: list[CarePartition]) -> list[CarePartition]:
    """Returns the partitions for which a condition is true. Spark evaluates it on their values."""
    if where is None:
        return chosen
    columns = table.partition_columns
    if not columns:
        raise InvalidStatementError(f"{table.full_name} has no partitions: OPTIMIZE it without WHERE")
    texts = [[None if value == DEFAULT_PARTITION else value for value in one.values] for one in chosen]
    schema = ", ".join(["_number int", *(f"_{number} string" for number in range(len(columns)))])
    rows = context.spark.createDataFrame([(n, *values) for n, values in enumerate(texts)], schema)
    typed = [F.col(f"_{n}").cast(column.type).alias(column.name) for n, column in enumerate(columns)]
    try:
        matching = rows.select("_number", *typed).where(where).select("_number").collect()
    except PySparkException as error:
        names = ", ".join(column.name for column in columns)
        raise InvalidStatementError(
            f"WHERE of OPTIMIZE takes a condition on the partition columns of {table.full_name} ({names}): "
            f"{first_line(error)}"
        ) from None
    return [chosen[row[0]] for row in matching]


def _groups(chosen: Sequence[CarePartition]) -> Iterator[list[CarePartition]]:
    """Yields partitions that are rewritten together: small ones in groups, each larger one alone."""
    group: list[CarePartition] = []
    for one in chosen:
        is_alone = one.bytes > one.filesAfter * _GROUP_BYTES // _GROUP and one.filesAfter > 1
        if is_alone:
            yield [one]
            continue
        if len(group) == _GROUP or sum(each.bytes for each in group) + one.bytes > _GROUP_BYTES:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _rewrite(context: Context, table: Table, group: Sequence[CarePartition]) -> Iterator[Compaction]:
    """Rewrites the partitions of a group. If one of them has changed, rewrites the others."""
    by_values: dict[Values, CarePartition] = {tuple(one.values): one for one in group}
    # Rows of a partition 01 of an INT are rows of partition 1 for Spark: the predicate finds both.
    seen = take_snapshot(
        context.metastore, table, {}, with_skew=False, with_parameters=False, among=typed(table, by_values)
    )
    current = {
        values: one for values, one in by_values.items() if values in seen and seen[values].version == one.version
    }
    yield from (_compaction(table, one, CHANGED) for values, one in by_values.items() if values not in current)
    if not current:
        return
    try:
        check_names(context.spark, table, seen)
        seen = with_files(Files(context.spark), seen, current)
        if lost := undeclared_columns(context, table, (seen[values] for values in current)):
            outcome = f"skipped: files have columns that the table does not declare: {', '.join(lost[:_NAMED])}"
            yield from (_compaction(table, one, outcome) for one in current.values())
            return
        insert = Insert(
            f"{table.database}.{table.name}",
            _rows(context, table, list(current.values())),
            overwrite=True,
            replaces=list(current),
            based_on=(table, seen),
        )
        statement = Statement("OPTIMIZE", {insert.table: None}, lambda: [insert.data])
        with no_query(context.spark), run_events(context, statement) as running:
            (result,) = insert_all(running, [insert])
    except (PublishConflictError, InvalidInsertError) as error:  # of one partition, perhaps
        if len(current) == 1:
            outcome = CHANGED if isinstance(error, PublishConflictError) else f"failed: {first_line(error)}"
            yield from (_compaction(table, one, outcome) for one in current.values())
            return
        for one in current.values():
            yield from _rewrite(context, table, [one])
        return
    except (WriteFailedError, PySparkException) as error:  # the table was dropped, for example
        yield from (_compaction(table, one, f"failed: {first_line(error)}") for one in current.values())
        return
    written = {partition.values: partition for partition in result.partitions}
    for values, one in current.items():
        done = written[values]
        yield Compaction(_name(table, one), one.files, one.bytes, done.files, done.bytes, COMPACTED)


def _rows(context: Context, table: Table, group: Sequence[CarePartition]) -> DataFrame:
    """Returns the rows of partitions, arranged so that each partition gets few files.

    Rows of one partition stay in their tasks, and those of several are shuffled by partition, in the order in which
    they were read. Rows of buckets are arranged by the writer.
    """
    refresh(context.spark, table.database, table.name)  # the session may have cached rows of before
    rows = context.spark.table(f"{quote(table.database)}.{quote(table.name)}")
    columns = partition_columns(table)
    if columns:
        rows = rows.where(in_partitions(table, columns, [tuple(one.values) for one in group]))
    if table.buckets.count:
        return rows
    if len(group) == 1:
        return rows.coalesce(group[0].filesAfter)
    order = "__order"
    while order in rows.columns:
        order += "_"
    # A task writes several partitions, one after the other: a task for each takes longer to start than to run.
    by_cores, by_bytes = (
        2 * context.spark.sparkContext.defaultParallelism,
        sum(one.bytes for one in group) // _TASK_BYTES,
    )
    tasks = min(len(group), max(by_cores, by_bytes))
    numbered = rows.withColumn(order, F.monotonically_increasing_id()).repartition(tasks, *columns)
    return numbered.sortWithinPartitions(*columns, order).drop(order)


def _compaction(table: Table, one: CarePartition, outcome: str) -> Compaction:
    return Compaction(_name(table, one), one.files, one.bytes, one.filesAfter, one.bytes, outcome)


def _name(table: Table, one: CarePartition) -> str:
    return str(one.name) if table.partition_columns else ""
