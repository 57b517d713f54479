"""Rows of bucketed tables are in the files of their buckets, in order, and only needed files are created."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import QueryExecutionException
from pyspark.sql import SparkSession

from metastore.client.structs import Table
from metastore.domain.buckets import Buckets, bucket_of
from spark_client.context import Context
from spark_client.errors import InvalidInsertError
from spark_client.write.insert import insert_into
from tests.spark import bucket_hashes as expected
from tests.spark.tables import ORC, PARQUET, folder, frame, make_table, stored_rows

VERSION_2 = {"bucketing_version": "2"}


def bucket(version: int, kind: str, value: object, count: int) -> int:
    hash_ = expected.first(kind, value) if version == 1 else expected.second(kind, value)
    return (hash_ & 0x7FFFFFFF) % count


def data_files(location: str) -> list[Path]:
    files = [path for path in sorted(folder(location).rglob("*")) if path.is_file()]
    return [path for path in files if not path.name.startswith((".", "_"))]


def by_file(context: Context, table: Table, location: str, *names: str) -> dict[str, list[tuple[Any, ...]]]:
    """Returns these columns of the rows, in order, by file name. Small files are read at once."""
    kind = "orc" if "orc" in table.storage.input_format.lower() else "parquet"
    read = context.spark.read.format(kind).load([str(path) for path in data_files(location)])
    actual: dict[str, list[tuple[Any, ...]]] = {}
    for name, *values in read.select("_metadata.file_name", *names).collect():
        actual.setdefault(name, []).append(tuple(values))
    return actual


def places(context: Context, table: Table) -> dict[str, list[Path]]:
    """Returns the files by the first value of their partition."""
    now = context.metastore.get_table(table.database, table.name)
    if not table.partition_columns:
        return {"": data_files(str(now.location))}
    partitions = context.metastore.get_partitions(table.database, table.name)
    return {partition.values[0]: data_files(partition.location) for partition in partitions}


@pytest.fixture
def empty_files(spark: SparkSession) -> Iterator[None]:
    spark.sql("SET hive.create_empty_bucket_files=true")
    yield
    spark.conf.unset("hive.create_empty_bucket_files")


@pytest.mark.parametrize(("version", "storage"), [(1, ORC), (2, PARQUET)])
def test_rows_are_in_their_bucket_in_the_tables_order(
    context: Context, table_name: str, version: int, storage: object
) -> None:
    spark = context.spark
    table = make_table(
        context.metastore,
        table_name,
        "id bigint, name string, rank int",
        "ds string",
        storage=storage,  # type: ignore[arg-type]
        parameters={"bucketing_version": str(version)},
        buckets=Buckets(("name",), 8, (("rank", False), ("id", True))),
    )
    rows = [(n, f"é{n % 5}" if n % 7 else None, n * 37 % 11 or None, f"d{n % 2}" if n % 3 else "") for n in range(200)]
    written = insert_into(context, table.full_name, frame(spark, "id long, name string, rank int, ds string", *rows))
    assert written.rows == 200
    actual = places(context, table)
    assert set(actual) == {"d0", "d1", "__HIVE_DEFAULT_PARTITION__"}
    for files in actual.values():
        assert all(path.name[6:].startswith(f"_0_{written.query_id}") for path in files)
        held = by_file(context, table, str(files[0].parent), "id", "name", "rank")
        assert len(held) == len(files)
        for file, lines in held.items():
            assert {bucket(version, "string", name, 8) for _, name, _ in lines} == {bucket_of(file)}
            ranked = [(rank is None, -(rank or 0), id_) for id_, _, rank in lines]
            assert ranked == sorted(ranked)
        numbers = [bucket_of(path.name) for path in files]
        assert len(set(numbers)) == len(numbers) <= 6, "no file for a bucket without rows"
    assert [row[:3] for row in stored_rows(context, table)] == sorted((row[:3] for row in rows), key=repr)


def test_sql_appends_files_and_keeps_existing_ones(spark: SparkSession, context: Context, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING) PARTITIONED BY (ds INT) CLUSTERED BY (id) SORTED BY (v) "
        "INTO 4 BUCKETS STORED AS PARQUET TBLPROPERTIES ('bucketing_version' = '2')"
    )
    spark.sql(f"INSERT INTO {table_name} PARTITION (ds = 1) VALUES (0, 'a'), (1, 'b'), (2, 'c')")
    table = context.metastore.get_table("default", table_name)
    before = {path: path.stat().st_mtime_ns for path in places(context, table)["1"]}
    # Buckets of 0, 1, 2 and 3: 1, 1, 0, 2.
    assert sorted(path.name[:9] for path in before) == ["000000_0_", "000001_0_"]
    spark.sql(f"INSERT INTO {table_name} SELECT 3, 'd', 1 UNION ALL SELECT 0, 'e', 1")
    after = {path: path.stat().st_mtime_ns for path in places(context, table)["1"]}
    assert before.items() <= after.items()
    assert sorted(path.name[:9] for path in after) == ["000000_0_", "000001_0_", "000001_0_", "000002_0_"]
    spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (ds = 1) VALUES (3, 'f')")
    assert [path.name[:9] for path in places(context, table)["1"]] == ["000002_0_"]
    assert stored_rows(context, table) == [(3, "f", "1")]


def test_empty_buckets_have_files_where_they_are_wanted(context: Context, table_name: str, empty_files: None) -> None:
    spark = context.spark
    table = make_table(
        context.metastore, table_name, "id int", "ds string", parameters=VERSION_2, buckets=Buckets(("id",), 4)
    )
    insert_into(context, table.full_name, frame(spark, "id int, ds string", (0, "a b"), (2, "c")))
    insert_into(context, table.full_name, frame(spark, "id int", (9,)).limit(0), partition={"ds": "d"}, overwrite=True)
    actual = places(context, table)
    assert {values: [bucket_of(path.name) for path in files] for values, files in actual.items()} == {
        "a b": [0, 1, 2, 3],
        "c": [0, 1, 2, 3],
        "d": [0, 1, 2, 3],
    }
    assert [bucket_of(file) for file in by_file(context, table, str(actual["a b"][0].parent), "id")] == [1]
    assert spark.read.parquet(str(actual["d"][3])).columns == ["id"]
    partition = context.metastore.get_partitions("default", table_name)[0]
    assert (partition.parameters["numFiles"], partition.parameters["numRows"]) == ("4", "1")
    assert stored_rows(context, table) == [(0, "a b"), (2, "c")]


def test_the_table_may_ask_for_empty_files(context: Context, table_name: str) -> None:
    table = make_table(
        context.metastore,
        table_name,
        "id int",
        storage=ORC,
        parameters={"create_empty_bucket_files": "true"},
        buckets=Buckets(("id",), 3),
    )
    insert_into(context, table.full_name, frame(context.spark, "id int", (4,)))
    (files,) = places(context, table).values()
    assert [bucket_of(path.name) for path in files] == [0, 1, 2]
    assert stored_rows(context, table) == [(4,)]


def test_an_appended_partition_keeps_its_own_number_of_buckets(context: Context, table_name: str) -> None:
    spark = context.spark
    table = make_table(
        context.metastore, table_name, "id int", "ds string", parameters=VERSION_2, buckets=Buckets(("id",), 2)
    )
    values = range(40)
    insert_into(context, table.full_name, frame(spark, "id int, ds string", *((n, "old") for n in values)))
    now = context.metastore.get_table("default", table_name)
    context.metastore.alter_table(replace(now, buckets=Buckets(("id",), 8)))
    both = frame(spark, "id int, ds string", *((n, ds) for n in values for ds in ("old", "new")))
    insert_into(context, table.full_name, both)
    actual = places(context, table)
    assert [{bucket_of(path.name) for path in actual[name]} for name in ("old", "new")] == [{0, 1}, set(range(8))]
    for name, count in (("old", 2), ("new", 8)):
        for file, lines in by_file(context, table, str(actual[name][0].parent), "id").items():
            assert {bucket(2, "int", id_, count) for (id_,) in lines} == {bucket_of(file)}
    context.metastore.alter_table(replace(now, buckets=Buckets(("id",), 3)))
    with pytest.raises(InvalidInsertError, match=r"is not compatible with partition \(ds=old\).*; INSERT OVERWRITE it"):
        insert_into(context, table.full_name, frame(spark, "id int, ds string", (1, "old")))
    assert actual == places(context, table)


@pytest.mark.parametrize("partitioned", [pytest.param("", marks=pytest.mark.long), "ds string"])
def test_no_file_is_added_where_the_order_of_names_tells_buckets(
    context: Context, table_name: str, partitioned: str
) -> None:
    table = make_table(context.metastore, table_name, "id int", partitioned, buckets=Buckets(("id",), 1))
    row = frame(context.spark, f"id int{partitioned and ', '}{partitioned}", (1, "a") if partitioned else (1,))
    insert_into(context, table.full_name, row)
    ((file,),) = places(context, table).values()
    file.rename(file.with_name("part-00000"))
    with pytest.raises(
        InvalidInsertError, match=r"without a bucket number, 'part-00000', in partition.*; INSERT OVERWRITE it"
    ):
        insert_into(context, table.full_name, row)
    assert context.spark.table(table_name).count() == 1
    insert_into(context, table.full_name, row, overwrite=True)
    insert_into(context, table.full_name, row)
    assert context.spark.table(table_name).count() == 2


@pytest.mark.parametrize(
    ("data", "parameters", "refusal"),
    [
        ("id binary", VERSION_2, "cannot compute the hash of type BINARY in Hive's bucketing_version 2"),
        ("id int", {"bucketing_version": "3"}, "Unsupported bucketing version: '3'"),
    ],
)
def test_buckets_that_cannot_be_computed_are_rejected(
    context: Context, table_name: str, data: str, parameters: dict[str, str], refusal: str
) -> None:
    table = make_table(context.metastore, table_name, data, parameters=parameters, buckets=Buckets(("id",), 2))
    with pytest.raises(InvalidInsertError, match=refusal):
        insert_into(context, table.full_name, frame(context.spark, data, (None,)))
    assert data_files(str(table.location)) == []


def test_rows_that_the_query_has_sorted_are_in_their_buckets(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id int, v int", buckets=Buckets(("id",), 4, (("v", True),)))
    rows = frame(context.spark, "id int, v int", *((n, -n) for n in range(50))).orderBy("id")
    insert_into(context, table.full_name, rows)
    (files,) = places(context, table).values()
    held = by_file(context, table, str(files[0].parent), "id", "v")
    assert len(held) == len(files) >= 4
    for file, lines in held.items():
        assert {id_ % 4 for id_, _ in lines} == {bucket_of(file)}
        assert lines == sorted(lines, key=lambda row: row[1])
    assert len(stored_rows(context, table)) == 50


def test_files_are_not_loaded_into_buckets_unseen(spark: SparkSession, context: Context, table_name: str) -> None:
    make_table(context.metastore, table_name, "id int", buckets=Buckets(("id",), 4))
    with pytest.raises(QueryExecutionException, match="Load into bucketed tables are disabled for safety reasons"):
        spark.sql(f"LOAD DATA LOCAL INPATH '/nowhere' INTO TABLE {table_name}")
