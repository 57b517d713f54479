"""Bucket pruning: the buckets of each partition of a scan, and the files that can hold rows of given hashes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.client.structs import Column, ScanBuckets, ScanPartition, ScanStorage
from metastore.domain.buckets import UNPARTITIONED, Buckets, bucketing_mismatch, buckets, is_written_by_spark
from metastore.domain.partition_names import value_path
from spark_client.errors import UnreadableTableError
from spark_client.jvm.scan_messages import BucketFiles, ChooseBucketFiles, PartitionBuckets, TableBuckets
from spark_client.table.bucket_rules import IGNORE_BUCKETS_HINT, buckets_of_hashes, directory_error, readable_buckets

# Types for which Spark's writer of bucketed Hive tables computes the same hash as Hive's bucketing version 1.
_SPARK_HASHES = {"boolean", "tinyint", "smallint", "int", "bigint", "decimal", "date", "string"}


def table_buckets(declared: ScanBuckets) -> TableBuckets:
    """Returns the buckets of a table for the JVM."""
    columns = [column.name for column in declared.columns]
    return TableBuckets(columns, declared.count, (declared.version or "1").strip())


def partition_buckets(
    table: str,
    declared: ScanBuckets | None,
    keys: Sequence[str],
    partition: ScanPartition,
    storages: Sequence[ScanStorage],
) -> PartitionBuckets | None:
    """Returns the buckets of a partition for the JVM, or None if the table has no buckets.

    Args:
        table: database.table, for messages.
        declared: The buckets of the table.
        keys: The names of the partition columns.
        partition: The partition. A table without partition columns is one partition without values.
        storages: The storage descriptors of the plan, to which partitions refer by index.
    """
    if declared is None:
        return None
    table_declared = partition_declared = Buckets(tuple(column.name for column in declared.columns), declared.count)
    retyped = False
    if partition.values and partition.storage is not None:
        storage = storages[partition.storage]
        partition_declared = buckets_of(storage)
        retyped = not _types(declared.columns).items() <= _types(storage.columns).items()
    name = value_path(keys, partition.values) or UNPARTITIONED
    return PartitionBuckets(
        name,
        partition_declared.count,
        bucketing_mismatch(table, table_declared, name, partition_declared),
        retyped,
        spark_files_valid=declared.version in (None, "1") and set(_types(declared.columns).values()) <= _SPARK_HASHES,
    )


def _types(columns: Sequence[Column]) -> dict[str, str]:
    """Returns the types by column name, without lengths and precisions: Hive's hash does not depend on them."""
    return {column.name.lower(): (column.type or "").lower().partition("(")[0] for column in columns}


def buckets_of(storage: ScanStorage) -> Buckets:
    """Returns the buckets of a partition. Hive writes -1 or 0 for no buckets."""
    return buckets(storage.bucket_columns, storage.buckets)


def choose_files(request: ChooseBucketFiles) -> BucketFiles:
    """Returns, for each directory, the files that can hold rows with one of the hashes.

    A file is always kept if its rows may belong to other buckets than its name says: the partition was written with
    other column types, or Spark wrote it with a hash that differs from Hive's.

    Raises UnreadableTableError if the buckets of a partition, its file names or sub-directories contradict the table.
    """
    table = f"{request.database}.{request.table}"
    keep, numbers_of_files, total, fewest, exact = [], [], 0, request.declared, True
    for listed in request.directories:
        partition = listed.partition
        if partition.mismatch:
            raise UnreadableTableError(partition.mismatch + IGNORE_BUCKETS_HINT)
        if listed.directory:
            raise directory_error(table, partition.name, listed.directory)
        numbers = readable_buckets(table, partition.name, listed.names, partition.count)
        numbers_of_files.append(numbers)
        fewest = min(fewest, partition.count)
        doubtful = [
            partition.retyped or (is_written_by_spark(name) and not partition.spark_files_valid)
            for name in listed.names
        ]
        exact = exact and not any(doubtful)
        if request.hashes is None:
            total += partition.count
            continue
        matching = buckets_of_hashes(request.hashes, partition.count)
        matching |= {number for number, doubt in zip(numbers, doubtful, strict=True) if doubt}
        total += len(matching)
        keep.append([position for position, number in enumerate(numbers) if number in matching])
    return BucketFiles(keep, numbers_of_files, total, fewest, exact)
