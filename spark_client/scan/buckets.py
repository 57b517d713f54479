"""What a scan of a bucketed table needs: each partition's buckets, and the files that a set of hashes leaves. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.client.structs import Column, ScanBuckets, ScanPartition, ScanStorage
from metastore.domain.buckets import UNPARTITIONED, Buckets, bucketing_mismatch, buckets, is_written_by_spark
from metastore.domain.partition_names import value_path
from spark_client.errors import UnreadableTableError
from spark_client.jvm.requests import BucketFiles, ChooseBucketFiles, PartitionBuckets, TableBuckets
from spark_client.table.bucket_rules import MEND, buckets_of_hashes, readable_buckets, refuse_directory

# Of which Spark's own hash is Hive's version 1.
_SPARK_KNOWS = {"boolean", "tinyint", "smallint", "int", "bigint", "decimal", "date", "string"}


def declaration(declared: ScanBuckets) -> TableBuckets:
    """Returns a table's buckets for the JVM's side."""
    columns = [column.name for column in declared.columns]
    return TableBuckets(columns, declared.count, (declared.version or "1").strip())


def bucketing(
    table: str,
    declared: ScanBuckets | None,
    keys: Sequence[str],
    partition: ScanPartition,
    storages: Sequence[ScanStorage],
) -> PartitionBuckets | None:
    """Returns what is to be known of a partition when its files are listed; None where the table has no buckets.

    `declared`: those of the table; `keys`: its partition columns.
    """
    if declared is None:
        return None
    of_table = of_partition = Buckets(tuple(column.name for column in declared.columns), declared.count)
    retyped = False
    if partition.values and partition.storage is not None:
        own = storages[partition.storage]
        of_partition, retyped = buckets_of(own), not _types(declared.columns).items() <= _types(own.columns).items()
    name = value_path(keys, partition.values) or UNPARTITIONED
    return PartitionBuckets(
        name,
        of_partition.count,
        bucketing_mismatch(table, of_table, name, of_partition),
        retyped,
        sparks=declared.version in (None, "1") and set(_types(declared.columns).values()) <= _SPARK_KNOWS,
    )


def _types(columns: Sequence[Column]) -> dict[str, str]:
    """Returns them by name, without lengths and precisions, which do not matter to the hash."""
    return {column.name.lower(): (column.type or "").lower().partition("(")[0] for column in columns}


def buckets_of(storage: ScanStorage) -> Buckets:
    """Returns those of a partition; Hive has -1 and 0 for none."""
    return buckets(storage.bucket_columns, storage.buckets)


def chosen_files(request: ChooseBucketFiles) -> BucketFiles:
    """Returns for each directory the files that may hold rows of the hashes.

    Raises UnreadableTableError for what does not fit together.
    """
    table = f"{request.database}.{request.table}"
    keep, told, total, fewest, exact = [], [], 0, request.declared, True
    for listed in request.directories:
        partition = listed.partition
        if partition.mismatch:
            raise UnreadableTableError(partition.mismatch + MEND)
        if listed.directory:
            raise refuse_directory(table, partition.name, listed.directory)
        numbers = readable_buckets(table, partition.name, listed.names, partition.count)
        told.append(numbers)
        fewest = min(fewest, partition.count)
        doubtful = [partition.retyped or (is_written_by_spark(name) and not partition.sparks) for name in listed.names]
        exact = exact and not any(doubtful)
        if request.hashes is None:
            total += partition.count
            continue
        wanted = buckets_of_hashes(request.hashes, partition.count)
        wanted |= {number for number, doubt in zip(numbers, doubtful, strict=True) if doubt}
        total += len(wanted)
        keep.append([position for position, number in enumerate(numbers) if number in wanted])
    return BucketFiles(keep, told, total, fewest, exact)
