"""INSERT INTO and INSERT OVERWRITE of any Parquet or ORC table in Hive's layout, list-bucketed ones above all.

Data first, catalog last: rows go to `<table>/_versions/<query id>`, then files are placed into the table's
directories, and one call publishes them all. What they replace is deleted later, by the metastore's cleaning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from metastore.client.structs import Skew, Table
from spark_client.context import Context
from spark_client.errors import InvalidInsertError, WriteFailedError, first_line
from spark_client.table.directory_names import check_distinct, directory_path
from spark_client.table.hive_settings import dynamic_partitions
from spark_client.table.partition_spec import DynamicPartitions, resolve_partition
from spark_client.table.settings import max_file_size
from spark_client.write.auto_skew import AutoSkew, choose_skew, is_auto
from spark_client.write.buckets import write_buckets
from spark_client.write.commit import Commit, Write
from spark_client.write.limits import check_characters, check_dynamic_partitions, check_files
from spark_client.write.micro_batch import MicroBatch, statement_of_batch
from spark_client.write.partition_rows import in_partitions, partition_columns
from spark_client.write.publication import publish
from spark_client.write.result import WriteResult, result_of
from spark_client.write.rows import normalise_static, table_rows
from spark_client.write.skewed_directory import directory_number_by_partition
from spark_client.write.snapshot import PartNumbers, Snapshot, Values, skews_unlike_table, take_snapshot
from spark_client.write.staging import StagedFile, file_format, write_staging
from spark_client.write.unchanged_parts import copy_unchanged_parts
from spark_client.write.writable import writable_table


@dataclass(frozen=True, slots=True)
class Insert:
    """One INSERT: the rows of `data`, column by position, into `table` (`database.table`).

    `partition` is the PARTITION clause: a column's text, or None where rows decide; empty: rows decide on all.
    Dynamic partition columns are the last of `data`, in the table's order. `columns` is the column list of the
    statement; columns that are not in it get NULL. Overwriting replaces the partitions that receive rows, and the
    one that the clause names in full even if there are none.
    """

    table: str
    data: DataFrame
    partition: Mapping[str, str | None] = field(default_factory=dict)
    overwrite: bool = False
    if_not_exists: bool = False
    columns: Sequence[str] | None = None
    # Overwriting empties the partitions below the clause that receive no rows.
    whole: bool = False
    # Overwriting replaces just these partitions, also those of them that receive no rows; rows must be of these.
    replaces: Collection[Values] | None = None
    # Of partitions in `replaces`, the numbers of the skew directories, or of the buckets, that alone are replaced.
    parts: PartNumbers = field(default_factory=dict)
    # The table as it was when the rows were chosen: what has changed since is a conflict, of an append, too.
    seen: tuple[Table, Snapshot] | None = None
    # Bytes; otherwise the session or the table says it.
    max_file_size: int | None = None
    # Of a streaming query, where it is part of another statement, which knows what has been done.
    batch: MicroBatch | None = None


def insert_into(context: Context, table: str, data: DataFrame, **how: Any) -> WriteResult:
    """Inserts once; `how` are the other fields of `Insert`. Raises as `insert_all`."""
    return insert_all(context, [Insert(table, data, **how)])[0]


def insert_all(context: Context, inserts: Sequence[Insert]) -> list[WriteResult]:
    """Does the INSERTs of one statement: all of it becomes visible at once, or nothing does.

    On any error the tables are as they were.

    Raises:
        NoSuchTableError: there is no such table.
        InvalidInsertError: the statement does not fit the table.
        PublishConflictError: another writer changed a partition meanwhile; run it again.
        WriteFailedError: the job or the file system failed.
        WriteUncertainError: the metastore broke off at the moment of publishing.
    """
    with ExitStack() as stack:
        tables = dict.fromkeys(insert.table.lower() for insert in inserts if insert.batch is None)
        batches = {table: stack.enter_context(statement_of_batch(context.spark, table)) for table in tables}
        running = [
            stack.enter_context(_PendingInsert(context, insert, batches.get(insert.table.lower())))
            for insert in inserts
        ]
        chosen: dict[str, dict[Values, Skew]] = defaultdict(dict)
        for part in running:
            part.stage(chosen[part.table])
        _check_disjoint(running)
        return _publish(context, running)


class _PendingInsert:
    """An INSERT from its first file to its last; as a context, it leaves no staging behind, whatever happens."""

    def __init__(self, context: Context, insert: Insert, batch: MicroBatch | None) -> None:
        self._context, self._insert = context, insert
        table, seen = insert.seen or (writable_table(context, insert.table), None)
        names = [column.name for column in table.partition_columns]
        spec = resolve_partition(
            table.full_name,
            names,
            insert.partition,
            if_not_exists=insert.if_not_exists,
            # Hive's limits are for INSERTs.
            dynamic=dynamic_partitions(context.spark) if seen is None else DynamicPartitions(),
        )
        self._spec = replace(spec, static=normalise_static(context.spark, table, spec))
        check_characters(context.spark, self._spec.static.values())
        directory_path(table, list(self._spec.static.values()))
        self._rows = table_rows(context.spark, table, insert.data, self._spec, insert.columns)
        self._write = Write(
            table,
            dict(self._spec.static),
            insert.overwrite,
            insert.whole,
            replaces=insert.replaces,
            strict=seen is not None,
            batch=insert.batch or batch,
        )
        self.table = table.full_name
        self._snapshot = (
            take_snapshot(context.metastore, table, self._spec.static, with_skew=not insert.overwrite)
            if seen is None
            else seen
        )
        # IF NOT EXISTS, or a batch that runs again: there is nothing to do.
        self.table_exists = insert.if_not_exists and self._write.static_partition in self._snapshot
        if batch and (done := batch.done(context.metastore, table, self._spec.static)):
            self.table_exists = insert.overwrite or not self._spec.dynamic
            # A partition that the batch itself has dropped gets its rows again.
            self._rows = self._rows.filter(~in_partitions(table, partition_columns(table), done))
        self.overwrites = insert.overwrite
        self.staged: Sequence[StagedFile] = ()
        self._auto_skew = AutoSkew()
        self.commit = Commit(context, self._write, self._places())

    def __enter__(self) -> _PendingInsert:
        self.commit.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._auto_skew.skews:
            self._rows.unpersist()
        self.commit.__exit__()

    def stage(self, chosen: dict[Values, Skew]) -> None:
        """Writes the rows, and refuses what only the rows could tell.

        `chosen`: the skew of new partitions that earlier INSERTs of the statement have chosen; it grows.
        """
        if self.table_exists:
            return
        write, context, insert = self._write, self._context, self._insert
        what = "INSERT into" if insert.seen is None else "the change of"
        with failures_as_one_line(f"{what} {write.table.full_name}"):
            context.on_step("planned")
            known = {} if write.overwrite else self._skews() | chosen
            self._choose(known)
            exceptions = skews_unlike_table(known, write.table)
            chosen |= self._auto_skew.skews
            number = directory_number_by_partition(write.table.skew, exceptions, write.table)
            number = self._auto_skew.directory_number(write.table, number)
            place = self.commit.directory, self.commit.query_id
            size = insert.max_file_size or max_file_size(context.spark, write.table)
            if write.table.buckets.count:
                self.staged = write_buckets(context, write, self._rows, self._snapshot, *place, max_size=size)
            else:
                most = self._most_directories(exceptions)
                self.staged = write_staging(write.table, self._rows, number, *place, max_size=size, most=most)
            self.staged = copy_unchanged_parts(
                context, write.table, self.staged, self._snapshot, insert.parts, place[0]
            )
            context.on_step("staged")
            if self._spec.dynamic and insert.replaces is None:
                check_dynamic_partitions(context.spark, self.staged)
            check_files(context.spark, self.staged)
            check_distinct(write.table, {file.values for file in self.staged})
            self._check_formats()
            self.commit.set_files(self.staged, self._snapshot, self._auto_skew.skews)

    def touches(self) -> set[tuple[str, Values]]:
        """Returns the table and the partitions that it changes."""
        required = self._write.required(self._snapshot) if self._write.overwrite else ()
        return {(self._write.table.full_name, values) for values in (*required, *(file.values for file in self.staged))}

    def _places(self) -> Sequence[str]:
        """Returns the directories to which an append brings its rows, where the statement names one partition."""
        static = self._write.static_partition
        if self._write.overwrite or static is None or not (existing := self._snapshot.get(static)):
            return ()
        return (existing.location, *existing.skew.locations.values())

    def _most_directories(self, exceptions: Sequence[tuple[Skew, object]]) -> int | None:
        """Returns to how many directories rows can come; None where they alone tell."""
        if self._spec.dynamic or self._auto_skew.skews:
            return None
        skews = [skew for skew in (self._write.table.skew, *(skew for skew, _ in exceptions)) if skew.is_list_bucketed]
        return 1 + max((len(skew.values) for skew in skews), default=0)

    def _skews(self) -> dict[Values, Skew]:
        return {values: existing.skew for values, existing in self._snapshot.items()}

    def _choose(self, kept: Collection[Values]) -> None:
        """Chooses for a table whose loads pick their heavy values; the rows are kept, for they are read twice then."""
        if is_auto(self._write.table):
            self._rows = self._rows.persist()
            self._auto_skew = choose_skew(self._write.table, self._rows, kept)

    def _check_formats(self) -> None:
        table = self._write.table
        if self._write.overwrite:
            return
        for values in {file.values for file in self.staged} & self._snapshot.keys():
            name = f"partition {list(values)} of {table.full_name}"
            if file_format(self._snapshot[values].storage, name) != file_format(table.storage, table.full_name):
                raise InvalidInsertError(f"{name} has another format than the table; INSERT OVERWRITE it")


def _publish(context: Context, running: Sequence[_PendingInsert]) -> list[WriteResult]:
    """Makes all of them visible, and cleans up."""
    bringing = [part for part in running if not part.table_exists]
    with failures_as_one_line(f"INSERT into {', '.join(dict.fromkeys(part.table for part in bringing))}"):
        placements = iter(publish(context, [part.commit for part in bringing]))
    results = []
    for part in running:
        publications = () if part.table_exists else next(placements).publications
        results.append(result_of(part.commit.query_id, publications, part.staged))
        part.__exit__()
    context.on_step("cleaned")
    return results


def _check_disjoint(running: Sequence[_PendingInsert]) -> None:
    """Within one statement nothing may replace what another part of it brings."""
    for one, other in combinations(running, 2):
        if (both := one.touches() & other.touches()) and (one.overwrites or other.overwrites):
            table, values = min(both)
            place = f"partition {list(values)} of {table}" if values else table
            raise InvalidInsertError(f"two INSERTs of one statement write to {place}, and one overwrites it")


@contextmanager
def failures_as_one_line(statement: str) -> Iterator[None]:
    """Raises what Spark or the file system raises as a failed write."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise WriteFailedError(f"{statement} failed and changed nothing: {_root_cause(error)}") from error


def _root_cause(error: Exception) -> str:
    """Returns the first line of the innermost cause: what went wrong, not that a stage was aborted because of it."""
    if not isinstance(error, Py4JJavaError):
        return first_line(error)
    cause: Any = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.toString()).splitlines()[0]
