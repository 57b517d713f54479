"""skew.auto: each load picks its own heavy values; and heavy values are spread over files, however they were picked."""

from __future__ import annotations

import pytest

from metastore.client.structs import Partition
from spark_client import Session, scan_report
from spark_client.errors import InvalidInsertError, InvalidStatementError
from spark_client.joins.skew_join import skew_join
from tests.spark.tables import DEFAULT, directories, layout

AUTO = "TBLPROPERTIES ('skew.auto'='true', 'skew.auto.columns'='x', 'skew.auto.share'='0.1')"


def rows(spark: Session, heavy: str, day: int, *, count: int = 200) -> None:
    """Creates a view `loaded` of rows of one day. 60 % of the rows have the value."""
    spark.range(count).selectExpr(
        "id", f"IF(id % 10 < 6, {heavy}, concat('r', id)) AS x", f"{day} AS day"
    ).createOrReplaceTempView("loaded")


def partitions(spark: Session, table: str) -> dict[str, Partition]:
    return {partition.values[0]: partition for partition in spark.metastore.get_partitions("default", table)}


def test_each_load_picks_its_own_values(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, x STRING) PARTITIONED BY (day INT) STORED AS PARQUET {AUTO}")
    rows(spark, r"'it\'s'", 1)
    spark.sql(f"INSERT INTO {table_name} SELECT * FROM loaded")
    rows(spark, "NULL", 2)
    spark.sql(f"INSERT INTO {table_name} SELECT * FROM loaded")
    rows(spark, "string(id)", 3)  # none is heavy
    spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (day=3) SELECT id, x FROM loaded")
    actual_partitions = partitions(spark, table_name)
    assert [actual_partitions[day].skew.values for day in "123"] == [
        (("it's",),),
        (("__HIVE_DEFAULT_PARTITION__",),),
        (),
    ]
    assert directories(actual_partitions["1"]) == {DEFAULT: 1, "x=it%27s": 1}
    assert set(directories(actual_partitions["2"])) == {DEFAULT, "x=__HIVE_DEFAULT_PARTITION__"}
    assert set(layout(actual_partitions["3"].location)) == {""}  # a file of each task: no shuffle for one partition
    assert spark.sql(f"SELECT day, count(*), count(x) FROM {table_name} GROUP BY day ORDER BY day").collect() == [
        (1, 200, 200), (2, 200, 80), (3, 200, 200),
    ]  # fmt: skip
    (scan,) = scan_report(spark.sql(f"SELECT * FROM {table_name} WHERE x = 'it\\'s' AND day < 3")).scans
    assert (scan.kept.directories, scan.total.directories) == (2, 5)  # in the second day it is one of the other values
    assert spark.metastore.get_table("default", table_name).skew.values == ()
    names = spark.createDataFrame([("it's", 1)], "x string, n int")
    split = skew_join(spark.table(table_name), names, "x")
    assert split.count() == 120
    assert "BroadcastHashJoin" in split._jdf.queryExecution().executedPlan().toString()


def test_an_append_keeps_the_skew_and_an_overwrite_chooses_a_new_one(spark: Session, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, x STRING) PARTITIONED BY (day INT) SKEWED BY (x) ON ('z') "
        "STORED AS DIRECTORIES STORED AS ORC TBLPROPERTIES ('skew.auto'='true', 'skew.auto.share'='0.1')"
    )
    rows(spark, "'a'", 1)
    spark.sql(f"INSERT INTO {table_name} SELECT * FROM loaded")
    rows(spark, "'b'", 1)
    spark.sql(f"INSERT INTO {table_name} SELECT * FROM loaded UNION ALL SELECT id, x, 2 FROM loaded")
    actual_partitions = partitions(spark, table_name)
    assert [actual_partitions[day].skew.values for day in "12"] == [(("a",),), (("b",),)]
    assert directories(actual_partitions["1"]) == {DEFAULT: 2, "x=a": 1}
    assert directories(actual_partitions["2"]) == {DEFAULT: 1, "x=b": 1}
    spark.sql(f"INSERT OVERWRITE {table_name} SELECT * FROM loaded")
    actual_partitions = partitions(spark, table_name)
    assert [actual_partitions[day].skew.values for day in "12"] == [(("b",),), (("b",),)]
    assert spark.table(table_name).where("x = 'b'").count() == 240


def test_never_more_values_than_the_table_may_have(spark: Session, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT, y STRING) PARTITIONED BY (day INT) STORED AS PARQUET TBLPROPERTIES ("
        "'skew.auto'='true', 'skew.auto.columns'='X, y', 'skew.auto.share'='0.001', 'skew.max.values'='5')"
    )
    data = "SELECT int(id % 20) AS x, IF(id % 20 < 7, 'a', 'b') AS y, 1 AS day FROM range(390)"
    spark.sql(f"INSERT INTO {table_name} {data}")
    (actual,) = partitions(spark, table_name).values()
    assert (actual.skew.columns, len(actual.skew.values)) == (("x", "y"), 5)
    assert set(actual.skew.values) <= {(str(x), "a" if x < 7 else "b") for x in range(10)}


@pytest.mark.parametrize(
    ("partitioned", "properties", "message"),
    [
        ("PARTITIONED BY (p INT)", "", "has skew.auto, but no columns to choose from: set skew.auto.columns"),
        ("PARTITIONED BY (p INT)", ", 'skew.auto.columns'='b'", "skew.auto.columns of .*: b has type binary"),
    ],
)
def test_columns_that_cannot_be_picked_are_rejected(
    spark: Session, table_name: str, partitioned: str, properties: str, message: str
) -> None:
    properties = f"TBLPROPERTIES ('skew.auto'='true'{properties})"
    spark.sql(f"CREATE TABLE {table_name} (x INT, b BINARY) {partitioned} STORED AS PARQUET {properties}")
    with pytest.raises(Exception, match=message) as error:
        spark.sql(f"INSERT INTO {table_name} SELECT 1, X'00', 1")
    assert InvalidInsertError.__name__ in repr(error.value) or "QueryExecutionException" in repr(error.value)
    assert _stores_nothing(spark)


def test_an_append_stores_its_rows_no_longer_than_it_runs(spark: Session, table_name: str) -> None:
    """Without a new partition, nothing is chosen."""
    properties = "TBLPROPERTIES ('skew.auto'='true', 'skew.auto.columns'='x')"
    spark.sql(f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) STORED AS PARQUET {properties}")
    for _ in range(2):
        spark.sql(f"INSERT INTO {table_name} SELECT id, 1 FROM range(9)")
        assert _stores_nothing(spark)


def _stores_nothing(spark: Session) -> bool:
    """Returns whether no query has stored rows."""
    return bool(spark._jsparkSession.sharedState().cacheManager().isEmpty())


@pytest.mark.parametrize(
    ("property_", "message"),
    [
        ("'skew.auto.columns'='nope'", "skew.auto.columns of .*: nope is not a data column"),
        ("'skew.auto.columns'='x, p'", "skew.auto.columns of .*: p is not a data column"),
        ("'skew.auto.share'='2'", "skew.auto.share is '2'; it must be a number from 0.0001 to 1"),
    ],
)
@pytest.mark.parametrize(
    "kind", ["(x INT) PARTITIONED BY (p INT) STORED AS ORC", "(x INT, p INT) USING orc PARTITIONED BY (p)"]
)
def test_create_and_alter_reject_wrong_columns_and_shares(
    spark: Session, table_name: str, kind: str, property_: str, message: str
) -> None:
    with pytest.raises(InvalidStatementError, match=message):
        spark.sql(f"CREATE TABLE {table_name} {kind} TBLPROPERTIES ('skew.auto'='true', {property_})")
    assert not spark.catalog.tableExists(table_name)
    spark.sql(f"CREATE TABLE {table_name} {kind}")
    with pytest.raises(InvalidStatementError, match=message):
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ({property_})")


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("", "is not partitioned, but skew.auto needs a partitioned table"),
        ("SKEWED BY (x) ON (1) STORED AS DIRECTORIES", "is not partitioned, but skew.auto"),
        ("PARTITIONED BY (p INT) CLUSTERED BY (x) INTO 2 BUCKETS", "is CLUSTERED BY, but skew.auto"),
    ],
)
def test_a_table_without_partitions_to_pick_for_cannot_have_it(
    spark: Session, table_name: str, clauses: str, message: str
) -> None:
    text = f"CREATE TABLE {table_name} (x INT) {clauses} STORED AS PARQUET"
    with pytest.raises(InvalidStatementError, match=message):
        spark.sql(f"{text} {AUTO}")
    assert not spark.catalog.tableExists(table_name)
    spark.sql(text)
    with pytest.raises(InvalidStatementError, match=message):
        spark.sql(f"ALTER TABLE {table_name} SET {AUTO}")
    spark.sql(f"INSERT INTO {table_name} SELECT 1{', 1' if 'PARTITIONED' in clauses else ''}")


def test_a_heavy_value_is_written_by_several_tasks(spark: Session, table_name: str) -> None:
    """By size, as in every rebalanced write of Spark; light values stay together in one file each."""
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, x INT) PARTITIONED BY (day INT) SKEWED BY (x) ON (1, 2) "
        "STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", "64k")
    try:
        # 36,000 of 40,000 rows have the value 1: about 300 KiB of a shuffle.
        value = "int(CASE WHEN id % 10 > 0 THEN 1 WHEN id % 20 > 0 THEN 2 ELSE 3 END)"
        spark.sql(f"INSERT INTO {table_name} SELECT xxhash64(id), {value}, 1 FROM range(0, 40000, 1, 8)")
    finally:
        spark.conf.unset("spark.sql.adaptive.advisoryPartitionSizeInBytes")
    (actual,) = partitions(spark, table_name).values()
    files = directories(actual)
    assert files["x=1"] >= 3
    assert files["x=2"] == files[DEFAULT] == 1
    assert spark.table(table_name).groupBy("x").count().orderBy("x").collect() == [(1, 36_000), (2, 2_000), (3, 2_000)]


def test_a_partition_without_heavy_values_has_no_value_directories(spark: Session, table_name: str) -> None:
    """The values by which the table is skewed do not change, either."""
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, x STRING) PARTITIONED BY (day INT) SKEWED BY (x) ON ('r1') "
        "STORED AS DIRECTORIES STORED AS PARQUET TBLPROPERTIES ('skew.auto'='true', 'skew.auto.share'='0.5')"
    )
    rows(spark, "concat('r', id)", 1, count=4)
    for how in ("INTO", "OVERWRITE"):
        spark.sql(f"INSERT {how} {table_name} SELECT * FROM loaded")
        actual_partitions = partitions(spark, table_name)
        assert (actual_partitions["1"].skew.values, set(layout(actual_partitions["1"].location))) == ((), {""})
        assert spark.table(table_name).count() == 4


def test_inserts_of_one_statement_pick_alike(spark: Session, table_name: str) -> None:
    """The first load of a new partition decides: a row is where its partition's list says."""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, x STRING) PARTITIONED BY (day INT) STORED AS PARQUET {AUTO}")
    rows(spark, "'a'", 1)
    spark.sql(
        f"FROM loaded INSERT INTO {table_name} SELECT * INSERT INTO {table_name} SELECT id, replace(x, 'a', 'b'), day"
    )
    assert [partitions(spark, table_name)["1"].skew.values] == [(("a",),)]
    for value in "ab":
        assert spark.table(table_name).where(f"x = '{value}'").count() == 120
