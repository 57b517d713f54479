"""Carries out ALTER TABLE … CONCATENATE: the small files of each directory become few, and readers see all at once.

Each directory is read and written anew by as many tasks as it is to have files, without a shuffle, so rows that were
near each other stay so. Hive: AlterTableConcatenateAnalyzer, and hive.merge.size.per.task for the size of files.
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
from spark_client.jvm.plans import scanned_files
from spark_client.jvm.sql_text import quote
from spark_client.statements.grammar.concatenate import Concatenate
from spark_client.statements.run.clauses import resolve_table, typed_values
from spark_client.table.paths import name_of, parent
from spark_client.write.commit import Commit
from spark_client.write.insert import failures_as_one_line
from spark_client.write.placement import Write
from spark_client.write.publication import publish
from spark_client.write.skewed_directory import directory_number_by_partition
from spark_client.write.snapshot import PartitionState, Values, take_snapshot
from spark_client.write.staging import StagedFile, file_format, write_staging

FILE_SIZE, EXTERNAL_TOO = "hive.merge.size.per.task", "hive.concatenate.external.table"
_DEFAULT_FILE_SIZE = 256_000_000  # bytes
_REPORT = (
    "partition string, directory string, files_before bigint, bytes_before bigint, files_after bigint, "
    "bytes_after bigint"
)


@dataclass(frozen=True, slots=True)
class _Place:
    """The files of one directory. `number`: of its skewed value, 0 for the default one."""

    number: int
    files: tuple[str, ...]
    size: int

    def wanted(self, file_size: int) -> int:
        """Tells how many files there are to be, at most."""
        return max(1, math.ceil(self.size / file_size))


def columns(_: Context, __: Concatenate) -> str:
    """Returns the columns of its rows."""
    return _REPORT


def execute(context: Context, statement: Concatenate, _: str) -> DataFrame:
    """Merges; returns files and bytes of each directory, before and after.

    Raises:
        InvalidStatementError: the table is of a kind that Hive refuses, with Hive's code.
        NoSuchTableError, NoSuchPartitionError: it is not there.
        PublishConflictError: somebody else wrote to the partition meanwhile; run it again.
        WriteFailedError: the job or the file system failed.
    """
    table = context.metastore.get_table(*resolve_table(context, statement.table))
    _check(context, table)
    values = _values(context, table, statement)
    name = value_path([column.name for column in table.partition_columns], values)
    static = dict(zip((column.name for column in table.partition_columns), values, strict=True))
    # Before the files are looked at: whoever writes to the partition after that makes it another version.
    existing = take_snapshot(context.metastore, table, static, with_skew=True)
    if values not in existing:
        raise NoSuchPartitionError(f"{table.full_name} has no partition {name}")
    if existing[values].parameters.get("is_archived", "").lower() == "true":
        raise _refusal(30032, "can not be performed on archived partitions", f"{table.full_name} {name}")
    if file_format(existing[values].storage, name) != file_format(table.storage, table.full_name):
        raise InvalidStatementError(f"{table.full_name} {name} has another format than the table; INSERT OVERWRITE it")
    file_size = int(context.spark.conf.get(FILE_SIZE, None) or _DEFAULT_FILE_SIZE)
    before = _places(context, table, values, existing[values].skew)
    after: Sequence[StagedFile] | None = None
    if any(len(place.files) > place.wanted(file_size) for place in before):
        after = _merge(context, Write(table, static, overwrite=True), existing[values], before, file_size)
    return _report(context, name, existing[values].skew, before, after)


def _check(context: Context, table: Table) -> None:
    """Hive's refusals, in its order, with its codes and words (ErrorMsg)."""
    parameters = {key: value.lower() for key, value in table.parameters.items()}
    provider = parameters.get("spark.sql.sources.provider", "hive")
    external_too = context.spark.conf.get(EXTERNAL_TOO, None) == "true"
    is_managed = table.table_type == "MANAGED_TABLE" or (external_too and table.table_type == "EXTERNAL_TABLE")
    formats = ("parquet", "orc")
    refusals = (
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
    for is_refused, code, text in refusals:
        if is_refused:
            raise _refusal(code, text, table.full_name)


def _refusal(code: int, text: str, name: str) -> InvalidStatementError:
    return InvalidStatementError(f"[Error {code}]: Concatenate/Merge {text}: {name}")


def _values(context: Context, table: Table, statement: Concatenate) -> Values:
    if table.partition_columns and statement.partition is None:
        raise InvalidStatementError(f"source table {table.full_name} is partitioned but no partition desc found.")
    if statement.partition is None:
        return ()
    if not table.partition_columns:
        raise InvalidStatementError(f"source table {table.full_name} is not partitioned but partition desc found.")
    return typed_values(context, table, statement.table, statement.partition)


def _places(context: Context, table: Table, values: Values, skew: Skew) -> list[_Place]:
    """Returns the directories of a partition that have files, with those that readers see."""
    numbers = {_plain(skew.locations.get(tuple(value), "")): n for n, value in enumerate(skew.values, 1)}
    prefixes = {prefix: n for n, prefix in enumerate(flat_prefixes(skew.columns, skew.values))}
    found: dict[str, list[tuple[str, int]]] = {}
    for location, size in _visible_files(context, table, values):
        found.setdefault(_place(location), []).append((location, size))
    return [
        _Place(
            numbers.get(_plain(place)) or prefixes.get(name_of(place), 0),
            tuple(name for name, _ in files),
            sum(size for _, size in files),
        )
        for place, files in sorted(found.items())
    ]


def _visible_files(context: Context, table: Table, values: Values) -> Iterator[tuple[str, int]]:
    """Yields them as a query of the partition would read them."""
    rows = context.spark.table(f"{quote(table.database)}.{quote(table.name)}")
    for column, text in zip(table.partition_columns, values, strict=True):
        value = F.lit(None if text == DEFAULT_PARTITION else text).cast(column.type)
        rows = rows.where(F.col(quote(column.name)).eqNullSafe(value))
    return scanned_files(rows)


def _merge(
    context: Context, write: Write, existing: PartitionState, places: Sequence[_Place], file_size: int
) -> Sequence[StagedFile]:
    table = write.table
    number = directory_number_by_partition(existing.skew, [], table)
    values = write.static_partition or ()
    with failures_as_one_line(f"CONCATENATE of {table.full_name}"), Commit(context, write) as commit:
        rows = reduce(DataFrame.unionAll, [_rows(context, table, place, file_size) for place in places])
        rows = rows.coalesce(sum(place.wanted(file_size) for place in places))  # as they are: so they are to stay
        for column, text in zip(table.partition_columns, values, strict=True):
            rows = rows.withColumn(column.name, F.lit(None if text == DEFAULT_PARTITION else text).cast("string"))
        context.on_step("planned")
        staged = write_staging(table, rows, number, commit.directory, commit.query_id)
        context.on_step("staged")
        commit.set_files(staged, {values: existing}, {values: existing.skew})
        publish(context, [commit])
    context.on_step("cleaned")
    return staged


def _rows(context: Context, table: Table, place: _Place, file_size: int) -> DataFrame:
    """Returns the rows of a directory, in as many tasks as it is to have files."""
    whole = context.spark.table(f"{quote(table.database)}.{quote(table.name)}")
    data = whole.select(*(quote(column.name) for column in table.columns))
    reader = context.spark.read.format(file_format(table.storage, table.full_name)).schema(data.schema)
    # A location is a name, not a pattern.
    return reader.option("__globPaths__", "false").load(list(place.files)).coalesce(place.wanted(file_size))


def _report(
    context: Context, name: str, skew: Skew, before: Iterable[_Place], after: Sequence[StagedFile] | None
) -> DataFrame:
    names = skew_directories(skew.columns, skew.values) if skew.is_list_bucketed else ("",)
    old: dict[int, tuple[int, int]] = {}
    for place in before:
        files, size = old.get(place.number, (0, 0))
        old[place.number] = files + len(place.files), size + place.size
    new = old
    if after is not None:
        sizes = {number: [file.size for file in after if file.directory == number] for number in range(len(names))}
        new = {number: (len(found), sum(found)) for number, found in sizes.items() if found}
    rows = [
        (name, names[number], *old.get(number, (0, 0)), *new.get(number, (0, 0)))
        for number in sorted(old.keys() | new.keys())
    ]
    return context.spark.createDataFrame(rows, _REPORT)


def _place(location: str) -> str:
    """Returns the directory of a file; in the flat layout with the beginning of its name, which tells the value."""
    name = name_of(location)
    prefix, is_flat, _ = name.rpartition("=")
    return f"{parent(location)}/{prefix}=" if is_flat else parent(location)


def _plain(location: str) -> str:
    """Hadoop writes one slash where others write three."""
    return location.replace(":///", ":/", 1).rstrip("/")
