"""UNDROP of overwrites in place: the former rows return, also where the present ones are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from metastore.client import MetastoreClient
from spark_client import Session
from spark_client.errors import SparkClientError

HEAVY = "SKEWED BY (x) ON (7) STORED AS DIRECTORIES"
TABLES = {
    "unpartitioned, of Spark": "(id INT, x INT) USING parquet",
    "unpartitioned, of Hive": "(id INT, x INT) STORED AS ORC TBLPROPERTIES ('write.mode' = 'in-place')",
    "partitions, of Spark": "(id INT, x INT, p STRING) USING orc PARTITIONED BY (p)",
    "partitions, of Hive": "(id INT, x INT) PARTITIONED BY (p STRING) STORED AS PARQUET "
    "TBLPROPERTIES ('write.mode' = 'in-place')",
    "partitions with heavy values": f"(id INT, x INT) PARTITIONED BY (p STRING) {HEAVY} STORED AS PARQUET "
    "TBLPROPERTIES ('write.mode' = 'in-place')",
}


def ids(spark: Session, name: str) -> list[int]:
    return sorted(row[0] for row in spark.sql(f"SELECT id FROM {name}").collect())


LONG = ("unpartitioned, of Hive", "partitions, of Spark")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind in LONG)) for kind in TABLES])
def test_the_former_rows_return_and_the_next_write_replaces_them(
    spark: Session, metastore: MetastoreClient, table_name: str, kind: str
) -> None:
    more = ", 'a:b'" if "partitions" in kind.split(",")[0] and "unpartitioned" not in kind else ""
    spark.sql(f"CREATE TABLE {table_name} {TABLES[kind]}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 7{more}), (2, 0{more})")
    for statement, now in (
        (f"INSERT OVERWRITE {table_name} VALUES (3, 7{more})", [3]),
        (f"DELETE FROM {table_name} WHERE id = 1", [2]),
        (f"TRUNCATE TABLE {table_name}", []),
    ):
        spark.sql(statement)
        assert ids(spark, table_name) == now
        spark.sql(f"UNDROP TABLE {table_name}")
        assert ids(spark, table_name) == [1, 2], statement
        cleaned = metastore.clean("default", table_name, grace=0)
        assert not [location.error for location in cleaned.locations if location.error]
        assert ids(spark, table_name) == [1, 2], statement
    spark.sql(f"INSERT INTO {table_name} VALUES (4, 7{more})")
    assert ids(spark, table_name) == [1, 2, 4]
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (5, 7{more})")
    metastore.clean("default", table_name, grace=0)
    assert ids(spark, table_name) == [5]


def test_rows_that_were_cleaned_are_an_error(spark: Session, metastore: MetastoreClient, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT) USING parquet")
    for number in (1, 2):
        spark.sql(f"INSERT OVERWRITE {table_name} VALUES ({number})")
    metastore.clean("default", table_name, grace=0)
    with pytest.raises(SparkClientError, match="cannot be undone: its former files are not kept"):
        spark.sql(f"UNDROP TABLE {table_name}")
    assert ids(spark, table_name) == [2]


CHANGES = {
    "renamed": ["ALTER TABLE {t} RENAME TO {t}_new"],
    "dropped and restored": ["DROP TABLE {t}", "UNDROP TABLE {t}", "ALTER TABLE {t} RENAME TO {t}_new"],
    "restored under another name": ["DROP TABLE {t}", "UNDROP TABLE {t} AS {t}_new"],
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("kind", ["unpartitioned, of Spark", "partitions of Hive, below each other"])
def test_a_table_that_has_moved_gets_its_rows_back(
    spark: Session, table_name: str, kind: str, changes: Sequence[str]
) -> None:
    below = "(id INT) PARTITIONED BY (p INT, q STRING) STORED AS PARQUET TBLPROPERTIES ('write.mode' = 'in-place')"
    name, more = f"{table_name}_new", ", 1, 'x y'" if "below" in kind else ""
    spark.sql(f"CREATE TABLE {table_name} {below if more else '(id INT) USING parquet'}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1{more})")
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (2{more})")
    for change in changes:
        spark.sql(change.format(t=table_name))
    spark.sql(f"UNDROP TABLE {name}")
    assert ids(spark, name) == [1]
