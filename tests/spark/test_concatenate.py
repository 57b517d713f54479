"""ALTER TABLE … CONCATENATE: fewer files in each directory, the same rows, atomically; and the rejections of Hive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_client import Session, errors
from spark_client.context import Context
from spark_client.statements.grammar.concatenate import Concatenate
from spark_client.statements.run.concatenate import EXTERNAL_TOO, FILE_SIZE, execute
from tests.spark.tables import DEFAULT, directories, layout

SKEWED = "SKEWED BY (x) ON (1, 2, 9) STORED AS DIRECTORIES"


def make(spark: Session, name: str, format_: str, skew: str = SKEWED, *, loads: int = 3) -> None:
    """A partition into which several loads have written one or more files for each directory."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT, x INT) PARTITIONED BY (day INT, s STRING) {skew} STORED AS {format_}")
    load(spark, name, loads)


def load(spark: Session, name: str, loads: int) -> None:
    for number in range(loads):
        spark.sql(f"INSERT INTO {name} SELECT id + {number * 100}, int(id % 4), 1, 'a/b' FROM range(100)")


def rows(spark: Session, name: str) -> list[Any]:
    return sorted(spark.table(name).collect())


@pytest.mark.parametrize("format_", ["PARQUET", pytest.param("ORC", marks=pytest.mark.long)])
def test_files_of_each_directory_become_one(spark: Session, table_name: str, format_: str) -> None:
    make(spark, table_name, format_)
    spark.sql(f"ALTER TABLE {table_name} NOT SKEWED")  # partitions keep theirs
    before, data = spark.metastore.get_partitions("default", table_name)[0], rows(spark, table_name)
    assert directories(before) == {DEFAULT: 3, "x=1": 3, "x=2": 3}
    statement = f"ALTER TABLE {table_name} PARTITION (s='a/b', day='01') CONCATENATE"
    report = spark.sql(statement).collect()
    assert [(row.partition, row.directory, row.files_before, row.files_after) for row in report] == [
        ("day=1/s=a%2Fb", name, 3, 1) for name in (DEFAULT, "x=1", "x=2")
    ]
    assert all(row.bytes_before > row.bytes_after > 0 for row in report)
    (after,) = spark.metastore.get_partitions("default", table_name)
    assert directories(after) == {DEFAULT: 1, "x=1": 1, "x=2": 1}
    assert (after.skew.columns, after.skew.values) == (before.skew.columns, before.skew.values)
    assert (after.parameters["numFiles"], after.parameters["numRows"]) == ("3", "300")
    assert rows(spark, table_name) == data
    again = spark.sql(statement).collect()
    assert [row.files_before for row in again] == [row.files_after for row in again] == [1, 1, 1]
    assert spark.metastore.get_partitions("default", table_name) == (after,)
    load(spark, table_name, 1)
    assert directories(spark.metastore.get_partitions("default", table_name)[0])["x=1"] == 2


def test_the_flat_layout_stays_flat(spark: Session, table_name: str) -> None:
    flat = f"{SKEWED} STORED AS PARQUET TBLPROPERTIES ('skew.layout'='flat')"
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, x INT) PARTITIONED BY (day INT, s STRING) {flat}")
    load(spark, table_name, 2)
    data = rows(spark, table_name)
    report = spark.sql(f"ALTER TABLE {table_name} PARTITION (day=1, s='a/b') CONCATENATE").collect()
    assert [(row.directory, row.files_before, row.files_after) for row in report] == [
        (DEFAULT, 2, 1), ("x=1", 2, 1), ("x=2", 2, 1),
    ]  # fmt: skip
    (after,) = spark.metastore.get_partitions("default", table_name)
    assert layout(after.location) == {"": 3}
    assert rows(spark, table_name) == data


def test_tables_without_partitions_or_skew_too(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, x INT) STORED AS PARQUET")
    for number in range(3):
        spark.sql(f"INSERT INTO {table_name} SELECT id, {number} FROM range(0, 10, 1, 1)")
    data = rows(spark, table_name)
    (row,) = spark.sql(f"ALTER TABLE {table_name} CONCATENATE").collect()
    assert (row.partition, row.directory, row.files_before, row.files_after) == ("", "", 3, 1)
    assert rows(spark, table_name) == data
    assert layout(spark.metastore.get_table("default", table_name).location or "") == {"": 1}


@pytest.fixture
def small_files(spark: Session) -> Iterator[None]:
    spark.conf.set(FILE_SIZE, "4000")
    yield
    spark.conf.unset(FILE_SIZE)


def test_files_have_the_size_that_is_set(spark: Session, table_name: str, small_files: None) -> None:
    """Five files of about 1.3 kB fit into two."""
    make(spark, table_name, "PARQUET", "", loads=5)
    (row,) = spark.sql(f"ALTER TABLE {table_name} PARTITION (day=1, s='a/b') CONCATENATE").collect()
    assert row.files_before == 5
    assert row.files_after == -(-row.bytes_before // 4000) > 1


def test_nothing_to_merge_is_no_write(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT) STORED AS PARQUET")
    assert spark.sql(f"ALTER TABLE {table_name} CONCATENATE").collect() == []


def test_concurrent_writes_are_not_lost(spark: Session, table_name: str) -> None:
    make(spark, table_name, "PARQUET", loads=2)

    def at(step: str) -> None:
        if step == "staged":
            spark.sql(f"INSERT INTO {table_name} SELECT 7, 1, 1, 'a/b'")

    statement = Concatenate(f"default.{table_name}", "(day=1, s='a/b')")
    with pytest.raises(errors.PublishConflictError):
        execute(Context(spark, spark.metastore, at), statement, "")
    assert spark.table(table_name).count() == 201


def test_a_file_of_another_engine_is_not_lost(spark: Session, table_name: str) -> None:
    make(spark, table_name, "PARQUET", "", loads=2)
    (partition,) = spark.metastore.get_partitions("default", table_name)
    folder = Path(partition.location.removeprefix("file:"))
    row = next(folder.glob("*.parquet")).read_bytes()

    def at(step: str) -> None:
        if step == "staged":
            (folder / "20261129_000001_00001_x").write_bytes(row)

    statement = Concatenate(f"default.{table_name}", "(day=1, s='a/b')")
    with pytest.raises(errors.PublishConflictError, match="another program has put 20261129_000001_00001_x into"):
        execute(Context(spark, spark.metastore, at), statement, "")
    assert spark.table(table_name).count() == 300


def test_a_failure_changes_nothing(spark: Session, table_name: str) -> None:
    make(spark, table_name, "PARQUET", loads=2)
    before = spark.metastore.get_partitions("default", table_name)

    def at(step: str) -> None:
        if step == "placed":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(Context(spark, spark.metastore, at), Concatenate(table_name, "(day=1, s='a/b')"), "")
    assert spark.metastore.get_partitions("default", table_name) == before
    assert spark.table(table_name).count() == 200


def test_refusals_have_hives_codes(spark: Session, table_name: str, tmp_path: Any) -> None:
    def refused(definition: str, message: str, partition: str = "") -> None:
        name = f"{table_name}_{len(spark.catalog.listTables())}"
        spark.sql(f"CREATE {definition.format(name=name)}")
        with pytest.raises((errors.InvalidStatementError, errors.NoSuchPartitionError), match=message):
            spark.sql(f"ALTER TABLE {name} {partition} CONCATENATE")

    external = f"EXTERNAL TABLE {{name}} (a INT) STORED AS PARQUET LOCATION '{tmp_path}'"
    refused("TABLE {name} (a INT) STORED AS TEXTFILE", r"\[Error 30030\].*only supported for Parquet and ORCFile")
    refused("TABLE {name} (a INT) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC", r"\[Error 30031\].*bucketed tables")
    refused("TABLE {name} (a INT) USING parquet", r"\[Error 30033\].*non-native tables: default\.")
    refused(external, r"\[Error 30034\]: Concatenate/Merge can only be performed on managed tables")
    refused("TABLE {name} (a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')", r"\[Error 30035\]")
    keyed = "TABLE {name} (a INT) PARTITIONED BY (p INT) STORED AS ORC"
    refused(keyed, "is partitioned but no partition desc found")
    refused(keyed, "has no partition p=1", "PARTITION (p=1)")
    refused("TABLE {name} (a INT) STORED AS ORC", "is not partitioned but partition desc found", "PARTITION (p=1)")
    spark.conf.set(EXTERNAL_TOO, "true")
    try:
        spark.sql(f"CREATE {external.format(name=table_name)}")
        assert spark.sql(f"ALTER TABLE {table_name} CONCATENATE").collect() == []
    finally:
        spark.conf.unset(EXTERNAL_TOO)
