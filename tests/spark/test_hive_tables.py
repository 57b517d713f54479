"""Features of Hive tables in Doris' documentation, in plain SQL of our session: one test for each line.

Databases, tables with types, formats and compressions, INSERT, INSERT OVERWRITE, CREATE TABLE AS SELECT, dynamic
partitions, names of files, maximum file size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from spark_client import Session
from spark_client.context import Context
from spark_client.errors import SparkClientError
from tests.spark.tables import files_below, folder, layout

# <query id>-<task>-<uuid>-c<index>.<compression>.<format>
FILE = re.compile(
    r"[a-z0-9]{8,}-\d+-\d{5}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[.-]c\d{3}(\.[a-z0-9]+)?\.(parquet|orc)"
)


@pytest.fixture
def db(spark: Session, table_name: str, tmp_path: Path) -> Iterator[str]:
    """A database with its own location."""
    name = f"db_{table_name}"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {name} COMMENT 'it''s' LOCATION '{tmp_path}/db'".replace("''", "\\'"))
    yield name
    spark.sql(f"DROP DATABASE IF EXISTS {name} CASCADE")


def names(context: Context, db: str, table: str) -> list[str]:
    """Returns the names of the data files."""
    location = context.metastore.get_table(db, table).location or ""
    return sorted(name.rpartition("/")[2] for name in files_below(location) if not name.endswith(".crc"))


def test_databases(spark: Session, db: str, tmp_path: Path) -> None:
    spark.sql(f"ALTER DATABASE {db} SET DBPROPERTIES ('a' = 'b')")
    for statement in (f"SHOW CREATE DATABASE {db}", f"show create schema `{db}`;"):
        (shown,) = spark.sql(statement).collect()
        assert shown.asDict() == {
            "Database": db,
            "Create Database": f"CREATE DATABASE `{db}` COMMENT 'it\\'s' LOCATION 'file:{tmp_path}/db' "
            "WITH DBPROPERTIES ('a' = 'b')",
        }
    spark.sql(f"CREATE TABLE {db}.t (a INT) STORED AS ORC")
    with pytest.raises(PySparkException, match="SCHEMA_NOT_EMPTY"):
        spark.sql(f"DROP DATABASE {db}")
    spark.sql(f"DROP TABLE {db}.t")
    assert not (tmp_path / "db" / "t").exists()
    spark.sql(f"DROP DATABASE {db}")
    spark.sql(shown["Create Database"])
    assert spark.sql(f"SHOW CREATE DATABASE {db}").collect() == [shown]
    spark.sql(f"DROP DATABASE {db}")
    spark.sql(f"CREATE DATABASE {db} LOCATION '{tmp_path}/of two words%20'")
    assert f"LOCATION 'file:{tmp_path}/of two words%20'" in spark.sql(f"SHOW CREATE DATABASE {db}").collect()[0][1]
    with pytest.raises((SparkClientError, PySparkException), match="nowhere_at_all"):
        spark.sql("SHOW CREATE DATABASE nowhere_at_all")


def test_column_types(spark: Session, context: Context, db: str) -> None:
    types = (
        "col1 BOOLEAN COMMENT 'col1', col2 TINYINT, col3 SMALLINT, col4 INT, col5 BIGINT, col6 DATE, col7 TIMESTAMP, "
        "col8 FLOAT, col9 DOUBLE, col10 CHAR(10), col11 VARCHAR(11), col12 STRING, col13 DECIMAL(9,4), "
        "col14 ARRAY<INT>, col15 MAP<STRING,INT>, col16 STRUCT<a:INT,b:STRING>"
    )
    values = (
        "true, 1Y, 2S, 3, 4L, DATE'2024-01-31', TIMESTAMP'2024-01-31 10:00:00', 1.5F, 2.5D, 'char', 'varchar', "
        "'string', 1.25BD, array(1, 2), map('k', 1), named_struct('a', 1, 'b', 'x')"
    )
    expected = (
        True, 1, 2, 3, 4, date(2024, 1, 31), datetime.fromisoformat("2024-01-31 10:00:00"), 1.5, 2.5, "char      ",
        "varchar", "string",
        Decimal("1.2500"), [1, 2], {"k": 1}, (1, "x"), "a", "b",
    )  # fmt: skip
    for kind in ("PARQUET", "ORC"):
        table = f"{db}.{kind.lower()}"
        spark.sql(f"CREATE TABLE {table} ({types}) PARTITIONED BY (pt1 STRING, pt2 STRING) STORED AS {kind}")
        spark.sql(f"INSERT INTO {table} VALUES ({values}, 'a', 'b')")
        spark.sql(f"INSERT INTO {table} (col4, pt1, pt2) VALUES (7, 'beijing', '2023-12-12')")
        assert [tuple(row) for row in spark.sql(f"SELECT * FROM {table} WHERE pt1 = 'a'").collect()] == [expected]
        assert spark.sql(f"SELECT col4, col12, pt2 FROM {table} WHERE pt1 = 'beijing'").collect() == [
            (7, None, "2023-12-12")
        ]
        described = context.metastore.get_table(db, kind.lower())
        assert [column.type for column in described.columns] == [
            part.split(" ")[1].lower() for part in types.split(", ")
        ]
        assert described.columns[0].comment == "col1"


@pytest.mark.parametrize(
    ("kind", "properties", "suffix"),
    [
        ("PARQUET", "", ".snappy.parquet"),
        ("PARQUET", "'compression' = 'zstd'", ".zstd.parquet"),
        ("PARQUET", "'parquet.compression' = 'plain'", "c000.parquet"),
        ("ORC", "", ".zlib.orc"),
        ("ORC", "'orc.compress' = 'SNAPPY'", ".snappy.orc"),
        ("ORC", "'compression' = 'zstd'", ".zstd.orc"),
        ("ORC", "'compression' = 'plain'", "c000.orc"),
    ],
)
def test_formats_and_compressions(
    spark: Session, context: Context, db: str, kind: str, properties: str, suffix: str
) -> None:
    clause = f"TBLPROPERTIES ({properties})" if properties else ""
    spark.sql(f"CREATE TABLE {db}.t (a INT) STORED AS {kind} {clause}")
    spark.sql(f"INSERT INTO {db}.t VALUES (1)")
    (name,) = names(context, db, "t")
    assert FILE.fullmatch(name)
    assert name.endswith(suffix)
    assert spark.table(f"{db}.t").collect() == [(1,)]


def test_a_compression_of_the_session_wins_over_the_default_only(spark: Session, context: Context, db: str) -> None:
    spark.sql(f"CREATE TABLE {db}.own (a INT) STORED AS ORC TBLPROPERTIES ('orc.compress' = 'ZLIB')")
    spark.sql(f"CREATE TABLE {db}.none (a INT) STORED AS ORC")
    spark.sql("SET spark.sql.orc.compression.codec = snappy")
    try:
        spark.sql(f"FROM range(1) INSERT INTO {db}.own SELECT 1 INSERT INTO {db}.none SELECT 1")
    finally:
        spark.sql("RESET spark.sql.orc.compression.codec")
    assert names(context, db, "own")[0].endswith(".zlib.orc")
    assert names(context, db, "none")[0].endswith(".snappy.orc")


def test_insert_overwrite_and_dynamic_partitions(spark: Session, context: Context, db: str) -> None:
    spark.sql(f"CREATE TABLE {db}.plain (a INT, b STRING) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {db}.plain VALUES (1, 'x'), (2, 'y')")
    spark.sql(f"INSERT OVERWRITE TABLE {db}.plain VALUES (3, 'z')")
    spark.sql(f"INSERT INTO {db}.plain (b) VALUES ('w')")
    assert sorted(map(str, spark.table(f"{db}.plain").collect())) == ["Row(a=3, b='z')", "Row(a=None, b='w')"]
    spark.sql(f"CREATE TABLE {db}.parted (a INT) PARTITIONED BY (pt1 STRING, pt2 STRING) STORED AS ORC")
    spark.sql(f"INSERT INTO {db}.parted SELECT a, b, 'p' FROM {db}.plain")
    spark.sql(f"INSERT OVERWRITE TABLE {db}.parted SELECT 9, 'z', 'p'")
    assert [row[0] for row in spark.sql(f"SHOW PARTITIONS {db}.parted").collect()] == ["pt1=w/pt2=p", "pt1=z/pt2=p"]
    assert {tuple(row) for row in spark.table(f"{db}.parted").collect()} == {(None, "w", "p"), (9, "z", "p")}


def test_the_largest_size_of_files(spark: Session, context: Context, db: str) -> None:
    limits = {"own": 60_000, "none": 20 << 10}
    rows = "SELECT id, sha2(CAST(id AS STRING), 256) x, CAST(id % 2 AS STRING) p FROM range(0, 4000, 1, 1)"
    spark.sql(
        f"CREATE TABLE {db}.own (id BIGINT, x STRING) PARTITIONED BY (p STRING) STORED AS PARQUET "
        f"TBLPROPERTIES ('write.max.file.size' = '{limits['own']}')"
    )
    spark.sql(f"CREATE TABLE {db}.none (id BIGINT, x STRING) PARTITIONED BY (p STRING) STORED AS ORC")
    spark.sql(f"INSERT INTO {db}.own {rows}")
    spark.sql(f"INSERT INTO {db}.none {rows} WHERE id < 2000")
    location = context.metastore.get_table(db, "none").location or ""
    assert layout(location) == {"p=0": 1, "p=1": 1}
    spark.sql("SET write.max.file.size = 20kB")
    try:
        spark.sql(f"INSERT OVERWRITE {db}.none {rows} WHERE id < 2000")
    finally:
        spark.sql("RESET write.max.file.size")
    for table, limit in limits.items():
        places = [folder(part.location) for part in context.metastore.get_partitions(db, table)]
        sizes = [path.stat().st_size for directory in places for path in directory.glob("[!.]*")]
        assert len(sizes) > 2
        assert max(sizes) <= limit
    assert spark.sql(f"SELECT count(*), sum(id) FROM {db}.own").first() == (4000, 7998000)
    assert spark.sql(f"SELECT count(*), sum(id) FROM {db}.none").first() == (2000, 1999000)


def test_values_that_do_not_fit_are_rejected_or_null_by_session_setting(spark: Session, db: str) -> None:
    spark.sql(f"CREATE TABLE {db}.t (a INT) STORED AS ORC")
    with pytest.raises((SparkClientError, PySparkException), match="Cannot safely cast"):
        spark.sql(f"INSERT INTO {db}.t SELECT 'abc'")
    for name, value in (("spark.sql.storeAssignmentPolicy", "legacy"), ("spark.sql.ansi.enabled", "false")):
        spark.sql(f"SET {name} = {value}")
    try:
        spark.sql(f"INSERT INTO {db}.t SELECT 'abc'")
    finally:
        spark.sql("RESET spark.sql.storeAssignmentPolicy")
        spark.sql("RESET spark.sql.ansi.enabled")
    assert spark.table(f"{db}.t").collect() == [(None,)]


def test_directories_named_by_a_function(spark: Session, context: Context, db: str) -> None:
    long = "ä/" * 200
    spark.sql(
        f"CREATE TABLE {db}.t (a INT) PARTITIONED BY (p STRING, q INT) STORED AS PARQUET "
        "TBLPROPERTIES ('partition.directory.function' = 'short')"
    )
    spark.sql(f"INSERT INTO {db}.t SELECT 1, '{long}', 1 UNION ALL SELECT 2, NULL, NULL UNION ALL SELECT 3, 'a/b', 2")
    spark.sql(f"INSERT INTO {db}.t PARTITION (p = '{long}', q) SELECT 4, 1")
    spark.sql(f"INSERT OVERWRITE {db}.t SELECT CAST(id AS INT), 'none', 1 FROM range(9) WHERE rand() > 2")
    actual: dict[Any, list[int]] = {}
    for row in spark.table(f"{db}.t").collect():
        actual.setdefault((row.p, row.q), []).append(row.a)
    assert {key: sorted(values) for key, values in actual.items()} == {
        (long, 1): [1, 4], (None, None): [2], ("a/b", 2): [3],
    }  # fmt: skip
    assert spark.sql(f"SELECT sum(a) FROM {db}.t WHERE p = '{long}'").first() == (5,)
    shown = sorted(layout(context.metastore.get_table(db, "t").location or "").items())
    assert [name for name, _ in shown[:2]] == [
        "p=__HIVE_DEFAULT_PARTITION__/q=__HIVE_DEFAULT_PARTITION__",
        "p=a%2Fb/q=2",
    ]
    assert re.fullmatch(r"p=ä%2Fä.*~[0-9a-f]{16}/q=1", shown[2][0])
    assert shown[2][1] == 2
    spark.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('partition.directory.function' = 'nobody knows')")
    with pytest.raises((SparkClientError, PySparkException), match="'nobody knows', which is not registered"):
        spark.sql(f"INSERT INTO {db}.t SELECT 1, 'x', 1")


def test_names_that_no_file_system_takes_are_rejected(spark: Session, context: Context, db: str) -> None:
    spark.sql(f"CREATE TABLE {db}.t (a INT) PARTITIONED BY (p STRING) STORED AS PARQUET")
    for statement in (
        f"INSERT INTO {db}.t PARTITION (p = '{'x' * 254}') SELECT 1",
        f"INSERT INTO {db}.t SELECT 1, repeat('/', 85)",
        f"INSERT INTO {db}.t SELECT 1, 'short' UNION ALL SELECT 2, repeat('ä', 127)",
    ):
        with pytest.raises((SparkClientError, PySparkException), match=r"255.*'short'"):
            spark.sql(statement)
    assert context.metastore.get_partitions(db, "t") == ()
    assert names(context, db, "t") == []
    spark.sql(f"INSERT INTO {db}.t SELECT 1, repeat('ä', 126) UNION ALL SELECT 2, repeat('/', 84)")
    assert len(context.metastore.get_partitions(db, "t")) == 2
