"""DELETE, UPDATE, MERGE INTO and REPLACE WHERE read the partitions that EXPLAIN shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client import MetastoreClient
from spark_client.jvm.plans import elements
from tests.spark.since import is_there

PARTITIONS = 9
RECENT = 100  # more executions than a statement has
KINDS = {
    "hive": "({columns}) PARTITIONED BY (p INT, q STRING) STORED AS PARQUET",
    "datasource": "({columns}, p INT, q STRING) USING orc PARTITIONED BY (p, q)",
    "skewed": "({columns}) PARTITIONED BY (p INT, q STRING) SKEWED BY (v) ON (1) STORED AS DIRECTORIES STORED AS ORC",
    "buckets": "({columns}) PARTITIONED BY (p INT, q STRING) CLUSTERED BY (id) INTO 1 BUCKETS STORED AS ORC",
}
SOURCE = "(SELECT 7 AS id, 7 AS p, 5 AS v)"
# Statements that read one partition, with their effect on the row of partition 7. None: the row is deleted.
STATEMENTS = {
    "DELETE FROM {t} WHERE p = 7 AND id = 7": None,
    "DELETE FROM {t} WHERE p IN (7) AND id IN (SELECT 7)": None,
    "DELETE FROM {t} WHERE q = 'q7' AND v < 5": None,
    "DELETE FROM {t} WHERE p + 1 = 8 AND (id = 7 OR v IS NULL)": None,
    "UPDATE {t} SET v = 5 WHERE p = 7 AND id = 7": 5,
    "UPDATE {t} SET v = 5 WHERE (p = 7 AND id = 7) OR (p = 7 AND id = 8)": 5,
    f"MERGE INTO {{t}} t USING {SOURCE} s ON t.p = 7 AND t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v": 5,
    f"MERGE INTO {{t}} t USING {SOURCE} s ON t.id = s.id WHEN MATCHED AND t.p = 7 THEN DELETE": None,
    f"MERGE INTO {{t}} t USING {SOURCE} s ON t.p = 7 AND t.id = s.id WHEN MATCHED AND s.v = 1 THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET v = 5 WHEN NOT MATCHED THEN INSERT (id, v, p, q) VALUES (1, 1, 1, 'q1')": 5,
    "INSERT INTO {t} REPLACE WHERE p = 7 AND id = 7 SELECT 7, 5, 7, 'q7'": 5,
}


@contextmanager
def files_read(spark: SparkSession) -> Iterator[list[int]]:
    """Yields a list that receives the number of files of each scan that runs in the block."""
    store = spark._jsparkSession.sharedState().statusStore()
    bus = spark.sparkContext._jsc.sc().listenerBus()
    bus.waitUntilEmpty()
    last = max((int(execution.executionId()) for execution in _recent(store)), default=-1)
    read: list[int] = []
    yield read
    bus.waitUntilEmpty()
    for execution in _recent(store):
        if int(execution.executionId()) > last:
            values = store.executionMetrics(execution.executionId())
            for metric in elements(execution.metrics()):
                if metric.name() == "number of files read" and values.contains(metric.accumulatorId()):
                    read.append(int(str(values.apply(metric.accumulatorId())).replace(",", "")))


def _recent(store: Any) -> list[Any]:
    """Returns the last executions. Fetching all that the session has had takes a call for each."""
    return list(elements(store.executionsList(max(store.executionsCount() - RECENT, 0), RECENT)))


@contextmanager
def partitions_planned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Yields a list that receives the number of partitions in each reply of the metastore."""
    counts: list[int] = []
    with monkeypatch.context() as patched:
        for method in ("plan_scan", "get_partitions"):
            patched.setattr(MetastoreClient, method, _counting(getattr(MetastoreClient, method), counts))
        yield counts


def _counting(method: Callable[..., Any], counts: list[int]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        result = method(*args, **options)
        counts.append(len(getattr(result, "partitions", result)))
        return result

    return call


def rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


@pytest.mark.parametrize("kind", KINDS)
def test_statements_read_the_partitions_that_their_conditions_name(
    spark: SparkSession, table_name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sql(f"CREATE TABLE {table_name} {KINDS[kind].format(columns='id INT, v INT')}")
    spark.sql(f"INSERT INTO {table_name} SELECT INT(id), 0, INT(id), concat('q', id) FROM range({PARTITIONS})")
    others = [(n, 0, n, f"q{n}") for n in range(PARTITIONS) if n != 7]
    for statement, value in list(STATEMENTS.items())[:: 1 if kind == "hive" else 8]:
        with files_read(spark) as read, partitions_planned(monkeypatch) as planned:
            spark.sql(statement.format(t=table_name))
        after = [] if value is None else [(7, value, 7, "q7")]
        assert rows(spark, table_name) == sorted(others + after), statement
        assert read
        assert set(read) <= {0, 1}, statement
        # Rows for other partitions, and functions of partition values, take a list of all partitions.
        if not ("INSERT" in statement or "p + 1" in statement):
            assert set(planned) <= {0, 1}, statement
        spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (p = 7, q = 'q7') VALUES (7, 0)")


def test_overwrites_of_data_frames_read_the_partitions_of_their_condition(spark: SparkSession, table_name: str) -> None:
    if not is_there("4.0"):
        pytest.skip("writeTo on tables of the session catalog came with Spark 4.0")
    spark.sql(f"CREATE TABLE {table_name} {KINDS['hive'].format(columns='id INT, v INT')}")
    spark.sql(f"INSERT INTO {table_name} SELECT INT(id), 0, INT(id), concat('q', id) FROM range({PARTITIONS})")
    new = spark.sql("SELECT 'q7' AS q, 7 AS p, 5 AS v, 7 AS id")
    with files_read(spark) as read:
        new.writeTo(table_name).overwrite((F.col("p") == 7) & (F.col("id") == 7))
    assert (7, 5, 7, "q7") in rows(spark, table_name)
    assert read
    assert set(read) <= {0, 1}
