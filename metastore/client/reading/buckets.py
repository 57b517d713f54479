"""Leaves out files of buckets that cannot have rows of a predicate."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from metastore.client.paged import paged
from metastore.client.reading.listing import DataFile, data_files
from metastore.client.reading.schema import PROVIDER
from metastore.client.reading.values import scalar
from metastore.client.structs import Column, ScanBuckets, ScanPlan, Table
from metastore.domain.bucket_hash import possible_hashes
from metastore.domain.buckets import (
    Buckets,
    bucket_numbers,
    bucketing_mismatch,
    buckets,
    is_written_by_spark,
    layout_problem,
)
from metastore.domain.expression import Expression

# Types for which Spark's writer of bucketed Hive tables computes the same hash as Hive's bucketing version 1.
_SPARK_HASHES = {"boolean", "tinyint", "smallint", "int", "bigint", "decimal", "date", "string"}


def files_of_buckets(
    table: Table, plan: ScanPlan, predicate: Expression | None, files: Sequence[DataFile]
) -> Sequence[DataFile]:
    """Returns the files that can have rows for which a predicate is true.

    Files whose names or partition do not fit the declared buckets are kept, as are those of partitions whose bucketing
    columns had other types.
    """
    declared = plan.buckets
    version = "" if declared is None else (declared.version or "1").strip()
    if declared is None or predicate is None or version not in ("1", "2") or _is_of_spark(table):
        return files
    columns = [(column.name, column.type or "") for column in declared.columns]
    hashes = possible_hashes(columns, predicate, int(version), lambda kind, text: scalar(kind, text).as_py())
    if hashes is None:
        return files
    return paged(_matching(table, plan, declared, hashes, files), data_files)


def _matching(
    table: Table, plan: ScanPlan, declared: ScanBuckets, hashes: Collection[int], files: Sequence[DataFile]
) -> Iterator[DataFile]:
    types = _types(declared.columns)
    version = (declared.version or "1").strip()
    spark_is_valid = version == "1" and set(types.values()) <= _SPARK_HASHES
    of_table = Buckets(tuple(column.name for column in declared.columns), declared.count)
    for _, group in groupby(files, lambda file: (file.partition, file.location.rpartition("/")[0])):
        found = list(group)
        storage = plan.storages[found[0].storage]
        own = of_table if not table.partition_columns else buckets(storage.bucket_columns, storage.buckets)
        retyped = bool(table.partition_columns) and not types.items() <= _types(storage.columns).items()
        names = [file.location.rpartition("/")[2] for file in found]
        if retyped or bucketing_mismatch("", of_table, "", own) or layout_problem("", "", names, (), own.count):
            yield from found
            continue
        matching = {(digest & 0x7FFFFFFF) % own.count for digest in hashes}
        for file, name, number in zip(found, names, bucket_numbers(names), strict=True):
            if number in matching or (is_written_by_spark(name) and not spark_is_valid):
                yield file


def _types(columns: Sequence[Column]) -> dict[str, str]:
    """Returns the types by column name, without lengths and precisions: Hive's hash does not depend on them."""
    return {column.name.lower(): (column.type or "").lower().partition("(")[0] for column in columns}


def _is_of_spark(table: Table) -> bool:
    return table.parameters.get(PROVIDER, "hive").lower() != "hive"
