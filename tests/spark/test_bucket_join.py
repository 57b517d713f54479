"""Joins of bucketed tables avoid a shuffle if they can, and are right in every case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from metastore.domain.buckets import Buckets
from spark_client import by_bucket, scan_report
from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.write.insert import insert_into
from tests.spark.tables import ORC, PARQUET, frame, make_table

TABLES = {
    # name: version, buckets, bucketing columns
    "joined_a": ("2", 8, ("id",)),
    "joined_b": ("2", 8, ("id",)),
    "joined_few": ("2", 4, ("id",)),
    "joined_none": ("2", 0, ()),
    "joined_old": ("1", 8, ("id",)),
    "joined_text": ("2", 8, ("name",)),
    "joined_both": ("2", 8, ("name", "id")),
}


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, metastore: Any) -> Iterator[None]:
    """Each has its own part of the ids 0 … 29, some of them twice and one null, in two partitions."""
    context = Context(spark, metastore)
    for step, (name, (version, count, columns)) in enumerate(TABLES.items()):
        table = make_table(
            metastore,
            name,
            "id int, name string, v int",
            "ds int",
            storage=ORC if step % 2 else PARQUET,
            parameters={"bucketing_version": version},
            buckets=Buckets(columns, count),
        )
        rows = [(n if n else None, f"é{n}", step * 100 + n, n % 2) for n in range(30) if n % (step + 2)] + [
            (7, "x", 1, 0)
        ]
        insert_into(context, table.full_name, frame(spark, "id int, name string, v int, ds int", *rows))
    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    yield
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before)


def exchanges(df: DataFrame) -> int:
    """Returns the number of shuffles in the plan before it runs."""
    return df._jdf.queryExecution().executedPlan().toString().count("Exchange ")


def same(left: DataFrame, right: DataFrame) -> bool:
    actual = [sorted(map(repr, df.collect())) for df in (left, right)]
    assert actual[0]
    return actual[0] == actual[1]


SIDES = [
    ("joined_a", "joined_b", ["id"], 0),
    ("joined_a", "joined_few", ["id"], 1),
    ("joined_a", "joined_old", ["id"], 1),
    ("joined_text", "joined_both", ["name", "id"], None),
    ("joined_both", "joined_both", ["name", "id"], 0),
]


@pytest.mark.parametrize(
    ("left", "right", "on", "shuffles", "how"),
    [
        pytest.param(*sides, how, marks=pytest.mark.long if number % 2 == (how == "full") else [])
        for number, sides in enumerate(SIDES)
        for how in ("inner", "full")
    ],
)
def test_joins(spark: SparkSession, left: str, right: str, on: list[str], shuffles: int | None, how: str) -> None:
    plain = spark.table(left).join(spark.table(right), on, how)
    ours = by_bucket(spark.table(left)).join(by_bucket(spark.table(right)), on, how)
    assert exchanges(plain) == 2
    assert shuffles is None or exchanges(ours) == shuffles
    assert same(ours, plain)


@pytest.mark.parametrize("how", [pytest.param("left", marks=pytest.mark.long), "full", "leftanti"])
def test_a_third_side_is_shuffled_as_hive_would(spark: SparkSession, how: str) -> None:
    """If Spark took the files for its own buckets, it would send rows to the wrong ones."""

    def joined(left: DataFrame, right: DataFrame) -> DataFrame:
        return left.join(right, "id").join(spark.table("joined_none"), "id", how)

    tables = [spark.table(name) for name in ("joined_a", "joined_b")]
    ours = joined(*map(by_bucket, tables))
    assert exchanges(ours) == 1
    assert same(ours, joined(*tables))
    mixed = spark.table("joined_none").join(by_bucket(tables[0]), "id", how)
    assert exchanges(mixed) == 1
    assert same(mixed, spark.table("joined_none").join(tables[0], "id", how))


def test_aggregations(spark: SparkSession) -> None:
    for query in ("id", "name"):
        table = spark.table("joined_a")
        ours = by_bucket(table).groupBy(query).sum("v")
        assert exchanges(ours) == (0 if query == "id" else 1)
        assert same(ours, table.groupBy(query).sum("v"))
    distinct = by_bucket(spark.table("joined_both").select("id", "name")).distinct()
    assert exchanges(distinct) == 0
    assert same(distinct, spark.table("joined_both").select("id", "name").distinct())


def test_filters_and_columns_are_kept(spark: SparkSession) -> None:
    query = spark.table("joined_a").where("ds = 1 AND id IN (1, 3, 5) AND v < 1000").selectExpr("v + 1 AS w", "id")
    ours = by_bucket(query)
    assert same(ours, query)
    other, plain = spark.table("joined_b"), query.selectExpr("id AS other", "w")
    renamed = ours.selectExpr("id AS other", "w")
    assert same(renamed.crossJoin(by_bucket(other)).where("other = id"), plain.crossJoin(other).where("other = id"))
    assert same(ours.alias("l").join(ours.alias("r"), "id"), query.alias("l").join(query.alias("r"), "id"))


def test_later_rows_are_seen_and_filters_choose_buckets(spark: SparkSession, context: Context, table_name: str) -> None:
    """Also through a temporary view, which is an earlier plan."""
    table = make_table(context.metastore, table_name, "id int, v int", "ds int", buckets=Buckets(("id",), 4))
    insert_into(context, table.full_name, frame(spark, "id int, v int, ds int", (1, 1, 1)))
    rows = by_bucket(spark.table(table_name))
    rows.createOrReplaceTempView(f"{table_name}_v")
    grouped = f"SELECT id, count(*) FROM {table_name}_v WHERE ds = (SELECT max(ds) FROM {table_name}) GROUP BY id"
    assert [tuple(row) for row in spark.sql(grouped).collect()] == [(1, 1)]
    insert_into(context, table.full_name, frame(spark, "id int, v int, ds int", (1, 2, 2), (2, 2, 2)))
    assert sorted(tuple(row) for row in spark.sql(grouped).collect()) == [(1, 1), (2, 1)]
    insert_into(context, table.full_name, frame(spark, "id int, v int, ds int", (7, 2, 2)), overwrite=True)
    query = spark.sql(grouped)
    assert [tuple(row) for row in query.collect()] == [(7, 1)]
    assert exchanges(query.where("id > 0")) == exchanges(spark.sql(f"SELECT max(ds) FROM {table_name}"))
    (scan,) = scan_report(spark.sql(f"SELECT id, v FROM {table_name}_v WHERE id = 7")).scans
    assert (scan.kept.buckets, scan.total.buckets) == (2, 8)
    assert [row[0] for row in spark.sql(f"SELECT DISTINCT v FROM {table_name}_v").collect()] == [1, 2]


def test_the_report_names_tables_read_by_bucket(spark: SparkSession) -> None:
    rows = by_bucket(spark.table("joined_a").where("ds = 1 AND id = 3"))
    (scan,) = scan_report(rows.groupBy("id").count()).scans
    assert (scan.table, scan.kept.partitions, scan.kept.buckets, scan.total.buckets) == ("default.joined_a", 1, 1, 16)


def test_other_layouts_are_rejected(spark: SparkSession, context: Context, table_name: str) -> None:
    make_table(context.metastore, table_name, "at timestamp", buckets=Buckets(("at",), 2))
    a = spark.table("joined_a")
    for query in (spark.table("joined_none"), a.select("v"), spark.table(table_name)):
        with pytest.raises(InvalidStatementError, match=r"cannot be read by bucket"):
            by_bucket(query)
    for query in (a.join(spark.table("joined_b"), "id"), a.limit(1), spark.range(3)):
        with pytest.raises(InvalidStatementError, match="by_bucket accepts only a selection of columns and filters"):
            by_bucket(query)
