"""EXPIRE in a session."""

from __future__ import annotations

import pytest

from spark_client import Session
from spark_client.errors import MetastoreRefusedError, NoSuchTableError


def test_expired_partitions_are_dropped(spark: Session, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (n INT) PARTITIONED BY (ds STRING) STORED AS PARQUET "
        "TBLPROPERTIES ('care.retention.key' = 'ds', 'care.retention.period' = '30d')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, '2001-01-01'), (2, '2001-01-02'), (3, '2999-01-01'), (4, 'x')")
    expected = [(f"ds=2001-01-0{day}", 1) for day in (1, 2)]

    def rows(statement: str) -> list[tuple[str, int, str]]:
        return [(row.partition, row.files, row.outcome) for row in spark.sql(statement).collect()]

    def remaining() -> list[int]:
        return sorted(row.n for row in spark.sql(f"SELECT n FROM {table_name}").collect())

    assert rows(f"EXPIRE {table_name} DRY RUN") == [(*each, "would be dropped") for each in expected]
    assert remaining() == [1, 2, 3, 4]
    assert rows(f"EXPIRE {table_name}") == [(*each, "dropped") for each in expected]
    assert remaining() == [3, 4]
    assert rows(f"EXPIRE {table_name}") == []
    spark.sql(f"UNDROP TABLE {table_name} PARTITION (ds = '2001-01-02')")
    assert remaining() == [2, 3, 4]


def test_tables_that_do_not_expire_are_refused(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (n INT) PARTITIONED BY (ds STRING) STORED AS PARQUET")
    with pytest.raises(MetastoreRefusedError, match=r"do not expire: set partition\.retention\.period"):
        spark.sql(f"EXPIRE {table_name}")
    with pytest.raises(NoSuchTableError):
        spark.sql(f"EXPIRE {table_name}_missing")
