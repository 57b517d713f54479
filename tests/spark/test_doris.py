"""Doris' statements for Hive, run as its documentation writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from spark_client.errors import InvalidStatementError
from tests.spark.since import is_there


@pytest.fixture
def database(spark: SparkSession, table_name: str, tmp_path: Path) -> Iterator[str]:
    """Creates a table in this way, and drops it afterwards."""
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {table_name} PROPERTIES ('location'='file:{tmp_path}/db/')")
    yield table_name
    spark.sql(f"DROP DATABASE {table_name} CASCADE")


def test_the_statements_of_the_documentation(
    spark: SparkSession, metastore: MetastoreClient, database: str, tmp_path: Path
) -> None:
    (row,) = spark.sql(f"SHOW CREATE DATABASE {database}").collect()
    assert f"{tmp_path}/db" in row[1]
    spark.sql(f"""
        CREATE TABLE {database}.partition_table (
          `col1` BOOLEAN COMMENT 'col1', `col2` INT COMMENT 'col2', `col3` BIGINT COMMENT 'col3',
          `col4` DECIMAL(2,1) COMMENT 'col4', `pt1` VARCHAR COMMENT 'pt1', `pt2` VARCHAR COMMENT 'pt2'
        ) ENGINE=hive PARTITION BY LIST (pt1, pt2) () PROPERTIES ('file_format'='orc', 'compression'='zlib')""")
    table = metastore.get_table(database, "partition_table")
    assert [column.type for column in table.partition_columns] == ["string", "string"]
    assert table.parameters["compression"] == "zlib"
    spark.sql(f"INSERT INTO {database}.partition_table VALUES (true, 1, 2, 1.5, 'beijing', '2023-12-12')")
    spark.sql(f"""
        CREATE TABLE {database}.hive_ctas (col1,col2,pt1) ENGINE=hive PARTITION BY LIST (pt1) ()
        PROPERTIES ("file_format"="parquet", "compression"="zstd")
        AS SELECT col1, pt1 AS col2, pt2 AS pt1 FROM {database}.partition_table WHERE col2 > 0""")
    assert [tuple(row) for row in spark.table(f"{database}.hive_ctas").collect()] == [(True, "beijing", "2023-12-12")]
    made = metastore.get_table(database, "hive_ctas")
    assert "Parquet" in made.storage.input_format
    (partition,) = metastore.get_partitions(database, "hive_ctas")
    assert [file.name for file in Path(partition.location.removeprefix("file:")).glob("*.zstd.parquet")]


def test_its_statements_about_catalogs(spark: SparkSession, metastore: MetastoreClient, database: str) -> None:
    session, uris = spark.newSession(), ",".join(map(str, metastore.addresses))
    session.sql("SET GLOBAL enable_nereids_planner = true;")
    assert session.conf.get("enable_nereids_planner") == "true"
    with pytest.raises(InvalidStatementError, match=r"this session's metastore is .*, not thrift://elsewhere:1"):
        session.sql("CREATE CATALOG lake PROPERTIES ('type'='hms', 'hive.metastore.uris' = 'thrift://elsewhere:1')")
    session.sql(f"""CREATE CATALOG IF NOT EXISTS lake PROPERTIES (
        "type"="hms", "hive.metastore.uris" = "{uris}", "hadoop.username" = "hadoop", );""")
    session.sql("SWITCH lake;")
    with pytest.raises(InvalidStatementError, match="catalog hive does not exist; the catalog of this session is lake"):
        session.sql("SWITCH hive")
    session.sql(f"CREATE TABLE lake.{database}.t (a INT) ENGINE=hive")
    session.sql(f"INSERT INTO lake.{database}.t VALUES (1)")
    session.sql("DROP CATALOG IF EXISTS lake")
    with pytest.raises(
        InvalidStatementError, match="catalog lake does not exist; the catalog of this session is unnamed"
    ):
        session.sql("DROP CATALOG lake")
    assert spark.table(f"{database}.t").count() == 1


def test_names_of_the_catalog(spark: SparkSession, database: str) -> None:
    """As in Doris and Trino: wherever a table or a database is named."""
    named = f"hive.{database}"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {named}")
    spark.sql(f"CREATE TABLE {named}.t (a INT, x STRING) SKEWED BY (x) ON ('u') STORED AS DIRECTORIES")
    spark.sql(f"INSERT INTO {named}.t VALUES (1, 'u'), (2, 'v')")
    spark.sql(f"INSERT OVERWRITE TABLE {named}.t SELECT a + 1, x FROM {named}.t WHERE a IN (SELECT a FROM {named}.t)")
    spark.sql(f"UPDATE {named}.t SET x = 'w' WHERE a = 3")
    spark.table(f"{named}.t").write.insertInto(f"{named}.t")
    if is_there("4.0"):  # writeTo: see test_write_to
        spark.table(f"{named}.t").writeTo(f"{named}.t").append()
    else:
        spark.sql(f"INSERT INTO {named}.t SELECT * FROM {named}.t")
    spark.table(f"{named}.t").write.saveAsTable(f"{named}.other")
    spark.sql(f"CREATE VIEW {named}.seen AS WITH w AS (SELECT * FROM {named}.t) SELECT count(*) AS n FROM w")
    assert spark.sql(f"SELECT n FROM {named}.seen").collect() == [(8,)]
    assert spark.sql(f"DESCRIBE {named}.t").count()
    assert "SKEWED BY" in spark.sql(f"SHOW CREATE TABLE {named}.t").collect()[0][0]
    shown = spark.sql(f"SHOW TABLES IN {named}").where("NOT isTemporary").collect()
    assert {row.tableName for row in shown} == {"t", "other", "seen"}
    spark.sql(f"DROP TABLE {named}.other")
    spark.sql(f"ALTER TABLE {named}.t RENAME TO {named}.u")
    spark.sql(f"TRUNCATE TABLE {named}.u")
    assert spark.table(f"{database}.u").count() == 0
