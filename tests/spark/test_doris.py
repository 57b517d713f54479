"""Doris' statements for Hive, run as its documentation writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient


@pytest.fixture
def database(spark: SparkSession, table_name: str, tmp_path: Path) -> Iterator[str]:
    """One that is made so, and dropped afterwards."""
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
