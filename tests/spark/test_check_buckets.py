"""check_buckets finds misnamed files, and rows in wrong files."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.errors import QueryExecutionException

from metastore.client.structs import Column, Table
from metastore.domain.buckets import Buckets, bucket_of
from spark_client import check_buckets
from spark_client.context import Context
from spark_client.errors import InvalidInsertError
from spark_client.write.insert import insert_into
from tests.spark.tables import folder, frame, make_table


@pytest.fixture
def table(context: Context, table_name: str) -> Table:
    made = make_table(
        context.metastore,
        table_name,
        "id int",
        "ds string",
        parameters={"bucketing_version": "2"},
        buckets=Buckets(("id",), 4),
    )
    rows = ((number, ds) for number in range(20) for ds in ("a b", "c"))
    insert_into(context, made.full_name, frame(context.spark, "id int, ds string", *rows).coalesce(1))
    return made


def test_names_and_rows_are_checked(context: Context, table: Table) -> None:
    spark, name = context.spark, table.full_name
    assert check_buckets(spark, name) == check_buckets(spark, name, rows=True) == ()
    _, partition = context.metastore.get_partitions("default", table.name)
    path = folder(partition.location)
    (file,) = (file for file in path.iterdir() if bucket_of(file.name) == 2)
    moved = file.rename(file.with_name("000003_0_copy_1"))
    assert check_buckets(spark, name) == ()
    (problem,) = check_buckets(spark, table.name, rows=True)
    assert problem.partition == "ds=c"
    assert f"File '{moved}' is for bucket 3, but contains" in problem.problem
    assert problem.problem.endswith("rows for bucket 2.")
    assert spark.sql(f"SHOW BUCKET PROBLEMS IN {table.name}").collect() == []
    (asked,) = spark.sql(f"SHOW BUCKET PROBLEMS IN {table.name} WITH ROWS").collect()
    assert tuple(asked) == (problem.partition, problem.problem)
    moved.rename(moved.with_name("000007_0"))
    (problem,) = check_buckets(spark, name, rows=True)
    assert problem.problem.endswith("by the declared bucket count (4) for partition: ds=c")
    (path / "000007_0").unlink()
    (path / "x").mkdir()
    assert [bucket.problem for bucket in check_buckets(spark, name)] == [
        f"Hive table '{name}' is corrupt. Found sub-directory 'x' in bucket directory for partition: ds=c"
    ]


def test_texts_of_limited_length_are_read_as_stored(context: Context, table_name: str) -> None:
    """Spark rejects a schema with such types."""
    table = make_table(
        context.metastore,
        table_name,
        "c char(4), v varchar(4)",
        parameters={"create_empty_bucket_files": "true"},
        buckets=Buckets(("c", "v"), 4),
    )
    insert_into(context, table.full_name, frame(context.spark, "c string, v string", ("a", "b"), ("cd", "")))
    assert check_buckets(context.spark, table.full_name, rows=True) == ()
    assert context.spark.table(table_name).count() == 2


def test_rows_are_bucketed_by_the_types_of_their_partition(context: Context, table: Table) -> None:
    context.metastore.alter_table(replace(table, columns=(Column("id", "bigint"),)))
    assert check_buckets(context.spark, table.full_name, rows=True) == ()


def test_other_formats_are_checked_by_name_but_not_written(context: Context, table_name: str) -> None:
    """Spark's own writer would always use version 1 of the hash."""
    context.spark.sql(f"CREATE TABLE {table_name} (id INT) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS TEXTFILE")
    assert check_buckets(context.spark, table_name) == ()
    with pytest.raises(QueryExecutionException, match=r"TextInputFormat; only Parquet and ORC can be written"):
        context.spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    assert context.spark.table(table_name).count() == 0


def test_a_table_without_buckets_is_rejected(context: Context, table_name: str) -> None:
    make_table(context.metastore, table_name, "id int")
    with pytest.raises(InvalidInsertError, match="has no buckets to check"):
        check_buckets(context.spark, table_name)
