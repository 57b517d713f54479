"""The location of a row may depend on the time zone of its writer's session; later changes may run in another zone."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import settings

LAYOUTS = {
    "buckets": "CLUSTERED BY (moment) INTO 4 BUCKETS STORED AS PARQUET TBLPROPERTIES ('bucketing_version'='2')",
    "heavy values": "SKEWED BY (moment) ON ('2024-07-01 12:00:00', '2024-07-01 08:00:00') STORED AS DIRECTORIES "
    "STORED AS PARQUET",
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_rows_are_changed_in_another_time_zone(spark: SparkSession, table_name: str, layout: str) -> None:
    def ids() -> list[int]:
        return sorted(row[0] for row in spark.table(table_name).collect())

    with settings(spark, {"spark.sql.session.timeZone": "UTC"}):
        spark.sql(f"CREATE TABLE {table_name} (id INT, moment TIMESTAMP) {layout}")
        moment = "TIMESTAMP'2024-07-01 12:00:00' - make_dt_interval(0, int(id))"
        spark.sql(f"INSERT INTO {table_name} SELECT id, {moment} FROM range(12)")
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        spark.sql(f"DELETE FROM {table_name} WHERE id = 4")
        assert ids() == [0, 1, 2, 3, *range(5, 12)]
        spark.sql(f"UPDATE {table_name} SET id = 4 WHERE moment = TIMESTAMP'2024-07-01 12:00:00Z'")
        assert ids() == list(range(1, 12))


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_partitions_that_dependent_tables_name_by_moments_are_found(
    spark: SparkSession, table_name: str, zone: str
) -> None:
    with settings(spark, {"spark.sql.session.timeZone": zone}):
        spark.sql(f"CREATE TABLE {table_name} (id INT) PARTITIONED BY (moment TIMESTAMP)")
        spark.sql(f"INSERT INTO {table_name} VALUES (1, TIMESTAMP'2024-07-01 12:00:00')")
        spark.sql(f"CREATE DEPENDENT TABLE {table_name}_d PARTITIONED BY (moment) DEPENDS ON TABLE {table_name}")
        spark.sql(f"ALTER TABLE {table_name}_d ADD PARTITION (moment = '2024-07-01 12:00:00')")
        rows = spark.sql(f"SELECT id, CAST(moment AS STRING) FROM {table_name}_d").collect()
        assert rows == [(1, "2024-07-01 12:00:00")]
