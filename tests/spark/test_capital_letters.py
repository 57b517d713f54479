"""Names with capital letters: partition columns, whose directories Spark renames itself, and columns of dependents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from spark_client import Session
from spark_client.errors import NoSuchPartitionError, PartitionExistsError
from tests.spark.test_dependent_tables import database

__all__ = ["database"]

TABLES = {
    "hive": "(x INT) PARTITIONED BY (Tab STRING) STORED AS PARQUET",
    "spark": "(x INT, Tab STRING) USING parquet PARTITIONED BY (Tab)",
    "text": "(x INT) PARTITIONED BY (Tab STRING) STORED AS TEXTFILE",
}
CHANGES = {
    "nothing": (),
    "overwrite": ("INSERT OVERWRITE t PARTITION (Tab='a') VALUES (1)",),
    "merge": (
        "MERGE INTO t USING (SELECT 1 AS x) AS s ON t.x = s.x AND t.Tab = 'a' WHEN MATCHED THEN UPDATE SET x = 1",
    ),
}


@pytest.fixture
def case_sensitive(spark: SparkSession, database: str) -> Iterator[SparkSession]:
    session = spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "true")
    session.sql(f"USE {database}")
    yield session
    session.sql("USE default")


def rows(spark: SparkSession, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.sql(query).collect())


def cases(values: Sequence[tuple[Any, ...]], often: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Returns the values as parameters, of which `make test` runs `often`, in which each occurs."""
    assert set(often) <= set(values)
    return [pytest.param(*each, marks=[] if each in often else pytest.mark.long) for each in values]


@pytest.mark.parametrize(
    ("kind", "change"),
    cases(
        [each for each in product(TABLES, CHANGES) if each != ("text", "merge")],  # MERGE needs Parquet or ORC
        [("hive", "merge"), ("spark", "overwrite"), ("text", "nothing")],
    ),
)
def test_partitions_are_renamed_dropped_and_added(spark: Session, database: str, kind: str, change: str) -> None:
    spark.sql(f"CREATE TABLE t {TABLES[kind]}")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    for statement in CHANGES[change]:
        spark.sql(statement)
    spark.sql("ALTER TABLE t PARTITION (Tab='a') RENAME TO PARTITION (Tab='c')")
    assert rows(spark, "SELECT x, Tab FROM t") == [(1, "c"), (2, "b")]
    with pytest.raises((NoSuchPartitionError, PartitionExistsError)):
        spark.sql("ALTER TABLE t PARTITION (Tab='c') RENAME TO PARTITION (tab='b')")
    with pytest.raises(NoSuchPartitionError):
        spark.sql("ALTER TABLE t PARTITION (Tab='a') RENAME TO PARTITION (Tab='e')")
    assert rows(spark, "SHOW PARTITIONS t") in ([("Tab=b",), ("Tab=c",)], [("tab=b",), ("tab=c",)])
    spark.sql("ALTER TABLE t ADD PARTITION (Tab='a')")
    spark.sql("INSERT INTO t VALUES (3, 'a'), (4, 'c')")
    assert rows(spark, "SELECT x, Tab FROM t") == [(1, "c"), (2, "b"), (3, "a"), (4, "c")]
    spark.sql("ALTER TABLE t DROP PARTITION (Tab='c')")
    spark.sql("ALTER TABLE t ADD PARTITION (Tab='c')")
    assert rows(spark, "SELECT x, Tab FROM t") == [(2, "b"), (3, "a")]
    spark.sql("MSCK REPAIR TABLE t")
    assert rows(spark, "SELECT x, Tab FROM t") == [(2, "b"), (3, "a")]


@pytest.mark.parametrize(
    ("kind", "change"),
    cases(
        list(product(TABLES, ["nothing", "overwrite"])),
        [("hive", "overwrite"), ("spark", "nothing"), ("text", "overwrite")],
    ),
)
def test_partitions_are_loaded_and_found(
    spark: Session, metastore: MetastoreClient, database: str, tmp_path: Path, kind: str, change: str
) -> None:
    spark.sql(f"CREATE TABLE t {TABLES[kind]}")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    for statement in CHANGES[change]:
        spark.sql(statement)
    files = spark.range(5, 6).selectExpr("CAST(id AS INT) AS x").coalesce(1).write
    expected = [(1, "a"), (2, "b")]
    if kind != "spark":  # Spark loads no files into its own tables
        for number, (overwrite, value) in enumerate((("", "a"), ("OVERWRITE", "b"), ("", "n"))):
            (files.csv if kind == "text" else files.parquet)(f"{tmp_path}/{number}")
            spark.sql(
                f"LOAD DATA LOCAL INPATH '{tmp_path}/{number}' {overwrite} INTO TABLE t PARTITION (Tab='{value}')"
            )
        expected = [(1, "a"), (5, "a"), (5, "b"), (5, "n")]
        assert rows(spark, "SELECT x, Tab FROM t") == expected
    location = metastore.get_table(database, "t").location or ""
    for name in ("Tab=d", "tab=e"):
        (files.csv if kind == "text" else files.parquet)(f"{location}/{name}")
    spark.sql("MSCK REPAIR TABLE t")
    expected = sorted([*expected, (5, "d"), (5, "e")])
    assert rows(spark, "SELECT x, Tab FROM t") == expected
    for value in "ade":
        spark.sql(f"ALTER TABLE t PARTITION (TAB='{value}') RENAME TO PARTITION (tAb='{value}2')")
    expected = sorted((x, f"{tab}2" if tab in "ade" else tab) for x, tab in expected)
    assert rows(spark, "SELECT x, Tab FROM t") == expected
    spark.sql("ALTER TABLE t DROP PARTITION (tAB='d2'), PARTITION (tab='e2')")
    spark.sql("ALTER TABLE t ADD PARTITION (TAB='d2') PARTITION (tab='d')")
    spark.sql("MSCK REPAIR TABLE t")
    assert rows(spark, "SELECT x, Tab FROM t") == [row for row in expected if row[1] not in {"d2", "e2"}]


OVERWRITES = {
    "insert": "INSERT OVERWRITE t PARTITION ({key}='a') VALUES (2)",
    "merge": "MERGE INTO t USING (SELECT 1 AS x) AS s ON t.x = s.x AND t.{key} = 'a' WHEN MATCHED THEN UPDATE SET x=2",
}


# Each value of one parameter with each of another.
PAIRS = [
    ("Tab", "insert", "inserted", "rename"),
    ("Tab", "merge", "added", "drop"),
    ("tab", "insert", "added", "drop"),
    ("tab", "merge", "inserted", "drop"),
    ("tab", "merge", "added", "rename"),
]


@pytest.mark.parametrize(
    ("key", "overwrite", "added", "removal"),
    cases(list(product(["tab", "Tab"], OVERWRITES, ["inserted", "added"], ["rename", "drop"])), PAIRS),
)
def test_replaced_rows_do_not_return(
    spark: Session, database: str, key: str, overwrite: str, added: str, removal: str
) -> None:
    """The directory that Spark gives the next partition of that name held the rows."""
    spark.sql(f"CREATE TABLE t (x INT) PARTITIONED BY ({key} STRING) STORED AS PARQUET")
    renamed = removal == "rename"
    if added == "added":
        spark.sql(f"ALTER TABLE t ADD PARTITION ({key}='a')")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (5, 'b')")
    spark.sql(OVERWRITES[overwrite].format(key=key))
    rename, drop = f"PARTITION ({key}='a') RENAME TO PARTITION ({key}='c')", f"DROP PARTITION ({key}='a')"
    spark.sql(f"ALTER TABLE t {rename if renamed else drop}")
    kept = [(2, "c"), (5, "b")] if renamed else [(5, "b")]
    spark.sql("MSCK REPAIR TABLE t")
    assert rows(spark, "SELECT * FROM t") == kept
    spark.sql(f"ALTER TABLE t ADD PARTITION ({key}='a')")
    assert rows(spark, "SELECT * FROM t") == kept
    spark.sql("MSCK REPAIR TABLE t")
    spark.sql(f"INSERT INTO t PARTITION ({key}='a') VALUES (4)")
    assert rows(spark, "SELECT * FROM t") == sorted([*kept, (4, "a")])


@pytest.mark.parametrize("kind", ["STORED AS PARQUET", "STORED AS TEXTFILE"])
def test_columns_of_a_dependent_are_spelled_as_in_the_base(
    case_sensitive: SparkSession, metastore: MetastoreClient, database: str, kind: str
) -> None:
    spark = case_sensitive
    spark.sql(
        f"CREATE TABLE base (bCol INT, `Table` STRING, sT STRUCT<Ab: INT>) PARTITIONED BY (Ds STRING, hr STRING) {kind}"
    )
    spark.sql("INSERT INTO base VALUES (1, 'x', named_struct('Ab', 2), '1', '1')")
    spark.sql("CREATE DEPENDENT TABLE dependent PARTITIONED BY (ds STRING) DEPENDS ON TABLE base")
    spark.sql("CREATE DEPENDENT TABLE further PARTITIONED BY (ds STRING) DEPENDS ON TABLE dependent")
    for name in ("dependent", "further"):
        spark.sql(f"ALTER TABLE {name} ADD PARTITION (ds='1')")
    spark.sql("ALTER TABLE base ADD COLUMNS (newCol INT)")
    for name in ("base", "dependent", "further"):
        assert spark.table(name).columns[:4] == ["bCol", "Table", "sT", "newCol"], name
        assert rows(spark, f"SELECT bCol, `Table`, sT.Ab, newCol FROM {name}") == [(1, "x", 2, None)], name
        key = "Ds" if name == "base" else "ds"  # Spark takes the names of a view's partition columns from the metastore
        assert rows(spark, f"SELECT bCol FROM {name} WHERE {key} = '1'") == [(1,)], name
    for statement in ("DESCRIBE", "DESCRIBE EXTENDED", "SHOW CREATE TABLE", "SHOW PARTITIONS"):
        assert spark.sql(f"{statement} dependent").collect(), statement
    spark.sql("ALTER TABLE dependent SET TBLPROPERTIES ('q'='1')")
    assert spark.table("dependent").columns == ["bCol", "Table", "sT", "newCol", "ds"]
    assert [column.name for column in metastore.get_table(database, "dependent").columns] == [
        *("bcol", "table", "st", "newcol")
    ]
