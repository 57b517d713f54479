"""What a scan of a bucketed table needs: each partition's buckets, and the files that a set of hashes leaves. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metastore.client.structs import Column, ScanBuckets, ScanPartition, ScanStorage
from metastore.domain.buckets import UNPARTITIONED, Buckets, buckets, is_sparks_own, mismatch
from metastore.domain.partition_names import value_path
from spark_client.errors import UnreadableTableError
from spark_client.table.bucket_rules import MEND, buckets_of_hashes, readable_buckets, refuse_directory

# Of which Spark's own hash is Hive's version 1.
_SPARK_KNOWS = {"boolean", "tinyint", "smallint", "int", "bigint", "decimal", "date", "string"}


def declaration(declared: ScanBuckets) -> Mapping[str, Any]:
    """A table's buckets for the JVM's side."""
    columns = [column.name for column in declared.columns]
    return {"columns": columns, "count": declared.count, "version": (declared.version or "1").strip()}


def bucketing(
    table: str,
    declared: ScanBuckets | None,
    keys: Sequence[str],
    partition: ScanPartition,
    storages: Sequence[ScanStorage],
) -> Mapping[str, Any] | None:
    """What is to be known of a partition when its files are listed; None where the table has no buckets.

    `declared`: those of the table; `keys`: its partition columns. `retyped`: its rows lie by the hash of other types;
    `sparks`: files of Spark's own writer are in order.
    """
    if declared is None:
        return None
    of_table = of_partition = Buckets(tuple(column.name for column in declared.columns), declared.count)
    retyped = False
    if partition.values and partition.storage is not None:
        own = storages[partition.storage]
        of_partition, retyped = buckets_of(own), not _types(declared.columns).items() <= _types(own.columns).items()
    name = value_path(keys, partition.values) or UNPARTITIONED
    return {
        "name": name,
        "count": of_partition.count,
        "mismatch": mismatch(table, of_table, name, of_partition),
        "retyped": retyped,
        "sparks": declared.version in (None, "1") and set(_types(declared.columns).values()) <= _SPARK_KNOWS,
    }


def _types(columns: Sequence[Column]) -> dict[str, str]:
    """By name, without lengths and precisions, which do not matter to the hash."""
    return {column.name.lower(): (column.type or "").lower().partition("(")[0] for column in columns}


def buckets_of(storage: ScanStorage) -> Buckets:
    """Those of a partition; Hive has -1 and 0 for none."""
    return buckets(storage.bucket_columns, storage.buckets)


def chosen_files(
    table: str, declared: int, directories: Sequence[Mapping[str, Any]], hashes: Sequence[int] | None
) -> Mapping[str, Any]:
    """For each directory the positions of the files that may hold rows of these hashes, unless they are None: any.

    A directory is {partition: as `bucketing` says, names of files, directory: one that lies in it, or None}; `declared`
    the table's number of buckets. The `numbers` are the bucket of each file, `buckets` how many are left, over all
    directories, `fewest` the smallest number that a partition, or the table, has; `exact`, whether all rows lie by
    the table's hash. Raises UnreadableTableError for what does not fit together.
    """
    keep, told, total, fewest, exact = [], [], 0, declared, True
    for each in directories:
        partition, names = each["partition"], each["names"]
        if partition["mismatch"]:
            raise UnreadableTableError(partition["mismatch"] + MEND)
        if each["directory"]:
            raise refuse_directory(table, partition["name"], each["directory"])
        numbers = readable_buckets(table, partition["name"], names, partition["count"])
        told.append(numbers)
        fewest = min(fewest, partition["count"])
        doubtful = [partition["retyped"] or (is_sparks_own(name) and not partition["sparks"]) for name in names]
        exact = exact and not any(doubtful)
        if hashes is None:
            total += partition["count"]
            continue
        wanted = buckets_of_hashes(hashes, partition["count"])
        wanted |= {number for number, doubt in zip(numbers, doubtful, strict=True) if doubt}
        total += len(wanted)
        keep.append([position for position, number in enumerate(numbers) if number in wanted])
    return {"keep": keep, "numbers": told, "buckets": total, "fewest": fewest, "exact": exact}
