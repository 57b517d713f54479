"""Checks that the files of a bucketed table are named by its buckets, and that rows are in the right buckets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from metastore.client import MetastoreClient
from metastore.client.structs import Column, ScanPlan, Table, VisibleWrites
from metastore.domain.buckets import UNPARTITIONED, Buckets, bucketing_mismatch
from metastore.domain.partition_names import value_path
from spark_client.context import context_of, reject_remote, require
from spark_client.errors import InvalidInsertError, UnreadableTableError
from spark_client.jvm.columns import file_schema
from spark_client.jvm.files import Files
from spark_client.scan.buckets import buckets_of
from spark_client.table.bucket_rules import IGNORE_BUCKETS_HINT, directory_error, readable_buckets
from spark_client.table.paths import name_of, parent
from spark_client.write.bucket_hash import bucket_number
from spark_client.write.staging import file_format

_FILE_SYSTEM = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?")


@dataclass(frozen=True, slots=True)
class BucketProblem:
    """A problem of a partition, or of a table without partitions."""

    partition: str
    problem: str


@dataclass(frozen=True, slots=True)
class _PartitionDirectory:
    partition: str
    location: str
    buckets: Buckets
    columns: tuple[Column, ...]
    input_format: str


def check_buckets(spark: Any, table: str, *, rows: bool = False) -> tuple[BucketProblem, ...]:
    """Returns the problems with the file names of a bucketed table, `db.t`. Empty if there are none.

    Args:
        spark: A session of this library.
        table: The table's name.
        rows: Also read all rows and check that each is in the bucket of its file.

    Raises InvalidInsertError for a table without buckets, or one whose hash this library cannot compute.
    """
    require(spark, SparkSession, "check_buckets", "a session first", "check_buckets(spark, 'db.t')")
    reject_remote(spark, "check_buckets", "SHOW BUCKET PROBLEMS IN table")
    metastore = context_of(spark, "no metastore: start a session with spark_client.session(…)").metastore
    return problems_of(spark, metastore, table, rows=rows)


def problems_of(
    spark: SparkSession, metastore: MetastoreClient, table: str, *, rows: bool
) -> tuple[BucketProblem, ...]:
    """Returns the problems of a table. See `check_buckets`."""
    database, _, name = table.rpartition(".")
    target = metastore.get_table(database or spark.catalog.currentDatabase(), name)
    if not target.buckets.count:
        raise InvalidInsertError(f"{target.full_name} is not CLUSTERED BY: it has no buckets to check")
    plan = metastore.plan_scan(target.database, target.name, is_query=False)
    files = Files(spark)
    problems: list[BucketProblem] = []
    numbers: dict[tuple[int, tuple[Column, ...], str], dict[str, tuple[int, str]]] = {}
    for directory in _partition_directories(target, plan):
        try:
            numbers_of_files = _numbers(files, target, directory, plan.writes)
        except UnreadableTableError as error:
            problems.append(BucketProblem(directory.partition, str(error).removesuffix(IGNORE_BUCKETS_HINT)))
        else:
            by_file = numbers.setdefault((directory.buckets.count, directory.columns, directory.input_format), {})
            by_file |= {_path(file): (number, directory.partition) for file, number in numbers_of_files.items()}
    for (count, columns, input_format), by_file in numbers.items() if rows else ():
        storage = replace(target.storage, input_format=input_format)
        partition_table = replace(
            target, buckets=replace(target.buckets, count=count), columns=columns, storage=storage
        )
        problems += _wrong_rows(spark, partition_table, by_file)
    return tuple(sorted(problems, key=lambda problem: (problem.partition, problem.problem)))


def _partition_directories(table: Table, plan: ScanPlan) -> Iterator[_PartitionDirectory]:
    keys = [column.name for column in table.partition_columns]
    for partition in plan.partitions:
        name = value_path(keys, partition.values) or UNPARTITIONED
        directory = _PartitionDirectory(
            name, partition.location, table.buckets, table.columns, table.storage.input_format
        )
        if keys and partition.storage is not None:
            storage = plan.storages[partition.storage]
            directory = replace(
                directory, buckets=buckets_of(storage), columns=storage.columns, input_format=storage.input_format
            )
        yield directory


def _numbers(files: Files, table: Table, directory: _PartitionDirectory, writes: VisibleWrites) -> Mapping[str, int]:
    """Returns the bucket of each visible file of a partition, by location. Raises UnreadableTableError."""
    if text := bucketing_mismatch(table.full_name, table.buckets, directory.partition, directory.buckets):
        raise UnreadableTableError(text)
    inside, directories = files.inside(directory.location)
    if directories:
        raise directory_error(table.full_name, directory.partition, name_of(directories[0]))
    visible = [file for file in inside if not writes.hides(name_of(file))]
    numbers = readable_buckets(
        table.full_name, directory.partition, [name_of(file) for file in visible], directory.buckets.count
    )
    return dict(zip(visible, numbers, strict=True))


def _wrong_rows(spark: SparkSession, table: Table, by_file: Mapping[str, tuple[int, str]]) -> Iterable[BucketProblem]:
    """Yields the files that contain rows of another bucket. One Spark job reads all files."""
    if not by_file:
        return
    format_ = file_format(table.storage, table.full_name)
    read = spark.read.format(format_).schema(file_schema(spark, table.columns)).option("__globPaths__", "false")
    data = read.option("recursiveFileLookup", "true").load(sorted({parent(file) for file in by_file}))
    number = bucket_number(table, data).alias("bucket")
    for url, bucket, count in data.groupBy(F.col("_metadata.file_path"), number).count().collect():
        file = _path(unquote(url))
        expected, partition = by_file.get(file, (bucket, ""))
        if bucket != expected:
            yield BucketProblem(
                partition,
                f"Hive table is corrupt. File '{file}' is for bucket {expected}, but contains {count} rows for bucket "
                f"{bucket}.",
            )


def _path(location: str) -> str:
    """Returns the path of a location without its scheme and authority, which have several spellings."""
    return _FILE_SYSTEM.sub("", location)
