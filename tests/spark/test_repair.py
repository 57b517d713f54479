"""MSCK REPAIR TABLE adds and drops the partitions that Spark's own command does."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient

NAMES = (
    *("ds=2026-01-05/h=1", "ds=2026-01-05/h=02", "ds=2026-01-06/h=__HIVE_DEFAULT_PARTITION__", "ds=a%3Ab/h=3"),
    *(
        "DS=x/H=4",
        "ds=empty/h=5",
        "other=1/h=1",
        "ds=1/nothing",
        ".hidden/h=1",
        "_versions/h=1",
        "ds=2026-01-05/h=word",
    ),
)


@pytest.fixture
def external(spark: SparkSession, table_name: str, tmp_path: Path) -> Path:
    """An external table without partitions, over directories with a row each. Returns its directory."""
    root = tmp_path / "t"
    for number, name in enumerate(NAMES):
        (root / name).mkdir(parents=True)
        if "empty" not in name:
            pq.write_table(pa.table({"a": pa.array([number], pa.int32())}), root / name / "part-0.parquet")
    spark.sql(_create(table_name, root))
    return root


def _create(name: str, root: Path) -> str:
    columns = "(a INT) PARTITIONED BY (ds STRING, h INT) STORED AS PARQUET"
    return f"CREATE EXTERNAL TABLE {name} {columns} LOCATION 'file:{root}'"


def test_the_partitions_are_those_of_sparks_command(
    spark: SparkSession, metastore: MetastoreClient, table_name: str, external: Path
) -> None:
    other = f"{table_name}_other"
    spark.sql(_create(other, external))
    assert spark.sql(f"MSCK REPAIR TABLE {table_name}").collect() == []
    spark.catalog.recoverPartitions(other)  # Spark's own
    found, expected = (
        {tuple(one.values): one for one in metastore.get_partitions("default", name)} for name in (table_name, other)
    )
    assert found.keys() == expected.keys() - {("2026-01-05", "word")}, "Spark takes a word for a number"
    for values, one in found.items():
        assert one.location == expected[values].location
        assert one.parameters.get("numFiles") == expected[values].parameters.get("numFiles"), values
    assert sorted(spark.table(table_name).select("a").collect()) == [(0,), (1,), (2,), (3,), (4,)]


def test_partitions_are_dropped_and_added(
    spark: SparkSession, metastore: MetastoreClient, table_name: str, external: Path
) -> None:
    spark.sql(f"ALTER TABLE {table_name} RECOVER PARTITIONS")
    before = set(metastore.get_partition_names("default", table_name))
    (external / "ds=a%3Ab").rename(external / "ds=new")
    spark.sql(f"MSCK REPAIR TABLE {table_name} DROP PARTITIONS")
    kept = before - {"ds=a%3Ab/h=3"}
    assert set(metastore.get_partition_names("default", table_name)) == kept
    spark.sql(f"MSCK REPAIR TABLE {table_name} SYNC PARTITIONS")
    assert set(metastore.get_partition_names("default", table_name)) == {*kept, "ds=new/h=3"}


def test_mistakes_have_sparks_errors(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT) STORED AS PARQUET")
    with pytest.raises(AnalysisException, match="partitioned"):
        spark.sql(f"MSCK REPAIR TABLE {table_name}")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"MSCK REPAIR TABLE {table_name}_missing")
    with pytest.raises(ParseException):
        spark.sql(f"MSCK REPAIR TABLE {table_name} ADD")
