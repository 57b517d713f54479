"""INSERT INTO and INSERT OVERWRITE of Parquet and ORC tables in Hive's layout, including list-bucketed ones.

Data first, catalog last: Spark writes the rows to `<table>/_versions/<query id>`, the files move into the table's
directories, and one call publishes all of them. The metastore's cleaning deletes replaced files later.
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
from spark_client.jvm.sessions import settings
from spark_client.table.directory_names import check_distinct, directory_path
from spark_client.table.hive_settings import dynamic_partitions
from spark_client.table.partition_spec import DynamicPartitions, PartitionSpec, resolve_partition
from spark_client.table.settings import max_file_size
from spark_client.write.auto_skew import AutoSkew, auto_columns_of, choose_skew, is_auto
from spark_client.write.buckets import write_buckets
from spark_client.write.commit import Commit
from spark_client.write.limits import check_characters, check_dynamic_partitions, check_files
from spark_client.write.micro_batch import MicroBatch, statement_of_batch
from spark_client.write.partition_rows import in_partitions, partition_columns
from spark_client.write.placement import Write
from spark_client.write.publication import publish
from spark_client.write.result import WriteResult, result_of
from spark_client.write.rows import normalise_static, table_rows
from spark_client.write.run_events import INSERT, OVERWRITE, Statement, run_events
from spark_client.write.skewed_directory import directory_number_by_partition
from spark_client.write.snapshot import PartNumbers, Snapshot, Values, skews_unlike_table, take_snapshot
from spark_client.write.staging import StagedFile, WriteDirectory, file_format, write_staging
from spark_client.write.unchanged_parts import copy_unchanged_parts
from spark_client.write.writable import writable_table


@dataclass(frozen=True, slots=True)
class Insert:
    """A request to insert rows.

    Attributes:
        table: `database.table`.
        data: The rows. Columns are assigned by position; dynamic partition columns are last, in the table's order.
        partition: The PARTITION clause: a column's value, or None if the rows supply it. Empty: the rows supply all.
        overwrite: Replaces the partitions that receive rows, and the one that the clause names in full.
        if_not_exists: Writes nothing if the partition of the clause exists.
        columns: The column list of the statement. Other columns get their DEFAULT or NULL.
        fields_by_name: Fields of structs are assigned by name. Otherwise by position, as in Spark's INSERT.
        whole: An overwrite also empties the partitions of the clause that receive no rows.
        replaces: An overwrite replaces exactly these partitions. Rows must belong to them.
        replaced_parts: For partitions in `replaces`: the skew directories or buckets to replace. Others are kept.
        based_on: The table and partitions from which the rows were computed. Any later change is a conflict.
        max_file_size: Bytes. By default the setting of the session or table.
        batch: The streaming batch, if the caller has already counted the statement (`statement_of_batch`).
    """

    table: str
    data: DataFrame
    partition: Mapping[str, str | None] = field(default_factory=dict)
    overwrite: bool = False
    if_not_exists: bool = False
    columns: Sequence[str] | None = None
    fields_by_name: bool = False
    whole: bool = False
    replaces: Collection[Values] | None = None
    replaced_parts: PartNumbers = field(default_factory=dict)
    based_on: tuple[Table, Snapshot] | None = None
    max_file_size: int | None = None
    batch: MicroBatch | None = None


def insert_into(context: Context, table: str, data: DataFrame, **options: Any) -> WriteResult:
    """Runs one INSERT. `options` are the other fields of `Insert`. Raises as `insert_all`."""
    return insert_all(context, [Insert(table, data, **options)])[0]


def insert_all(context: Context, inserts: Sequence[Insert]) -> list[WriteResult]:
    """Runs the INSERTs of one statement and publishes them together. On any error the tables are unchanged.

    Raises:
        NoSuchTableError: A table does not exist.
        InvalidInsertError: The statement does not fit its table.
        PublishConflictError: Another writer changed a partition during the statement. Run it again.
        WriteFailedError: The Spark job or the file system failed.
        WriteUncertainError: The connection to the metastore was lost during publishing; the outcome is unknown.
    """
    with run_events(context, _statement(inserts)) as running, ExitStack() as stack:
        tables = dict.fromkeys(insert.table.lower() for insert in inserts if insert.batch is None)
        batches = {table: stack.enter_context(statement_of_batch(context.spark, table)) for table in tables}
        pending = [
            stack.enter_context(_PendingInsert(running, insert, batches.get(insert.table.lower())))
            for insert in inserts
        ]
        # A table whose loads choose heavy values must get one choice for each new partition of the statement.
        chosen: dict[str, dict[Values, Skew]] = defaultdict(dict)
        for part in pending:
            part.stage(chosen[part.table])
        _check_disjoint(pending)
        results = _publish(running, pending)
        for insert, result in zip(inserts, results, strict=True):
            running.report(insert.table, result)
        return results


def _statement(inserts: Sequence[Insert]) -> Statement:
    changes = {insert.table: OVERWRITE if insert.overwrite else None for insert in inserts}
    return Statement(INSERT, changes, lambda: [insert.data for insert in inserts])


class _PendingInsert:
    """An INSERT that is running. Leaving the context deletes its staged files unless they were published."""

    def __init__(self, context: Context, insert: Insert, batch: MicroBatch | None) -> None:
        # 1. Resolve the table and the PARTITION clause. Rows computed from the table come with its state.
        self._context, self._insert, self._settings = context, insert, settings(context.spark)
        table, snapshot = insert.based_on or (writable_table(context, insert.table), None)
        self._spec = self._resolve(table)
        self._write = Write(
            table,
            dict(self._spec.static),
            insert.overwrite,
            insert.whole,
            replaces=insert.replaces,
            batch=insert.batch or batch,
            strict=snapshot is not None,
        )
        self.table, self.overwrites = table.full_name, insert.overwrite
        # 2. Cast the rows. Nothing runs yet.
        by_name = insert.fields_by_name
        self._rows = table_rows(context.spark, table, insert.data, self._spec, insert.columns, by_name=by_name)
        # 3. Read the partitions, before the streaming markers (see MicroBatch.completed_partitions).
        self._snapshot = (
            take_snapshot(
                context.metastore, table, self._spec.static, with_skew=not insert.overwrite, with_parameters=False
            )
            if snapshot is None
            else snapshot
        )
        # 4. Skip existing partitions (IF NOT EXISTS), and writes of an earlier run of the streaming batch.
        self.is_skipped = insert.if_not_exists and self._write.static_partition in self._snapshot
        if batch and (done := batch.completed_partitions(context.metastore, table, self._spec.static)):
            self.is_skipped = insert.overwrite or not self._spec.dynamic
            # Partitions that the batch itself dropped after the marker have no marker, and get their rows again.
            self._rows = self._rows.filter(~in_partitions(table, partition_columns(table), done))
        # 5. Register the write.
        self.staged: Sequence[StagedFile] = ()
        self._auto_skew, self._is_persisted = AutoSkew(), False
        self.commit = Commit(context, self._write, self._settings, self._append_directories())

    def __enter__(self) -> _PendingInsert:
        self.commit.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_persisted:
            self._rows.unpersist()
        self.commit.__exit__()

    def stage(self, chosen: dict[Values, Skew]) -> None:
        """Writes the rows to the write's directory and checks the limits that depend on the rows.

        `chosen`: the skew of new partitions that earlier INSERTs of the statement have chosen. Choices are added to it.
        """
        if self.is_skipped:
            return
        write, context, insert = self._write, self._context, self._insert
        action = "INSERT into" if insert.based_on is None else "the change of"
        with failures_as_one_line(f"{action} {write.table.full_name}"), self.commit.staging():
            context.on_step("planned")
            known = {} if write.overwrite else self._skews() | chosen
            self._choose_skew(known)
            chosen |= self._auto_skew.skews
            self.staged = copy_unchanged_parts(
                context,
                write.table,
                self._write_rows(known),
                self._snapshot,
                insert.replaced_parts,
                self.commit.directory,
            )
            context.on_step("staged")
            self._check_staged()
            self.commit.set_files(self.staged, self._snapshot, self._auto_skew.skews)

    def changed_partitions(self) -> set[tuple[str, Values]]:
        """Returns the table and values of each partition that the INSERT changes."""
        required = self._write.required(self._snapshot) if self._write.overwrite else ()
        return {(self._write.table.full_name, values) for values in (*required, *(file.values for file in self.staged))}

    def _resolve(self, table: Table) -> PartitionSpec:
        """Returns the PARTITION clause with static values as the catalog writes them. Raises InvalidInsertError."""
        context, insert = self._context, self._insert
        spec = resolve_partition(
            table.full_name,
            [column.name for column in table.partition_columns],
            insert.partition,
            if_not_exists=insert.if_not_exists,
            # Hive's settings for dynamic partitions apply to INSERT only, not to UPDATE, DELETE and MERGE.
            dynamic=dynamic_partitions(self._settings) if insert.based_on is None else DynamicPartitions(),
        )
        spec = replace(spec, static=normalise_static(context.spark, table, spec))
        check_characters(self._settings, spec.static.values())
        directory_path(table, list(spec.static.values()))  # raises for values that cannot name a directory
        return spec

    def _write_rows(self, known: Mapping[Values, Skew]) -> Sequence[StagedFile]:
        """Runs the Spark job. `known`: the skew of the partitions that the INSERT appends to."""
        write, context = self._write, self._context
        size = self._insert.max_file_size or max_file_size(self._settings, write.table)
        uploads = self.commit.uploads(self._snapshot, self._auto_skew.skews)
        into = WriteDirectory(self.commit.directory, self.commit.query_id, size, uploads)
        if write.table.buckets.count:
            return write_buckets(context, write, self._rows, self._snapshot, into)
        exceptions = skews_unlike_table(known, write.table)
        number = directory_number_by_partition(write.table.skew, exceptions, write.table)
        number = self._auto_skew.directory_number(write.table, number)
        most = self._most_directories(exceptions)
        return write_staging(write.table, self._rows, number, into, most=most)

    def _check_staged(self) -> None:
        """Raises InvalidInsertError if the files exceed Hive's limits or do not fit the partitions."""
        if self._spec.dynamic and self._insert.replaces is None:
            check_dynamic_partitions(self._settings, self.staged)
        check_files(self._settings, self.staged)
        check_distinct(self._write.table, {file.values for file in self.staged})
        self._check_formats()

    def _append_directories(self) -> Sequence[str]:
        """Returns the existing directories to which an append to one named partition brings files."""
        static = self._write.static_partition
        if self._write.overwrite or static is None or not (existing := self._snapshot.get(static)):
            return ()
        return (existing.location, *existing.skew.locations.values())

    def _most_directories(self, exceptions: Sequence[tuple[Skew, object]]) -> int | None:
        """Returns the largest number of directories that can receive rows, or None if only the rows tell."""
        if self._spec.dynamic or self._auto_skew.skews:
            return None
        skews = [skew for skew in (self._write.table.skew, *(skew for skew, _ in exceptions)) if skew.is_list_bucketed]
        return 1 + max((len(skew.values) for skew in skews), default=0)

    def _skews(self) -> dict[Values, Skew]:
        return {values: existing.skew for values, existing in self._snapshot.items()}

    def _choose_skew(self, kept: Collection[Values]) -> None:
        """Chooses the heavy values of new partitions, if the table's loads do. `kept` partitions keep their skew.

        The rows are persisted, because they are read once to count and once to write.
        """
        if is_auto(self._write.table):
            columns = auto_columns_of(self._write.table, self._context.metastore)
            if not columns:
                return
            self._rows, self._is_persisted = self._rows.persist(), True
            self._auto_skew = choose_skew(self._write.table, columns, self._rows, kept)

    def _check_formats(self) -> None:
        table = self._write.table
        if self._write.overwrite:
            return
        for values in {file.values for file in self.staged} & self._snapshot.keys():
            name = f"partition {list(values)} of {table.full_name}"
            if file_format(self._snapshot[values].storage, name) != file_format(table.storage, table.full_name):
                raise InvalidInsertError(f"{name} has another format than the table; INSERT OVERWRITE it")


def _publish(context: Context, pending: Sequence[_PendingInsert]) -> list[WriteResult]:
    """Publishes all INSERTs of a statement and deletes the leftovers in their directories."""
    publishing = [part for part in pending if not part.is_skipped]
    with failures_as_one_line(f"INSERT into {', '.join(dict.fromkeys(part.table for part in publishing))}"):
        placements = iter(publish(context, [part.commit for part in publishing]))
    results = []
    for part in pending:
        publications = () if part.is_skipped else next(placements).publications
        results.append(result_of(part.commit.query_id, publications, part.staged))
        part.__exit__()
    context.on_step("cleaned")
    return results


def _check_disjoint(pending: Sequence[_PendingInsert]) -> None:
    """Raises InvalidInsertError if one INSERT of the statement would overwrite the rows of another."""
    for first, second in combinations(pending, 2):
        both = first.changed_partitions() & second.changed_partitions()
        if both and (first.overwrites or second.overwrites):
            table, values = min(both)
            target = f"partition {list(values)} of {table}" if values else table
            raise InvalidInsertError(f"two INSERTs of one statement write to {target}, and one overwrites it")


@contextmanager
def failures_as_one_line(statement: str) -> Iterator[None]:
    """Turns errors of Spark and of the file system into WriteFailedError with one line that names the statement."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise WriteFailedError(f"{statement} failed and changed nothing: {_root_cause(error)}") from error


def _root_cause(error: Exception) -> str:
    """Returns the first line of the innermost cause. Outer ones only say that Spark aborted a stage."""
    if not isinstance(error, Py4JJavaError):
        return first_line(error)
    cause: Any = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return first_line(cause.toString())
