"""Executes ALTER TABLE … CONCATENATE: merges the small files of each directory, in one atomic overwrite.

Each directory is read and rewritten by as many tasks as it will have files, without a shuffle, so neighbouring rows
stay together. Hive: AlterTableConcatenateAnalyzer, and hive.merge.size.per.task for the size of files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Skew, Table
from metastore.domain.partition_names import DEFAULT_PARTITION, value_path
from metastore.domain.skew_directories import flat_prefixes, skew_directories
from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchPartitionError
from spark_client.jvm.files import Files
from spark_client.jvm.plans import scanned_files
from spark_client.jvm.sessions import settings
from spark_client.jvm.sql_text import quote
from spark_client.statements.grammar.concatenate import Concatenate
from spark_client.statements.run.clauses import resolve_table, typed_values
from spark_client.table.paths import name_of, parent
from spark_client.write.commit import Commit
from spark_client.write.insert import failures_as_one_line
from spark_client.write.placement import Write
from spark_client.write.publication import publish
from spark_client.write.result import result_of
from spark_client.write.run_events import Statement, run_events
from spark_client.write.skewed_directory import directory_number_by_partition
from spark_client.write.snapshot import PartitionState, Values, take_snapshot, with_files
from spark_client.write.staging import StagedFile, WriteDirectory, file_format, write_staging

FILE_SIZE, EXTERNAL_TOO = "hive.merge.size.per.task", "hive.concatenate.external.table"
_DEFAULT_FILE_SIZE = 256_000_000  # bytes
_REPORT = (
    "partition string, directory string, files_before bigint, bytes_before bigint, files_after bigint, "
    "bytes_after bigint"
)


@dataclass(frozen=True, slots=True)
class _DirectoryFiles:
    """The files of one directory. `number` is 0 for the default skew directory; `size` is in bytes."""

    number: int
    files: tuple[str, ...]
    size: int

    def target_count(self, file_size: int) -> int:
        """Returns the number of files after merging to `file_size` bytes each."""
        return max(1, math.ceil(self.size / file_size))


def columns(_: Context, __: Concatenate) -> str:
    """Returns the columns of the statement's rows."""
    return _REPORT


def execute(context: Context, statement: Concatenate, _: str) -> DataFrame:
    """Merges the files. Returns the number of files and the bytes of each directory, before and after.

    Raises:
        InvalidStatementError: Hive does not allow CONCATENATE for the table; with Hive's error code.
        NoSuchTableError, NoSuchPartitionError: The table or partition does not exist.
        PublishConflictError: Another writer changed the partition during the statement. Run it again.
        WriteFailedError: The Spark job or the file system failed.
    """
    table = context.metastore.get_table(*resolve_table(context, statement.table))
    _check(context, table)
    if context.spark.catalog.isCached(f"{quote(table.database)}.{quote(table.name)}"):
        raise InvalidStatementError(
            f"CONCATENATE reads the files of {table.full_name}, which the session has cached: UNCACHE TABLE it first"
        )
    values = _values(context, table, statement)
    name = value_path([column.name for column in table.partition_columns], values)
    static = dict(zip((column.name for column in table.partition_columns), values, strict=True))
    # Read before the files are listed: a write in between changes the version, and publishing meets a conflict.
    existing = take_snapshot(context.metastore, table, static, with_skew=True)
    if values not in existing:
        raise NoSuchPartitionError(f"{table.full_name} has no partition {name}")
    if existing[values].parameters.get("is_archived", "").lower() == "true":
        raise _rejection(30032, "can not be performed on archived partitions", f"{table.full_name} {name}")
    if file_format(existing[values].storage, name) != file_format(table.storage, table.full_name):
        raise InvalidStatementError(f"{table.full_name} {name} has another format than the table; INSERT OVERWRITE it")
    existing = with_files(Files(context.spark), existing, [values])
    file_size = int(context.spark.conf.get(FILE_SIZE, None) or _DEFAULT_FILE_SIZE)
    before = _directories(context, table, values, existing[values].skew)
    after: Sequence[StagedFile] | None = None
    if any(len(directory.files) > directory.target_count(file_size) for directory in before):
        run = Statement("CONCATENATE", {table.full_name: None}, bases=lambda: [table.full_name])
        with run_events(context, run) as running:
            after = _merge(running, Write(table, static, overwrite=True), existing[values], before, file_size)
    return _report(context, name, existing[values].skew, before, after)


def _check(context: Context, table: Table) -> None:
    """Raises InvalidStatementError as Hive does, in its order and with its messages (ErrorMsg)."""
    parameters = {key: value.lower() for key, value in table.parameters.items()}
    provider = parameters.get("spark.sql.sources.provider", "hive")
    external_too = context.spark.conf.get(EXTERNAL_TOO, None) == "true"
    is_managed = table.table_type == "MANAGED_TABLE" or (external_too and table.table_type == "EXTERNAL_TABLE")
    formats = ("parquet", "orc")
    rejections = (
        ("storage_handler" in parameters or provider != "hive", 30033, "can not be performed on non-native tables"),
        (not is_managed, 30034, "can only be performed on managed tables"),
        (parameters.get("transactional") == "true", 30035, "can not be performed on transactional tables"),
        (bool(table.bucket_columns), 30031, "can not be performed on bucketed tables"),
        (
            not any(known in table.storage.input_format.lower() for known in formats),
            30030,
            "only supported for Parquet and ORCFile formats",
        ),
    )
    for is_rejected, code, text in rejections:
        if is_rejected:
            raise _rejection(code, text, table.full_name)


def _rejection(code: int, text: str, name: str) -> InvalidStatementError:
    return InvalidStatementError(f"[Error {code}]: Concatenate/Merge {text}: {name}")


def _values(context: Context, table: Table, statement: Concatenate) -> Values:
    if table.partition_columns and statement.partition is None:
        raise InvalidStatementError(f"source table {table.full_name} is partitioned but no partition desc found.")
    if statement.partition is None:
        return ()
    if not table.partition_columns:
        raise InvalidStatementError(f"source table {table.full_name} is not partitioned but partition desc found.")
    return typed_values(context, table, statement.table, statement.partition)


def _directories(context: Context, table: Table, values: Values, skew: Skew) -> list[_DirectoryFiles]:
    """Returns the directories of a partition, with the files that readers see."""
    numbers = {_normalized(skew.locations.get(tuple(value), "")): n for n, value in enumerate(skew.values, 1)}
    prefixes = {prefix: n for n, prefix in enumerate(flat_prefixes(skew.columns, skew.values))}
    by_directory: dict[str, list[tuple[str, int]]] = {}
    for location, size in _visible_files(context, table, values):
        by_directory.setdefault(_directory(location), []).append((location, size))
    return [
        _DirectoryFiles(
            numbers.get(_normalized(directory)) or prefixes.get(name_of(directory), 0),
            tuple(name for name, _ in files),
            sum(size for _, size in files),
        )
        for directory, files in sorted(by_directory.items())
    ]


def _visible_files(context: Context, table: Table, values: Values) -> Iterator[tuple[str, int]]:
    """Yields location and size of each file that a query of the partition reads."""
    rows = context.spark.table(f"{quote(table.database)}.{quote(table.name)}")
    for column, text in zip(table.partition_columns, values, strict=True):
        value = F.lit(None if text == DEFAULT_PARTITION else text).cast(column.type)
        rows = rows.where(F.col(quote(column.name)).eqNullSafe(value))
    return scanned_files(rows)


def _merge(
    context: Context, write: Write, existing: PartitionState, directories: Sequence[_DirectoryFiles], file_size: int
) -> Sequence[StagedFile]:
    table = write.table
    number = directory_number_by_partition(existing.skew, [], table)
    values = write.static_partition or ()
    own = settings(context.spark)
    with failures_as_one_line(f"CONCATENATE of {table.full_name}"), Commit(context, write, own) as commit:
        rows = reduce(DataFrame.unionAll, [_rows(context, table, directory, file_size) for directory in directories])
        rows = rows.coalesce(
            sum(directory.target_count(file_size) for directory in directories)
        )  # keeps neighbouring rows together
        for column, text in zip(table.partition_columns, values, strict=True):
            rows = rows.withColumn(column.name, F.lit(None if text == DEFAULT_PARTITION else text).cast("string"))
        context.on_step("planned")
        with commit.staging():
            uploads = commit.uploads({values: existing}, {values: existing.skew})
            into = WriteDirectory(commit.directory, commit.query_id, uploads=uploads)
            staged = write_staging(table, rows, number, into)
        context.on_step("staged")
        commit.set_files(staged, {values: existing}, {values: existing.skew})
        (placement,) = publish(context, [commit])
    context.report(table.full_name, result_of(commit.query_id, placement.publications, staged))
    context.on_step("cleaned")
    return staged


def _rows(context: Context, table: Table, directory: _DirectoryFiles, file_size: int) -> DataFrame:
    """Returns the rows of a directory, in as many tasks as it will have files."""
    whole = context.spark.table(f"{quote(table.database)}.{quote(table.name)}")
    data = whole.select(*(quote(column.name) for column in table.columns))
    reader = context.spark.read.format(file_format(table.storage, table.full_name)).schema(data.schema)
    # Spark would take special characters of a location for a pattern.
    return (
        reader.option("__globPaths__", "false").load(list(directory.files)).coalesce(directory.target_count(file_size))
    )


def _report(
    context: Context, name: str, skew: Skew, before: Iterable[_DirectoryFiles], after: Sequence[StagedFile] | None
) -> DataFrame:
    names = skew_directories(skew.columns, skew.values) if skew.is_list_bucketed else ("",)
    old: dict[int, tuple[int, int]] = {}
    for directory in before:
        files, size = old.get(directory.number, (0, 0))
        old[directory.number] = files + len(directory.files), size + directory.size
    new = old
    if after is not None:
        sizes = {number: [file.size for file in after if file.directory == number] for number in range(len(names))}
        new = {number: (len(listed), sum(listed)) for number, listed in sizes.items() if listed}
    rows = [
        (name, names[number], *old.get(number, (0, 0)), *new.get(number, (0, 0)))
        for number in sorted(old.keys() | new.keys())
    ]
    return context.spark.createDataFrame(rows, _REPORT)


def _directory(location: str) -> str:
    """Returns the directory of a file, in the flat layout with the prefix of its name that identifies the value."""
    name = name_of(location)
    prefix, is_flat, _ = name.rpartition("=")
    return f"{parent(location)}/{prefix}=" if is_flat else parent(location)


def _normalized(location: str) -> str:
    """Returns a location in Hadoop's spelling (file:/a instead of file:///a), without a slash at the end."""
    return location.replace(":///", ":/", 1).rstrip("/")
