"""UNDROP in a session: tables and partitions return with their rows, under another name if theirs is taken."""

from __future__ import annotations

import pytest

from spark_client import Session
from spark_client.errors import InvalidStatementError


def test_tables_and_partitions(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (n INT) PARTITIONED BY (ds DATE, hr INT) STORED AS PARQUET")
    rows = "VALUES (1, DATE '2024-01-01', 1), (2, DATE '2024-01-01', 2), (3, DATE '2024-01-02', 1) AS t(n, ds, hr)"
    spark.sql(f"INSERT INTO {table_name} SELECT * FROM {rows}")

    def actual(name: str) -> list[int]:
        return sorted(row.n for row in spark.sql(f"SELECT n FROM {name}").collect())

    spark.sql(f"ALTER TABLE {table_name} DROP PARTITION (ds = DATE '2024-01-01')")
    assert actual(table_name) == [3]
    back = spark.sql(f"UNDROP TABLE {table_name} PARTITION (ds = '2024-01-01', hr = '01')").first()
    assert back is not None
    assert (back.kind, back.partitions) == ("partitions", 1)
    assert actual(table_name) == [1, 3]
    spark.sql(f"UNDROP TABLE {table_name} PARTITION (ds = DATE '2024-01-01')")
    with pytest.raises(InvalidStatementError, match="needs values of the first partition columns"):
        spark.sql(f"UNDROP TABLE {table_name} PARTITION (hr = 1)")
    spark.sql(f"DROP TABLE {table_name}")
    spark.sql(f"CREATE TABLE {table_name} (n INT) STORED AS PARQUET")
    spark.sql(f"UNDROP TABLE {table_name} AS {table_name}_old")
    assert actual(f"{table_name}_old") == [1, 2, 3]
