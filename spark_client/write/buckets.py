"""Writes the rows of a bucketed table: sorted by SORTED BY, into files whose names begin with the bucket number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Rename, Table
from metastore.domain.buckets import UNPARTITIONED, bucket_file, bucket_of, bucketing_mismatch
from metastore.domain.partition_names import value_path
from spark_client.context import Context
from spark_client.errors import InvalidInsertError
from spark_client.jvm.files import Files
from spark_client.jvm.sql_text import quote
from spark_client.table.bucket_rules import EMPTY_FILES, creates_empty_files
from spark_client.table.paths import name_of, parent
from spark_client.write.bucket_hash import bucket_number
from spark_client.write.empty_buckets import add_empty_files
from spark_client.write.placement import Write
from spark_client.write.snapshot import Snapshot, Values
from spark_client.write.staging import StagedFile, WriteDirectory, write_staging


def write_buckets(
    context: Context,
    write: Write,
    rows: DataFrame,
    snapshot: Snapshot,
    into: WriteDirectory,
) -> tuple[StagedFile, ...]:
    """Writes the rows as `write_staging`, with files in the partitions' directories under their final names.

    An append keeps the number of buckets of each partition. Buckets without rows get files only if the session or the
    table requests it (EMPTY_FILES). Raises InvalidInsertError.
    """
    table = write.table
    kept = {} if write.overwrite else {values: existing.buckets.count for values, existing in snapshot.items()}
    number = bucket_number(table, rows, _by_count(table, kept))
    staged = write_staging(table, rows, number, into, _order(table))
    files = Files(context.spark)
    if not write.overwrite:
        _check_partitions(files, table, staged, snapshot)
    named = _named(files, staged, into)
    if not creates_empty_files(context.spark.conf.get(EMPTY_FILES, None), table.parameters):
        return named
    counts = {file.values: kept.get(file.values, table.buckets.count) for file in named}
    if write.static_partition is not None and (write.overwrite or write.static_partition not in snapshot):
        counts.setdefault(write.static_partition, table.buckets.count)
    return add_empty_files(context.spark, table, named, counts, into.location, into.query_id)


def _by_count(table: Table, kept: dict[Values, int]) -> list[tuple[int, list[Values]]]:
    """Returns the numbers of buckets that differ from the table's, each with its partitions."""
    groups: dict[int, list[Values]] = {}
    for values, count in kept.items():
        if count and count != table.buckets.count:
            groups.setdefault(count, []).append(values)
    return list(groups.items())


def _order(table: Table) -> list[Column]:
    """Returns the order of SORTED BY. As in Hive, nulls are first if ascending and last if descending."""
    columns = [(F.col(quote(name)), ascends) for name, ascends in table.buckets.order]
    return [column.asc_nulls_first() if ascends else column.desc_nulls_last() for column, ascends in columns]


def _check_partitions(files: Files, table: Table, staged: Iterable[StagedFile], snapshot: Snapshot) -> None:
    """Raises InvalidInsertError for an append to a partition whose files would no longer show their buckets."""
    names = [column.name for column in table.partition_columns]
    appended = sorted({file.values for file in staged} & snapshot.keys())
    present = files.names([snapshot[values].location for values in appended])
    for values, files_of in zip(appended, present, strict=True):
        name = value_path(names, values) or UNPARTITIONED
        text = bucketing_mismatch(table.full_name, table.buckets, name, snapshot[values].buckets)
        if snapshot[values].skew.is_list_bucketed:
            text = f"Hive table ({table.full_name}) is bucketed but partition ({name}) has skew directories"
        if unnumbered := [file for file in files_of if bucket_of(file) is None]:
            text = (
                f"Hive table ({table.full_name}) has a file without a bucket number, '{unnumbered[0]}', in partition "
            )
            text += f"({name}), so readers number its buckets by the order of names, which new files would change"
        if text:
            raise InvalidInsertError(f"{text}; INSERT OVERWRITE it")


def _named(files: Files, staged: Sequence[StagedFile], into: WriteDirectory) -> tuple[StagedFile, ...]:
    """Moves the files of each bucket's directory to its parent, and puts the bucket number before their names.

    Files that are uploaded have their names already.
    """
    if into.uploads and into.uploads.pending:
        return tuple(replace(file, directory=0) for file in staged)
    moved = [
        replace(
            file,
            location=f"{parent(parent(file.location))}/{bucket_file(file.directory, name_of(file.location))}",
            directory=0,
        )
        for file in staged
    ]
    pairs = zip(staged, moved, strict=True)
    files.rename([Rename(before.location, after.location) for before, after in pairs])
    files.prune({parent(file.location) for file in staged}, into.location)
    return tuple(moved)
