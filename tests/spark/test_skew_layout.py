"""The location of heavy values for all engines, in the flat layout; and files that others add to directories."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame

from metastore.client import MetastoreClient
from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.domain.skew_directories import flat_prefix, flat_prefixes, is_flat
from spark_client import Session, scan_report
from spark_client.errors import InvalidStatementError
from spark_client.jvm.files import MARK
from spark_client.jvm.plans import elements, scala_sequence
from spark_client.write import staging
from tests.clients import list_bucketed
from tests.spark.tables import folder

FLAT = "TBLPROPERTIES ('skew.layout' = 'flat')"


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=repr)


def names(location: str) -> list[str]:
    """Returns the names in a folder, up to the last `=`."""
    actual = (path for path in folder(location).iterdir() if not path.name.startswith((".", "_")))
    return sorted(f"{path.name.rpartition('=')[0]}=" if path.is_file() else f"{path.name}/" for path in actual)


def read(df: DataFrame) -> tuple[int, int]:
    """Returns the directories and files that the scan keeps."""
    (scan,) = scan_report(df).scans
    return scan.kept.directories, scan.kept.files


@pytest.fixture
def flat(spark: Session, table_name: str) -> Iterator[str]:
    """A flat table by month, with two partitions."""
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, dest STRING, n INT) PARTITIONED BY (month INT) SKEWED BY (dest, n) "
        f"ON (('ATL', 1), ('a,b=c/d', 2), (NULL, 3)) STORED AS DIRECTORIES STORED AS PARQUET {FLAT}"
    )
    spark.sql(
        f"INSERT INTO {table_name} VALUES (1, 'ATL', 1, 1), (2, 'ATL', 2, 1), (3, 'a,b=c/d', 2, 1), (4, NULL, 3, 1), "
        "(5, 'rare', 1, 2)"
    )
    yield table_name
    spark.sql(f"DROP TABLE {table_name}")


def test_files_of_heavy_values_are_in_the_partition_and_are_pruned(
    spark: Session, flat: str, metastore: MetastoreClient
) -> None:
    first, second = metastore.get_partitions("default", flat)
    values = ["skew.dest=ATL,n=1=", "skew.dest=a,b%3Dc%2Fd,n=2=", "skew.dest=__HIVE_DEFAULT_PARTITION__,n=3="]
    assert names(first.location) == sorted([*values, "skew="])
    assert names(second.location) == ["skew="]
    assert (first.skew.locations, first.parameters["skew.layout"]) == ({}, "flat")
    with pytest.raises(InvalidStatementError, match=f"{flat} partition .* has skew.layout=flat"):
        spark.sql(f"ALTER TABLE {flat} PARTITION (month = 1) SET SKEWED LOCATION (('ATL', 1) = 'file:/x')")
    table = spark.table(flat)
    for condition, ids, files in (
        ("dest = 'ATL' AND n = 1", [1], 1),
        ("dest = 'ATL'", [1, 2], 3),
        ("dest = 'a,b=c/d' AND n = 2", [3], 1),
        ("dest IS NULL AND n = 3", [4], 3),  # null and the empty text share a name: the default is read as well
        ("dest = 'rare' AND n = 1", [5], 2),
        ("n > 2 AND month = 1", [4], 2),
        ("month = 1", [1, 2, 3, 4], 4),
        ("true", [1, 2, 3, 4, 5], 5),
    ):
        actual = table.where(condition)
        assert sorted(row.id for row in actual.collect()) == ids, condition
        assert read(actual)[1] == files, condition


def test_every_reader_of_the_directory_sees_every_row(spark: Session, flat: str, metastore: MetastoreClient) -> None:
    """Without our library, and without reading subdirectories."""
    spark.sql(f"INSERT OVERWRITE {flat} PARTITION (month = 2) VALUES (6, 'ATL', 1), (7, 'x', 1)")
    spark.sql(f"INSERT INTO {flat} VALUES (8, 'ATL', 1, 2), (9, 'a,b=c/d', 2, 2)")
    first, second = metastore.get_partitions("default", flat)
    for partition, ids in ((first, [1, 2, 3, 4]), (second, [6, 7, 8, 9])):
        assert not any(path.is_dir() for path in folder(partition.location).iterdir())
        files = [str(path) for path in folder(partition.location).glob("*.parquet")]
        assert sorted(row.id for row in spark.read.parquet(*files).collect()) == ids
    actual = spark.table(flat).where("dest = 'ATL' AND n = 1")
    assert rows(actual.select("id")) == [(1,), (6,), (8,)]
    assert read(actual) == (2, 3)


def test_a_partition_keeps_its_layout(spark: Session, table_name: str, metastore: MetastoreClient) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES "
        "STORED AS ORC"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (9, 1)")
    spark.sql(f"ALTER TABLE {table_name} SET {FLAT}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 1), (1, 2), (9, 2)")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('skew.layout' = 'directories')")
    spark.sql(f"INSERT INTO {table_name} VALUES (2, 2), (9, 2), (1, 3)")
    partitions = metastore.get_partitions("default", table_name)
    assert [partition.parameters.get("skew.layout") for partition in partitions] == [
        "directories",
        "flat",
        "directories",
    ]
    assert [len(partition.skew.locations) for partition in partitions] == [2, 0, 1]
    assert rows(spark.table(table_name)) == sorted(
        [(1, 1), (9, 1), (1, 1), (2, 1), (1, 2), (9, 2), (2, 2), (9, 2), (1, 3)], key=repr
    )
    actual = spark.table(table_name).where("x = 2")
    assert rows(actual) == [(2, 1), (2, 2)]
    assert read(actual) == (2, 2)


def test_a_table_without_partitions_and_long_values(
    spark: Session, table_name: str, metastore: MetastoreClient
) -> None:
    long = "é" * 100
    spark.sql(
        f"CREATE TABLE {table_name} (x STRING) SKEWED BY (x) ON ('{long}', 'a', '', NULL) STORED AS DIRECTORIES "
        f"STORED AS PARQUET {FLAT}"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES ('{long}'), ('a'), ('b'), (''), (NULL)")
    table = metastore.get_table("default", table_name)
    assert [value for (value,) in table.skew.locations] == [long]
    for value, files in ((long, 1), ("a", 1), ("b", 1)):
        actual = spark.table(table_name).where(f"x = '{value}'")
        assert (rows(actual), read(actual)[1]) == ([(value,)], files)
    # They share a name in Hive, so they do not exclude each other; the default directory may contain them, too.
    for condition, row in (("x = ''", ("",)), ("x IS NULL", (None,))):
        actual = spark.table(table_name).where(condition)
        assert (rows(actual), read(actual)[1]) == ([row], 3)
    assert spark.table(table_name).count() == 5


def test_files_of_writers_without_skew_support_are_read(
    spark: Session, table_name: str, metastore: MetastoreClient
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES "
        "STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 1)")
    (partition,) = metastore.get_partitions("default", table_name)
    source = next(folder(partition.skew.locations["1",]).glob("*.parquet"))
    shutil.copy(source, folder(partition.location) / "foreign.parquet")
    actual = spark.table(table_name).where("x = 1")
    assert (rows(actual), read(actual)) == ([(1, 1), (1, 1)], (2, 2))
    actual = spark.table(table_name).where("x = 2")
    assert (rows(actual), read(actual)) == ([(2, 1)], (2, 2))
    assert spark.table(table_name).where("p = 2").count() == 0


def test_a_moved_partition_is_read_with_the_files_at_its_new_location(
    spark: Session, table_name: str, metastore: MetastoreClient, tmp_path: Path
) -> None:
    """Runs SET LOCATION as a client that does not know skew, to a copy, and to plain files."""
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES "
        "STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 1)")
    (before,) = metastore.get_partitions("default", table_name)
    shutil.copytree(folder(before.location), tmp_path / "copy")
    (tmp_path / "plain").mkdir()
    shutil.copy(next(folder(before.location).rglob("x=1/*.parquet")), tmp_path / "plain" / "a.parquet")
    for path, expected in (("copy", [(1, 1), (2, 1)]), ("plain", [(1, 1)])):
        spark.sql(f"ALTER TABLE {table_name} PARTITION (p = 1) SET LOCATION '{tmp_path}/{path}'")
        (moved,) = metastore.get_partitions("default", table_name)
        assert folder(moved.location) == tmp_path / path
        assert moved.skew.locations["1",] == f"{moved.location}/x=1"
        assert rows(spark.table(table_name)) == expected
        assert rows(spark.table(table_name).where("x = 1")) == [(1, 1)]


def spark_alone(spark: Session, table: str) -> list[tuple[str, str]]:
    """Returns the partitions' directories, and the file names that Spark's own file index of a Hive table finds."""
    java: Any = spark._jvm
    state = spark._jsparkSession.sessionState()
    definition = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(table))
    index = java.org.apache.spark.sql.execution.datasources.CatalogFileIndex(spark._jsparkSession, definition, 0)
    nothing = scala_sequence(spark, [])
    index.refresh()
    directories = elements(index.listFiles(nothing, nothing))
    files = (file.getPath() for directory in directories for file in elements(directory.files()))
    return sorted((str(path.getParent().getName()), str(path.getName())) for path in files)


def test_spark_alone_finds_something_that_it_cannot_read(spark: Session, table_name: str) -> None:
    """Otherwise nothing would be found."""
    assert MARK == list_bucketed.MARK
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES "
        "STORED AS ORC"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (9, 2)")
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION (p = 3)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 1), (1, 2), (9, 3)")
    marks = spark_alone(spark, table_name)
    assert [location for location, _ in marks] == ["p=1", "p=2", "p=3"]
    assert all(name.startswith(MARK) for _, name in marks)
    assert spark.table(table_name).count() == 6
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (2, 1)")
    spark.sql(f"ALTER TABLE {table_name} PARTITION (p = 2) CONCATENATE")
    assert [location for location, _ in spark_alone(spark, table_name)] == ["p=1", "p=2", "p=3"]
    spark.sql(f"ALTER TABLE {table_name} NOT SKEWED")
    for mode in ("versions", "in-place"):
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('write.mode' = '{mode}')")
        spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (p = {2 if mode == 'versions' else 3}) VALUES (1)")
    names = dict(spark_alone(spark, table_name))
    assert [names[f"p={number}"].startswith(MARK) for number in (1, 2, 3)] == [True, False, False]
    assert rows(spark.table(table_name)) == [(1, 2), (1, 3), (2, 1)]


def test_spark_alone_reads_the_flat_layout_and_tables_without_partitions(
    spark: Session, table_name: str, metastore: MetastoreClient
) -> None:
    long = "é" * 100
    skewed = f"SKEWED BY (x) ON ('{long}', 'a') STORED AS DIRECTORIES STORED AS PARQUET"
    spark.sql(f"CREATE TABLE {table_name} (x STRING) PARTITIONED BY (p INT) {skewed} {FLAT}")
    spark.sql(f"INSERT INTO {table_name} VALUES ('{long}', 1), ('a', 1), ('a', 2), ('b', 2)")
    marked = [path for path, name in spark_alone(spark, table_name) if name.startswith(MARK)]
    assert marked == ["p=1"]  # a value that is too long for a file name has a directory
    spark.sql(f"CREATE TABLE {table_name}_whole (x STRING) {skewed}")
    spark.sql(f"INSERT INTO {table_name}_whole VALUES ('{long}'), ('b')")
    table = metastore.get_table("default", f"{table_name}_whole")
    read = spark.read.options(**table.storage.serde_parameters).schema("x STRING")
    assert rows(read.parquet(table.location or "")) == [("b",), (long,)]
    (shown,) = spark.sql(f"SHOW CREATE TABLE {table_name}_whole").first() or ()
    assert "SERDE" not in shown


def test_another_layout_is_rejected(spark: Session, table_name: str) -> None:
    with pytest.raises(
        InvalidStatementError, match=f"{table_name} .*skew.layout is 'square'; it must be directories or"
    ):
        spark.sql(
            f"CREATE TABLE {table_name} (x INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS ORC "
            "TBLPROPERTIES ('skew.layout' = 'square')"
        )


TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(["", DEFAULT_PARTITION]))


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4, unique=True))
def test_both_sides_give_files_the_same_names(values: list[tuple[str, str]]) -> None:
    names = flat_prefixes(["A", "b c"], values)
    assert names[0] == "skew="
    assert len(set(names)) == len(names)
    flat = [
        (name, flat_prefix(["A", "b c"], value)) for name, value in zip(names[1:], values, strict=True) if is_flat(name)
    ]
    for name, known in flat:
        assert name.startswith(known)
        assert "/" not in name
        assert [other for other, _ in flat if other.startswith(known)] == [
            other for other, same in flat if same == known
        ]
        assert not names[0].startswith(known)


@pytest.mark.parametrize(("tasks", "shuffles"), [(3, False), (80, True)])
def test_rows_of_few_tasks_are_not_shuffled(
    spark: Session,
    table_name: str,
    metastore: MetastoreClient,
    monkeypatch: pytest.MonkeyPatch,
    tasks: int,
    *,
    shuffles: bool,
) -> None:
    """Into one partition: many tasks would each write a file to each directory."""
    monkeypatch.setattr(staging, "_SMALL_FILE", 1)
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, n INT) PARTITIONED BY (ds STRING) SKEWED BY (n) ON (1, NULL) "
        "STORED AS DIRECTORIES STORED AS PARQUET"
    )
    given_rows = spark.range(0, 3 * tasks, numPartitions=tasks)
    numbered = given_rows.selectExpr("id", "CASE id % 3 WHEN 0 THEN 1 WHEN 1 THEN CAST(NULL AS INT) ELSE 2 END AS n")
    numbered.createOrReplaceTempView("given")
    spark.sql(f"INSERT INTO {table_name} PARTITION (ds = '1') SELECT * FROM given")
    (partition,) = metastore.get_partitions("default", table_name)
    assert (int(partition.parameters["numFiles"]) < 3 * tasks) == shuffles
    frame = spark.sql(f"SELECT n, count(*), min(id % 3), max(id % 3) FROM {table_name} GROUP BY n")
    assert rows(frame) == [(1, tasks, 0, 0), (2, tasks, 2, 2), (None, tasks, 1, 1)]
    assert {len(list(folder(location).glob("*.parquet"))) for location in partition.skew.locations.values()} == (
        {1} if shuffles else {tasks}
    )
