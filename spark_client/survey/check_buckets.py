"""Whether files of a bucketed table are named as its buckets are declared, and whether rows lie in their buckets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client import MetastoreClient
from metastore.client.structs import Column, ScanPlan, Table, VisibleWrites
from metastore.domain.buckets import UNPARTITIONED, Buckets, bucketing_mismatch
from metastore.domain.partition_names import value_path
from metastore.domain.query_ids import is_hidden
from spark_client.context import context_of, reject_remote
from spark_client.errors import InvalidInsertError, UnreadableTableError
from spark_client.jvm.columns import file_schema
from spark_client.jvm.files import Files
from spark_client.scan.buckets import buckets_of
from spark_client.table.bucket_rules import MEND, readable_buckets, refuse_directory
from spark_client.table.paths import name_of, parent
from spark_client.write.bucket_hash import bucket_number
from spark_client.write.staging import file_format

_FILE_SYSTEM = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?")


@dataclass(frozen=True, slots=True)
class BucketProblem:
    """What is wrong with a partition, or with the one place of a table without partitions."""

    partition: str
    problem: str


@dataclass(frozen=True, slots=True)
class _Place:
    partition: str
    location: str
    buckets: Buckets
    columns: tuple[Column, ...]
    input_format: str


def check_buckets(spark: Any, table: str, *, rows: bool = False) -> tuple[BucketProblem, ...]:
    """Returns what is wrong with the names of the files of `table` (`db.t`); empty: nothing.

    `rows`: all rows are read as well, and each is looked for in its bucket. `spark` is a session of this library's.
    Raises InvalidInsertError for a table that has no buckets, or whose hashes nobody can compute.
    """
    reject_remote(spark, "check_buckets", "SHOW BUCKET PROBLEMS IN table")
    metastore = context_of(spark, "there is no metastore: start a session with spark_client.session(…)").metastore
    return problems_of(spark, metastore, table, rows=rows)


def problems_of(
    spark: SparkSession, metastore: MetastoreClient, table: str, *, rows: bool
) -> tuple[BucketProblem, ...]:
    """Finds them as `check_buckets` does."""
    database, _, name = table.rpartition(".")
    target = metastore.get_table(database or spark.catalog.currentDatabase(), name)
    if not target.buckets.count:
        raise InvalidInsertError(f"{target.full_name} has no buckets to check: it is not CLUSTERED BY")
    plan = metastore.plan_scan(target.database, target.name)
    files = Files(spark)
    problems: list[BucketProblem] = []
    numbers: dict[tuple[int, tuple[Column, ...], str], dict[str, tuple[int, str]]] = {}
    for place in _places(target, plan):
        try:
            found = _numbers(files, target, place, plan.writes)
        except UnreadableTableError as error:
            problems.append(BucketProblem(place.partition, str(error).removesuffix(MEND)))
        else:
            known = numbers.setdefault((place.buckets.count, place.columns, place.input_format), {})
            known |= {_path(file): (number, place.partition) for file, number in found.items()}
    for (count, columns, input_format), by_file in numbers.items() if rows else ():
        own = replace(target.storage, input_format=input_format)
        of_partition = replace(target, buckets=replace(target.buckets, count=count), columns=columns, storage=own)
        problems += _wrong_rows(spark, of_partition, by_file)
    return tuple(sorted(problems, key=lambda problem: (problem.partition, problem.problem)))


def _places(table: Table, plan: ScanPlan) -> Iterator[_Place]:
    keys = [column.name for column in table.partition_columns]
    for partition in plan.partitions:
        name = value_path(keys, partition.values) or UNPARTITIONED
        place = _Place(name, partition.location, table.buckets, table.columns, table.storage.input_format)
        if keys and partition.storage is not None:
            own = plan.storages[partition.storage]
            place = replace(place, buckets=buckets_of(own), columns=own.columns, input_format=own.input_format)
        yield place


def _numbers(files: Files, table: Table, place: _Place, writes: VisibleWrites) -> Mapping[str, int]:
    """Location → bucket, of the visible files of a partition. Raises UnreadableTableError."""
    if text := bucketing_mismatch(table.full_name, table.buckets, place.partition, place.buckets):
        raise UnreadableTableError(text)
    inside, directories = files.inside(place.location)
    if directories:
        raise refuse_directory(table.full_name, place.partition, name_of(directories[0]))
    seen = [file for file in inside if not is_hidden(name_of(file), writes.token, writes.highest, writes.open)]
    numbers = readable_buckets(table.full_name, place.partition, [name_of(file) for file in seen], place.buckets.count)
    return dict(zip(seen, numbers, strict=True))


def _wrong_rows(spark: SparkSession, table: Table, by_file: Mapping[str, tuple[int, str]]) -> Iterable[BucketProblem]:
    """Yields, by one job over all files, which buckets the rows of each are of."""
    if not by_file:
        return
    format_ = file_format(table.storage, table.full_name)
    read = spark.read.format(format_).schema(file_schema(spark, table.columns)).option("__globPaths__", "false")
    data = read.option("recursiveFileLookup", "true").load(sorted({parent(file) for file in by_file}))
    number = bucket_number(table, data).alias("bucket")
    for url, bucket, count in data.groupBy(F.col("_metadata.file_path"), number).count().collect():
        file = _path(unquote(url))
        wanted, partition = by_file.get(file, (bucket, ""))
        if bucket != wanted:
            yield BucketProblem(
                partition,
                f"Hive table is corrupt. File '{file}' is for bucket {wanted}, but contains {count} rows for bucket "
                f"{bucket}.",
            )


def _path(location: str) -> str:
    """Without the file system's name, which has several spellings."""
    return _FILE_SYSTEM.sub("", location)
