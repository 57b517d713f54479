"""Filters on bucketing columns open only the files of the buckets that can match, whichever engine wrote and named
them.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import QueryExecutionException
from pyspark.sql import DataFrame, SparkSession

from metastore.client.structs import Table
from metastore.domain.buckets import NOT_BUCKETED, Buckets, bucket_of
from spark_client import by_bucket, scan_report
from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.scan.report import ScanStatistics
from spark_client.write.insert import insert_into
from tests.spark.since import since
from tests.spark.tables import ORC, columns, folder, frame, make_table

VERSION_2 = {"bucketing_version": "2"}


def kept(df: DataFrame) -> ScanStatistics:
    (scan,) = scan_report(df).scans
    return scan.kept


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in df.collect())


@pytest.fixture(scope="module")
def shop(spark: SparkSession, metastore: Any) -> Table:
    """Two partitions of 8 buckets, with ids 0 … 99 in each."""
    table = make_table(
        metastore, "bucketed_shop", "id int, v string", "ds int", parameters=VERSION_2, buckets=Buckets(("id",), 8)
    )
    data = frame(spark, "id int, v string, ds int", *((n % 100, f"v{n}", n // 100) for n in range(200)))
    insert_into(Context(spark, metastore), table.full_name, data)
    return table


@pytest.mark.parametrize(
    ("condition", "ids", "buckets"),
    [
        ("id = 7", {7}, 1),
        ("7 = id", {7}, 1),
        ("id <=> 7", {7}, 1),
        ("id IN (1, 2)", {1, 2}, 2),  # 1321152925 and 1798566404, mod 8: 5 and 4
        ("id = 1 OR id = 2", {1, 2}, 2),
        ("(id = 1 OR id = 2) AND v = 'v101'", {1}, 2),
        ("id IN (1, 2) AND id = 1", {1}, 1),
        ("id = 1 AND id IN (2, 3) AND rand() >= 0", set(), 0),
        ("id IS NULL", set(), 1),
        ("id = CAST(7 AS BIGINT)", {7}, 1),
        ("id = 1 OR v = 'v102'", {1, 2}, 8),
        ("id > 7", set(range(8, 100)), 8),
        ("NOT id = 7", set(range(100)) - {7}, 8),
        ("v = 'v101'", {1}, 8),
        ("id = 1 AND rand() >= 0", {1}, 1),
    ],
)
def test_only_the_files_of_buckets_that_can_match_are_opened(
    spark: SparkSession, shop: Table, condition: str, ids: set[int], buckets: int
) -> None:
    df = spark.table(shop.name).where(f"ds = 1 AND ({condition})")
    extent = kept(df)
    assert extent.buckets == buckets
    assert extent.files <= buckets
    assert rows(df) == [(id_, f"v{100 + id_}", 1) for id_ in sorted(ids)]


def test_buckets_are_pruned_in_every_partition(spark: SparkSession, shop: Table) -> None:
    df = spark.table(shop.name).where("id = 7")
    assert (kept(df).partitions, kept(df).files, kept(df).buckets) == (2, 2, 2)
    assert rows(df) == [(7, "v107", 1), (7, "v7", 0)]


def test_a_long_list_is_pruned_too_but_not_an_endless_one(spark: SparkSession, shop: Table) -> None:
    few = ", ".join(map(str, range(0, 100, 5)))
    df = spark.table(shop.name).where(f"id IN ({few})")
    assert len(rows(df)) == 40
    assert kept(spark.table(shop.name).where("id IN (" + ", ".join(["7"] * 20) + ")")).buckets == 2
    assert kept(spark.table(shop.name).where(f"id IN ({', '.join(map(str, range(2000)))})")).buckets == 16


def test_the_report_contains_the_buckets(spark: SparkSession, shop: Table) -> None:
    (scan,) = scan_report(spark.table(shop.name).where("id = 7 AND ds = 0")).scans
    assert scan.kept.files == 1
    assert scan.total.buckets == 16
    assert f"1 of 16 buckets, 1 of {scan.total.files} files" in str(scan)
    assert 0 < scan.kept.bytes < scan.total.bytes / 8


# Hive's type; the values of three rows, and their literals in a query.
COLUMNS: list[tuple[str, list[Any], list[str]]] = [
    ("string", ["é", "", "日本"], ["'é'", "''", "'日本'"]),
    ("char(4)", ["a", "bc", "def"], ["'a'", "'bc  '", "'def'"]),
    ("varchar(4)", ["a", "bc", "def"], ["'a'", "'bc'", "'def'"]),
    ("bigint", [1, -1, 2**62], ["1", "-1", str(2**62)]),
    ("smallint", [1, -1, 300], ["1", "-1", "300"]),
    ("decimal(12,3)", [Decimal("1.500"), Decimal(-7), Decimal(0)], ["1.5", "-7", "0.000"]),
    ("double", [1.5, -0.0, float("nan")], ["1.5", "CAST(0 AS DOUBLE)", "CAST('NaN' AS DOUBLE)"]),
    ("date", [datetime.date(2020, 1, day) for day in (1, 2, 3)], [f"DATE'2020-01-0{day}'" for day in (1, 2, 3)]),
    ("boolean", [True, False, True], ["true", "false", "true"]),
]


@pytest.mark.parametrize("version", ["1", "2"])
def test_written_rows_are_found_for_each_type(context: Context, table_name: str, version: str) -> None:
    """All types are bucketing columns of one table: a wrong hash of one literal would lose a row."""
    names = [f"c{number}" for number in range(len(COLUMNS))]
    table = make_table(
        context.metastore,
        table_name,
        ", ".join(f"{name} {kind}" for name, (kind, _, _) in zip(names, COLUMNS, strict=True)),
        parameters={"bucketing_version": version},
        buckets=Buckets(tuple(names), 512),
    )
    plain = ", ".join(
        f"{n} {'string' if 'char' in kind else kind}" for n, (kind, _, _) in zip(names, COLUMNS, strict=True)
    )
    rows_ = [[values[row] for _, values, _ in COLUMNS] for row in range(3)]
    insert_into(context, table.full_name, frame(context.spark, plain, *rows_, [None] * len(names)))
    for row in range(3):
        where = " AND ".join(f"{name} = {texts[row]}" for name, (_, _, texts) in zip(names, COLUMNS, strict=True))
        df = context.spark.table(table_name).where(where)
        assert df.count() == 1, where
        # 0.0 is -0.0, which differs only in the sign in version 1, and the sign is ignored
        assert kept(df).buckets == (2 if row == 1 and version == "2" else 1)
        assert kept(df).files == 1
    nothing = context.spark.table(table_name).where(" AND ".join(f"{name} IS NULL" for name in names))
    assert (nothing.count(), kept(nothing).buckets) == (1, 1)


def test_several_columns_are_pruned_only_together(context: Context, table_name: str) -> None:
    table = make_table(
        context.metastore,
        table_name,
        "a int, b tinyint",
        storage=ORC,
        buckets=Buckets(("a", "b"), 8),
        parameters=VERSION_2,
    )
    pairs = [(a, b) for a in (1, 10) for b in (5, 6, 7)]
    insert_into(context, table.full_name, frame(context.spark, "a int, b tinyint", *pairs))
    both = context.spark.table(table_name).where("a IN (1, 10) AND b IN (5, 6)")
    assert kept(both).buckets == 4  # {0, 1, 5, 6}, as in Trino's test
    assert rows(both) == [(1, 5), (1, 6), (10, 5), (10, 6)]
    assert kept(context.spark.table(table_name).where("a = 1")).buckets == 8


@pytest.fixture
def small(context: Context, table_name: str) -> tuple[Table, Path]:
    """A table of 4 buckets with one file each, version 2: 2 is in bucket 0; 0, 1 and 5 are elsewhere."""
    table = make_table(
        context.metastore,
        table_name,
        "id int",
        "ds int",
        parameters={**VERSION_2, "create_empty_bucket_files": "true"},
        buckets=Buckets(("id",), 4),
    )
    data = frame(context.spark, "id int, ds int", *((n, 0) for n in range(20))).coalesce(1)
    insert_into(context, table.full_name, data)
    (partition,) = context.metastore.get_partitions("default", table_name)
    return table, folder(partition.location)


def rename_all(directory: Path, name: Callable[[int], str]) -> None:
    for file in [file for file in directory.iterdir() if not file.name.startswith(".")]:
        bucket = bucket_of(file.name)
        assert bucket is not None
        file.rename(file.with_name(name(bucket)))


@pytest.mark.parametrize(
    "name",
    [
        lambda bucket: f"{bucket:06d}_0",
        lambda bucket: f"20180102_030405_00641_x1y2z_bucket-{bucket:05d}",
        lambda bucket: f"20180102_030405_00641_x1y2z_bucket-{bucket:05d}.gz" if bucket % 2 else f"0{bucket}_0_copy_1",
        lambda bucket: f"part-{'abcd'[bucket]}",
        lambda bucket: f"{bucket}_0",  # the seed: no 0 at the beginning, so in their order
    ],
)
def test_all_conventions_are_read(spark: SparkSession, small: tuple[Table, Path], name: Callable[[int], str]) -> None:
    table, location = small
    rename_all(location, name)
    df = spark.table(table.name)
    for id_ in (0, 2, 13):
        assert rows(df.where(f"id = {id_}")) == [(id_, 0)]
    assert kept(df.where("id = 2")).files == 1
    assert df.count() == 20


def test_empty_files_count_in_the_original_scheme(spark: SparkSession, small: tuple[Table, Path]) -> None:
    table, location = small
    rename_all(location, lambda bucket: f"part-{'abcd'[bucket]}")
    for checksum in location.glob(".*.crc"):
        checksum.unlink()
    (location / "part-d").write_bytes(b"")
    assert rows(spark.table(table.name).where("id = 2")) == [(2, 0)]


def break_name(directory: Path) -> None:
    next(directory.glob("000001_0*")).rename(directory / "part-1")
    next(directory.glob("000003_0*")).unlink()


def break_number(directory: Path) -> None:
    next(directory.glob("000001_0*")).rename(directory / "000004_0")


def break_directory(directory: Path) -> None:
    (directory / "more").mkdir()
    shutil.copy(next(directory.glob("000001_0*")), directory / "more" / "000001_0")


UNMATCHED = (
    r"is corrupt. File 'part-1' does not match the standard naming pattern, and the number of files in the directory "
    r"\(3\) does not match the declared bucket count \(4\) for partition: ds=0"
)
TOO_HIGH = (
    r"is corrupt. The highest bucket number in the directory \(4\) exceeds the bucket number range defined by the "
    r"declared bucket count \(4\) for partition: ds=0"
)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (break_name, UNMATCHED),
        (break_number, TOO_HIGH),
        (break_directory, r"is corrupt. Found sub-directory 'more' in bucket directory for partition: ds=0"),
    ],
)
def test_a_corrupt_directory_is_rejected_unless_buckets_are_ignored(
    spark: SparkSession, small: tuple[Table, Path], damage: Callable[[Path], None], error: str
) -> None:
    table, location = small
    damage(location)
    for df in (spark.table(table.name), spark.table(table.name).where("id = 2")):
        with pytest.raises(QueryExecutionException, match=f"Hive table 'default.{table.name}' {error}"):
            df.collect()
    with ignoring(spark):
        df = spark.table(table.name).where("id = 2")
        assert rows(df) == [(2, 0)]
        assert kept(df).buckets == 0


@pytest.fixture
def ignored(spark: SparkSession) -> Iterator[None]:
    with ignoring(spark):
        yield


class ignoring:  # noqa: N801 - a context, read as a word
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __enter__(self) -> None:
        self._spark.conf.set("hive.bucket_execution_enabled", "false")

    def __exit__(self, *_: object) -> None:
        self._spark.conf.unset("hive.bucket_execution_enabled")


def test_files_of_sparks_own_are_always_read(spark: SparkSession, small: tuple[Table, Path]) -> None:
    """Its writer always uses version 1 of the hash, so file names say nothing about version 2."""
    table, location = small
    rename_all(
        location, lambda bucket: f"{(bucket + 1) % 4:05d}_0_part-00000-1c5d_{(bucket + 1) % 4:05d}.c000.snappy.parquet"
    )
    df = spark.table(table.name)
    assert (rows(df.where("id = 2")), kept(df.where("id = 2")).files) == ([(2, 0)], 4)
    with pytest.raises(InvalidStatementError, match="or Spark without spark_client wrote some of its files"):
        by_bucket(df)


def test_a_partition_with_other_buckets(context: Context, small: tuple[Table, Path]) -> None:
    """Twice or half as many buckets: its own files are found. Another number, or none, is rejected."""
    table, _ = small
    spark, metastore = context.spark, context.metastore
    now = metastore.get_table("default", table.name)
    for count in (1, 2, 8, 64):
        metastore.alter_table(replace(now, buckets=Buckets(("id",), count)))
        spark.catalog.refreshTable(table.name)
        df = spark.table(table.name).where("id = 2")
        assert (kept(df).files, rows(df)) == (1, [(2, 0)])
    for count, error in ((3, r"bucketing \(columns=\[id\], buckets=3\) is not compatible with partition \(ds=0\)"),):
        metastore.alter_table(replace(now, buckets=Buckets(("id",), count)))
        spark.catalog.refreshTable(table.name)
        with pytest.raises(QueryExecutionException, match=error):
            spark.table(table.name).collect()
    metastore.alter_table(replace(now, buckets=NOT_BUCKETED))
    spark.catalog.refreshTable(table.name)
    assert spark.table(table.name).count() == 20


def test_buckets_are_the_metastores_not_sparks_copy(context: Context, table_name: str) -> None:
    """Spark copies a table's buckets to its properties, which Hive's ALTER TABLE does not change."""
    spark, metastore = context.spark, context.metastore
    spark.sql(f"CREATE TABLE {table_name} (id INT) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS PARQUET")
    metastore.alter_table(replace(metastore.get_table("default", table_name), buckets=Buckets(("id",), 8)))
    spark.catalog.refreshTable(table_name)
    spark.sql(f"INSERT INTO {table_name} SELECT CAST(id AS INT) FROM range(16)")
    df = spark.table(table_name).where("id = 7")
    assert (rows(df), kept(df).buckets, kept(spark.table(table_name)).buckets) == ([(7,)], 1, 8)
    metastore.alter_table(replace(metastore.get_table("default", table_name), buckets=NOT_BUCKETED))
    spark.catalog.refreshTable(table_name)
    spark.sql(f"INSERT INTO {table_name} VALUES (7)")
    assert rows(spark.table(table_name).where("id = 7")) == [(7,), (7,)]


def test_tables_of_create_table_as_select_are_pruned(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} CLUSTERED BY (id) INTO 8 BUCKETS STORED AS PARQUET AS SELECT id FROM range(16)"
    )
    df = spark.table(table_name).where("id = 7")
    assert (rows(df), kept(df).buckets) == ([(7,)], 1)


def test_the_statement_that_makes_it_makes_hives_buckets(context: Context, table_name: str) -> None:
    spark = context.spark
    made = (
        f"CREATE TABLE `default`.`{table_name}` (\n  id INT,\n  v STRING)\nPARTITIONED BY (ds STRING)\n"
        "CLUSTERED BY (`id`) SORTED BY (`v` ASC) INTO 4 BUCKETS\nSTORED AS ORC\n"
        "TBLPROPERTIES ('bucketing_version' = '2')"
    )
    spark.sql(made)
    assert spark.sql(f"SHOW CREATE TABLE {table_name}").collect()[0][0] == made
    assert context.metastore.get_table("default", table_name).buckets == Buckets(("id",), 4, (("v", True),))


@since("4.0", "reading integers of Parquet as bigint")
def test_rows_bucketed_by_another_type_are_found(context: Context, table_name: str) -> None:
    """Without CASCADE, partitions keep the type by whose hash their rows are stored."""
    metastore, spark = context.metastore, context.spark
    table = make_table(
        metastore, table_name, "id int, v int", "ds int", parameters=VERSION_2, buckets=Buckets(("id",), 16)
    )
    insert_into(context, table.full_name, frame(spark, "id int, v int, ds int", *((n, n, 1) for n in range(8))))
    changed = replace(metastore.get_table("default", table_name), columns=columns("id bigint, v int"))
    metastore.alter_table(changed)
    spark.catalog.refreshTable(table_name)
    insert_into(context, table.full_name, frame(spark, "id bigint, v int, ds int", *((n, n, 2) for n in range(8))))
    df = spark.table(table_name).where("id = 3")
    assert rows(df) == [(3, 3, 1), (3, 3, 2)]
    assert (kept(df.where("ds = 2")).buckets, kept(df.where("ds = 2")).files) == (1, 1)
    assert kept(df.where("ds = 1")).files == kept(spark.table(table_name).where("ds = 1")).files > 1
    with pytest.raises(InvalidStatementError, match="some partitions were written with other types"):
        by_bucket(spark.table(table_name))
    assert by_bucket(spark.table(table_name).where("ds = 2")).count() == 8


def test_a_partition_without_buckets_is_rejected(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id int", "ds int")
    insert_into(context, table.full_name, frame(context.spark, "id int, ds int", (1, 0)))
    now = context.metastore.get_table("default", table_name)
    context.metastore.alter_table(replace(now, buckets=Buckets(("id",), 4)))
    with pytest.raises(QueryExecutionException, match=r"is bucketed but partition \(ds=0\) is not bucketed"):
        context.spark.table(table_name).collect()
