"""Statements that read rows in several jobs, if an executor ends in between and the rows differ when computed again.

`make interop` kills executors of a cluster for this (tests/interop/test_lost_executors.py).
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql import types as T  # noqa: N812 - Spark's own custom

from spark_client.context import Context
from spark_client.errors import WriteFailedError
from spark_client.jvm.plans import column_attributes
from spark_client.jvm.repeatable import is_repeatable
from spark_client.write.change import Change, Clause
from spark_client.write.insert import insert_into
from spark_client.write.row_changes import change_rows
from tests.spark.since import since
from tests.spark.tables import files_below, make_table

REPEATABLE = [
    "SELECT id, id % 3 FROM range(9) WHERE id > 2",
    "SELECT count(*), max(id), sum(id) FROM range(9) GROUP BY id % 2",
    "SELECT * FROM VALUES (1), (2) AS v(a) JOIN range(3) ON a = id ORDER BY a",
    "WITH c AS (SELECT id FROM range(3)) SELECT * FROM c UNION ALL SELECT * FROM c",
    "SELECT id FROM range(9) WHERE id IN (SELECT a FROM VALUES (1) AS v(a))",
]
UNCERTAIN = [
    "SELECT uuid()",
    "SELECT id FROM range(9) WHERE rand() < 0.5",
    "SELECT row_number() OVER (PARTITION BY id % 2 ORDER BY 1) FROM range(9)",
    "SELECT id FROM range(9) LIMIT 3",
    "SELECT first(id) FROM range(9)",
    "SELECT max_by(id, 1) FROM range(9)",
    "SELECT sum(CAST(id AS DOUBLE)) FROM range(9)",
    "SELECT max(struct(CAST(id AS DOUBLE))) FROM range(9)",
    "SELECT aes_encrypt(CAST(id AS STRING), '0123456789abcdef') FROM range(9)",
    "SELECT id FROM range(9) WHERE id IN (SELECT id FROM range(9) WHERE rand() < 0.5)",
    "SELECT * FROM (SELECT id FROM range(9)) TABLESAMPLE (50 PERCENT)",
]


@pytest.mark.parametrize("query", REPEATABLE)
def test_queries_whose_rows_are_the_same_each_time(spark: SparkSession, query: str) -> None:
    assert is_repeatable(spark.sql(query))


@pytest.mark.parametrize("query", UNCERTAIN)
def test_queries_whose_rows_may_differ(spark: SparkSession, query: str) -> None:
    assert not is_repeatable(spark.sql(query))


@since("4.0", "collations")
def test_distinct_rows_that_are_equal_in_a_collation(spark: SparkSession) -> None:
    rows = "(SELECT CAST(id AS STRING) COLLATE UTF8_LCASE AS s, id FROM range(9))"
    assert is_repeatable(spark.sql(f"SELECT s, id FROM {rows} WHERE s = 'a'"))
    for query in (
        f"SELECT DISTINCT s FROM {rows}",
        f"SELECT max(s) FROM {rows}",
        f"SELECT max(struct(s)) FROM {rows}",
        f"SELECT DISTINCT array(s) FROM {rows}",
        f"SELECT s, 1 FROM {rows} GROUP BY s",
    ):
        assert not is_repeatable(spark.sql(query)), query


def test_functions_of_users_and_checkpoints(spark: SparkSession) -> None:
    rows = spark.range(3).select(F.udf(lambda n: n, T.LongType())("id"))
    assert not is_repeatable(rows)
    assert is_repeatable(rows.localCheckpoint())
    assert not is_repeatable(spark.range(5).dropDuplicates())


def forget(context: Context) -> None:
    """Removes all stored blocks, as the end of the executors does."""
    java: Any = context.spark.sparkContext._jsc
    for number in list(java.getPersistentRDDs()):
        java.sc().unpersistRDD(number, True)


def merge(context: Context, name: str, source: DataFrame) -> None:
    target = context.spark.table(f"default.{name}")
    own, new = column_attributes(target), column_attributes(source)
    updated = {"x": new["x"], "m": new["m"]}
    clauses = [
        Clause("matched", None, updated),
        Clause("not_matched", None, {"id": new["id"], **updated}),
    ]

    def on_step(step: str) -> None:
        if step == "planned":
            forget(context)

    lossy = Context(context.spark, context.metastore, on_step)
    change_rows(lossy, Change(f"default.{name}", target, clauses, source, own["id"] == new["id"]))


@pytest.fixture
def name(context: Context, table_name: str) -> str:
    """A table with 20 rows in two partitions."""
    make_table(context.metastore, table_name, "id bigint, x bigint", "m int")
    rows = context.spark.range(0, 40, 2).selectExpr("id", "id AS x", "CAST(id % 4 AS INT) AS m")
    insert_into(context, f"default.{table_name}", rows)
    return table_name


def test_a_source_that_differs_each_time(context: Context, name: str) -> None:
    source = context.spark.range(40).selectExpr("id", "id AS x", "CAST(rand() * 9 AS INT) AS m")
    before, location = context.spark.table(name).collect(), context.metastore.get_table("default", name).location or ""
    files = files_below(location)
    with pytest.raises(WriteFailedError, match=r"changed nothing: .*([Cc]heckpoint|CHECKPOINT)"):
        merge(context, name, source)
    assert sorted(context.spark.table(name).collect()) == sorted(before)
    assert files_below(location) == files


def test_a_source_that_is_the_same_each_time(context: Context, name: str) -> None:
    source = context.spark.range(40).selectExpr("id", "id + 1 AS x", "CAST(id % 9 AS INT) AS m")
    merge(context, name, source)
    assert sorted(context.spark.table(name).collect()) == sorted((n, n + 1, n % 9) for n in range(40))


def test_each_row_goes_to_one_partition(spark: SparkSession, context: Context, name: str) -> None:
    """Rows move between partitions that are rewritten and others that are appended to, in two jobs."""
    encrypted = "aes_encrypt(CAST(id AS STRING), '0123456789abcdef')"
    for value in ("CAST(rand() * 9 AS INT)", f"pmod(hash({encrypted}), 9)"):
        spark.sql(f"UPDATE {name} SET m = {value}")
        assert sorted(row[0] for row in spark.table(name).collect()) == list(range(0, 40, 2))
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT id FROM range(40)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET m = CAST(rand() * 9 AS INT) "
        "WHEN NOT MATCHED AND rand() < 0.5 THEN INSERT (id, m) VALUES (s.id, CAST(rand() * 9 AS INT)) "
        "WHEN NOT MATCHED THEN INSERT (id, m) VALUES (s.id, CAST(rand() * 9 AS INT))"
    )
    assert sorted(row[0] for row in spark.table(name).collect()) == list(range(40))


def test_a_statement_has_one_current_time(spark: SparkSession, name: str) -> None:
    """Rows that stay in their partitions, that move and that are new are written by several jobs."""
    now, moved = "unix_micros(current_timestamp())", "CAST(if(id < 20, m, 9) AS INT)"
    spark.sql(f"UPDATE {name} SET x = {now}, m = {moved}")
    assert spark.sql(f"SELECT DISTINCT x FROM {name}").count() == 1
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT id FROM range(40)) s ON t.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET x = {now} WHEN NOT MATCHED THEN INSERT (id, x, m) VALUES (s.id, {now}, 11)"
    )
    assert spark.sql(f"SELECT DISTINCT x FROM {name}").count() == 1
    now = now.replace("current_timestamp", "now")
    inserts = (f"INSERT OVERWRITE {name} PARTITION (m = {m}) SELECT id, {now} WHERE id < 3" for m in (0, 12))
    spark.sql(f"FROM range(9) {' '.join(inserts)}")
    assert spark.sql(f"SELECT DISTINCT x FROM {name} WHERE m IN (0, 12)").count() == 1


SOURCES = {
    "subquery": "FROM (SELECT id, rand() AS r FROM range(1000)) s",
    "cte": "WITH c AS (SELECT id, rand() AS r FROM range(1000)) FROM c",
    "view": "FROM {name}_view",
    "lateral view": "FROM (SELECT id n, rand() r FROM range(500)) LATERAL VIEW explode(array(n, n + 500)) e AS id",
}


@pytest.mark.parametrize("source", SOURCES)
def test_inserts_of_one_statement_read_the_same_rows(spark: SparkSession, table_name: str, source: str) -> None:
    """As in Hive: each row goes to one of the tables."""
    for suffix in ("a", "b"):
        spark.sql(f"CREATE TABLE {table_name}_{suffix} (id BIGINT, r DOUBLE) STORED AS PARQUET")
    spark.sql(f"CREATE TEMPORARY VIEW {table_name}_view AS SELECT id, rand() AS r FROM range(1000)")
    text = SOURCES[source].format(name=table_name)
    spark.sql(
        f"{text} INSERT INTO {table_name}_a SELECT id, r WHERE r < 0.5 "
        f"INSERT OVERWRITE TABLE {table_name}_b SELECT id, r WHERE r >= 0.5"
    )
    rows = [spark.table(f"{table_name}_{suffix}").collect() for suffix in ("a", "b")]
    assert all(row.r < 0.5 for row in rows[0])
    assert all(row.r >= 0.5 for row in rows[1])
    assert sorted(row.id for part in rows for row in part) == list(range(1000))
