"""A protected table is not truncated, whoever removes the files."""

from __future__ import annotations

import pytest
from pyspark.errors import QueryExecutionException

from spark_client import Session

PROTECTED = {
    "of Hive": "(id INT) STORED AS PARQUET",
    "of Spark": "(id INT) USING parquet",
    "by Spark's own writer": "(id INT) STORED AS TEXTFILE",
    "partitions": "(id INT) PARTITIONED BY (p INT) STORED AS ORC",
}


@pytest.mark.parametrize("kind", PROTECTED)
def test_a_protected_table_is_not_truncated(spark: Session, table_name: str, kind: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} {PROTECTED[kind]}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1{', 1' if 'PARTITIONED' in PROTECTED[kind] else ''})")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('metastore.protected' = 'true')")
    with pytest.raises(QueryExecutionException, match=f"{table_name} is protected. Before you truncate it, run"):
        spark.sql(f"TRUNCATE TABLE {table_name}")
    assert spark.table(table_name).count() == 1
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('metastore.protected' = 'false')")
    spark.sql(f"TRUNCATE TABLE {table_name}")
    assert spark.table(table_name).count() == 0
