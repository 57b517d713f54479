"""INSERT INTO and INSERT OVERWRITE of any Parquet or ORC table in Hive's layout, list-bucketed ones above all.

Data first, catalog last: rows go to `<table>/_staging/<query id>`, then files are adopted into the table's
directories, one call publishes them all, and only then what they replace is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.errors import InvalidInsertError, WriteFailedError
from spark_client.wire.structs import PublishMode, Table
from spark_client.write.adoption import Adoption, table_root
from spark_client.write.commit import Commit, Write
from spark_client.write.files import Files
from spark_client.write.journal import FILE_ERRORS
from spark_client.write.partition_spec import PartitionSpec, resolve_partition
from spark_client.write.query_id import new_query_id
from spark_client.write.rows import normalise_static, table_rows
from spark_client.write.skewed_directory import directory_number_by_partition
from spark_client.write.snapshot import Snapshot, other_skews, take_snapshot
from spark_client.write.staging import StagedFile, file_format, write_staging

MAX_DYNAMIC_PARTITIONS = "hive.exec.max.dynamic.partitions"


@dataclass(frozen=True, slots=True)
class WrittenPartition:
    """What a write brought to one partition (to the table, if it has none): counts of this write only."""

    values: tuple[str, ...]
    mode: PublishMode
    location: str
    directories: int
    files: int
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did. No partitions: there was nothing to do."""

    query_id: str
    partitions: tuple[WrittenPartition, ...] = ()

    @property
    def rows(self) -> int:
        """Rows written."""
        return sum(partition.rows for partition in self.partitions)

    @property
    def files(self) -> int:
        """Files written."""
        return sum(partition.files for partition in self.partitions)


def insert_into(
    context: Context,
    table: str,
    data: DataFrame,
    *,
    partition: Mapping[str, str | None],
    overwrite: bool,
    if_not_exists: bool = False,
    columns: Sequence[str] | None = None,
) -> WriteResult:
    """Inserts the rows of `data`, column by position, into `table` (`database.table`).

    `partition` is the PARTITION clause: a column's text, or None where rows decide; empty: rows decide on all.
    Dynamic partition columns are the last of `data`, in the table's order. `columns` is the column list of the
    statement; columns that are not in it get NULL. Overwriting replaces the partitions that receive rows, and the
    one that the clause names in full even if there are none.

    All of it becomes visible at once, or nothing does: on any error the table is as it was.

    Raises:
        NoSuchTableError: there is no such table.
        InvalidInsertError: the statement does not fit the table.
        PublishConflictError: another writer changed a partition meanwhile; run it again.
        WriteFailedError: the job or the file system failed.
        WriteUncertainError: the metastore broke off at the moment of publishing.
    """
    database, _, name = table.rpartition(".")
    target = context.metastore.get_table(database or context.spark.catalog.currentDatabase(), name)
    _check_writable(target)
    names = [column.name for column in target.partition_columns]
    spec = resolve_partition(target.full_name, names, partition, if_not_exists=if_not_exists)
    spec = replace(spec, static=normalise_static(context.spark, target, spec))
    rows = table_rows(context.spark, target, data, spec, columns)
    write = Write(target, new_query_id(), dict(spec.static), overwrite)
    snapshot = take_snapshot(context.metastore, target, spec.static, with_skew=not overwrite)
    if if_not_exists and write.static_partition in snapshot:
        return WriteResult(write.query_id)
    return _run(context, write, rows, snapshot, spec)


def _check_writable(table: Table) -> None:
    name, parameters = table.full_name, {key.lower(): value.lower() for key, value in table.parameters.items()}
    if table.table_type == "VIRTUAL_VIEW" or not table.location:
        raise InvalidInsertError(f"{name} is a view; insert into the table below it")
    if parameters.get("transactional") == "true":
        raise InvalidInsertError(f"{name} is a transactional table; only Hive itself can write to it")
    if table.bucket_columns:
        raise InvalidInsertError(f"{name} is CLUSTERED BY; writing bucketed tables is not supported")
    file_format(table.storage, name)


def _run(context: Context, write: Write, rows: DataFrame, snapshot: Snapshot, spec: PartitionSpec) -> WriteResult:
    """From the first file to the last; leaves no staging behind, whatever happens."""
    staging = f"{table_root(write.table.location or '')}/_staging/{write.query_id}"
    commit = Commit(context, write)
    try:
        context.on_step("planned")
        exceptions = other_skews(snapshot, write.table) if not write.overwrite else []
        number = directory_number_by_partition(write.table.skew, exceptions, write.table)
        staged = write_staging(write.table, rows, number, staging, write.query_id)
        context.on_step("staged")
        _check_staged(context, write, staged, snapshot, spec)
        adoption = commit.run(staged, snapshot)
    except (Py4JError, PySparkException) as error:
        raise WriteFailedError(
            f"INSERT into {write.table.full_name} failed and changed nothing: {_root_cause(error)}"
        ) from error
    finally:
        if not commit.may_be_visible or commit.is_done:
            with suppress(*FILE_ERRORS):
                Files(context.spark).delete(staging)
    context.on_step("cleaned")
    return _result(write.query_id, adoption, staged)


def _check_staged(
    context: Context, write: Write, staged: Sequence[StagedFile], snapshot: Snapshot, spec: PartitionSpec
) -> None:
    """What only the rows could tell: Hive's limit of dynamic partitions, and partitions in another format."""
    touched = {file.values for file in staged}
    limit = int(context.spark.conf.get(MAX_DYNAMIC_PARTITIONS, "1000") or "1000")
    if spec.dynamic and len(touched) > limit:
        raise InvalidInsertError(
            f"Number of dynamic partitions created is {len(touched)}, which is more than {limit}. "
            f"To solve this try to set {MAX_DYNAMIC_PARTITIONS} to at least {len(touched)}."
        )
    if write.overwrite:
        return
    for values in touched & snapshot.keys():
        name = f"partition {list(values)} of {write.table.full_name}"
        if file_format(snapshot[values].storage, name) != file_format(write.table.storage, write.table.full_name):
            raise InvalidInsertError(f"{name} has another format than the table; INSERT OVERWRITE it")


def _result(query_id: str, adoption: Adoption, staged: Sequence[StagedFile]) -> WriteResult:
    partitions = []
    for publication in adoption.publications:
        files = [file for file in staged if file.values == publication.values]
        partitions.append(
            WrittenPartition(
                values=publication.values,
                mode=publication.mode,
                location=publication.location,
                directories=len({file.directory for file in files}),
                files=len(files),
                bytes=sum(file.size for file in files),
                rows=sum(file.rows for file in files),
            )
        )
    return WriteResult(query_id, tuple(partitions))


def _root_cause(error: Exception) -> str:
    """The first line of the innermost cause: what went wrong, not that a stage was aborted because of it."""
    if not isinstance(error, Py4JJavaError):
        return (str(error) or type(error).__name__).splitlines()[0]
    cause: Any = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.toString()).splitlines()[0]
