"""Every way to read a list-bucketed table returns its rows, and a query reads only what it needs."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import QueryExecutionException
from pyspark.sql import DataFrame, Row, SparkSession

from metastore.client import MetastoreClient
from spark_client import Session, scan_report
from tests.spark.since import since
from tests.spark.tables import folder

ROWS = [
    (1, "ATL", 1),
    (2, "ATL", 2),
    (3, "ORD", 1),
    (4, "rare", 1),
    (5, "atl", 2),
    (6, None, 1),
    (7, "ATL", None),
    (8, "rare", None),
]


@pytest.fixture(scope="module")
def flights(spark: Session) -> Iterator[str]:
    """Partitioned by month, skewed by dest."""
    spark.sql(
        "CREATE TABLE flights (id INT, Dest STRING) PARTITIONED BY (month INT) "
        "SKEWED BY (dest) ON ('ATL', 'ORD', 'never') STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.createDataFrame(ROWS, "id int, dest string, month int").write.insertInto("flights")
    yield "flights"
    spark.sql("DROP TABLE flights")


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=repr)


def ids(df: DataFrame) -> list[int]:
    return sorted(row[0] for row in df.collect())


@pytest.mark.parametrize(
    ("condition", "expected", "partitions", "directories"),
    [
        ("true", [1, 2, 3, 4, 5, 6, 7, 8], 3, 7),
        ("dest = 'ATL' AND month = 1", [1], 1, 1),
        ("dest = 'rare' AND month = 1", [4], 1, 1),
        ("dest = 'never' AND month = 1", [], 0, 0),
        ("dest IN ('ATL', 'rare') AND month = 1", [1, 4], 1, 2),
        ("dest IN ('ATL', 'ORD') AND month = 1", [1, 3], 1, 2),
        ("dest IN ('a','b','c','d','e','f','g','h','i','j','k','ATL') AND month = 1", [1], 1, 2),
        ("dest = 'ATL' OR dest = 'ORD'", [1, 2, 3, 7], 3, 4),
        ("NOT dest = 'ATL' AND month = 1", [3, 4], 1, 2),
        ("dest <> 'ATL' AND dest <> 'ORD' AND month = 1", [4], 1, 1),
        ("dest > 'B' AND month = 1", [3, 4], 1, 2),
        ("dest LIKE 'AT%' AND month = 1", [1], 1, 2),
        ("dest LIKE '%T%' AND month = 1", [1], 1, 3),
        ("upper(dest) = 'ATL'", [1, 2, 5, 7], 3, 7),
        ("dest IS NULL", [6], 3, 3),
        ("dest IS NULL AND month = 1", [6], 1, 1),
        ("dest <=> 'ATL' AND month = 1", [1], 1, 1),
        ("dest IS NOT NULL AND month = 1", [1, 3, 4], 1, 3),
        ("(dest = 'ATL' AND month = 1) OR (dest = 'ORD' AND month = 2)", [1], 2, 3),
        ("month IS NULL", [7, 8], 1, 2),
        ("month IS NULL AND dest = 'ATL'", [7], 1, 1),
        ("month BETWEEN 1 AND 2", [1, 2, 3, 4, 5, 6], 2, 5),
        ("month + 1 = 2", [1, 3, 4, 6], 1, 3),
        ("id = 3", [3], 3, 7),
        ("false", [], 0, 0),
    ],
)
def test_conditions(
    spark: Session, flights: str, condition: str, expected: list[int], partitions: int, directories: int
) -> None:
    df = spark.sql(f"SELECT * FROM {flights} WHERE {condition}")
    assert ids(df) == expected
    scans = scan_report(df).scans
    if partitions:
        assert (scans[0].kept.partitions, scans[0].kept.directories) == (partitions, directories)
    else:  # Spark may detect itself that there is nothing to read.
        assert all(scan.kept.directories == 0 for scan in scans)


@pytest.mark.parametrize("dest", ["ATL", "rare"])
def test_one_value_of_one_month_opens_the_files_of_one_directory(spark: Session, flights: str, dest: str) -> None:
    df = spark.sql(f"SELECT id, input_file_name() FROM {flights} WHERE dest = '{dest}' AND month = 1")
    (scan,) = scan_report(df).scans
    assert (scan.kept.partitions, scan.kept.directories) == (1, 1)
    assert scan.kept.files == 1 < scan.total.files
    assert 0 < scan.kept.bytes < scan.total.bytes
    (row,) = df.collect()
    directory = "dest=ATL" if dest == "ATL" else "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
    assert f"/month=1/{directory}/" in row[1]


QUERIES: dict[str, tuple[Callable[[SparkSession], DataFrame], list[int]]] = {
    "table": (lambda spark: spark.table("flights").where("dest = 'ATL'"), [1, 2, 7]),
    "read.table": (lambda spark: spark.read.table("default.flights").filter("dest = 'ATL'"), [1, 2, 7]),
    "qualified": (lambda spark: spark.sql("SELECT * FROM spark_catalog.default.flights WHERE dest = 'ATL'"), [1, 2, 7]),
    "CTE": (lambda spark: spark.sql("WITH f AS (SELECT * FROM flights) SELECT * FROM f WHERE dest = 'ATL'"), [1, 2, 7]),
    "sub-query": (
        lambda spark: spark.sql("SELECT id FROM (SELECT * FROM flights WHERE month = 1) WHERE dest = 'ATL'"),
        [1],
    ),
    "scalar sub-query": (
        lambda spark: spark.sql("SELECT * FROM flights WHERE id = (SELECT max(id) FROM flights WHERE dest = 'ATL')"),
        [7],
    ),
    "EXISTS": (
        lambda spark: spark.sql(
            "SELECT id FROM flights f WHERE dest = 'rare' AND EXISTS "
            "(SELECT 1 FROM flights g WHERE g.month = f.month AND g.dest = 'ORD')"
        ),
        [4],
    ),
    "self join": (
        lambda spark: spark.sql(
            "SELECT a.id FROM flights a JOIN flights b USING (dest) WHERE a.month + 1 = b.month AND dest = 'ATL'"
        ),
        [1],
    ),
    "join of one DataFrame with itself": (
        lambda spark: spark.table("flights").alias("a").join(spark.table("flights").alias("b"), "id").select("id"),
        [1, 2, 3, 4, 5, 6, 7, 8],
    ),
    "broadcast join": (
        lambda spark: spark.sql(
            "SELECT /*+ BROADCAST(b) */ a.id FROM flights a JOIN flights b ON a.id = b.id AND b.dest = 'ORD'"
        ),
        [3],
    ),
    "dynamic partition pruning": (
        lambda spark: spark.sql(
            "SELECT f.id FROM flights f JOIN (SELECT 2 AS m, 'ATL' AS d) x ON f.month = x.m AND f.dest = x.d"
        ),
        [2],
    ),
    "UNION ALL": (
        lambda spark: spark.sql(
            "SELECT id FROM flights WHERE dest = 'ORD' UNION ALL SELECT id FROM flights WHERE dest IS NULL"
        ),
        [3, 6],
    ),
    "aggregate": (lambda spark: spark.sql("SELECT count(*) FROM flights WHERE dest = 'ATL'"), [3]),
    "count": (lambda spark: spark.sql("SELECT count(*) FROM flights"), [8]),
    "partition columns only": (lambda spark: spark.sql("SELECT DISTINCT month FROM flights WHERE month > 0"), [1, 2]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_queries(spark: Session, flights: str, name: str) -> None:
    query, expected = QUERIES[name]
    assert ids(query(spark)) == expected


def test_views_permanent_and_temporary(spark: Session, flights: str) -> None:
    spark.sql("CREATE VIEW atl AS SELECT id, month FROM flights WHERE dest = 'ATL'")
    spark.table("flights").where("dest = 'ORD'").createOrReplaceTempView("ord")
    try:
        df = spark.sql("SELECT id FROM atl WHERE month = 1 UNION ALL SELECT id FROM ord")
        assert ids(df) == [1, 3]
        assert [scan.kept.directories for scan in scan_report(df).scans] == [1, 1]
    finally:
        spark.sql("DROP VIEW atl")
        spark.catalog.dropTempView("ord")


def test_names_that_hide_the_table_are_spark_s_business(spark: Session, flights: str) -> None:
    assert rows(spark.sql("WITH flights AS (SELECT 1 AS x) SELECT * FROM flights")) == [(1,)]
    spark.sql("SELECT 2 AS x").createOrReplaceTempView("flights")
    try:
        assert rows(spark.sql("SELECT * FROM flights")) == [(2,)]
        assert len(rows(spark.table("default.flights"))) == 8
    finally:
        spark.catalog.dropTempView("flights")


def test_parameters_and_other_sessions(spark: Session, flights: str) -> None:
    query = "SELECT * FROM flights WHERE dest = :dest AND month = :month"
    assert ids(spark.sql(query, {"dest": "ATL", "month": 1})) == [1]
    other = spark.newSession()
    assert isinstance(other, Session)
    assert ids(other.sql(query, {"dest": "ATL", "month": 1})) == [1]


def test_equal_scans_are_one_and_a_cached_frame_is_found_again(spark: Session, flights: str) -> None:
    df = spark.sql("SELECT id FROM flights WHERE dest = 'ATL' UNION ALL SELECT id FROM flights WHERE dest = 'ATL'")
    again = spark.table("flights").where("dest = 'ATL'").select("id")
    assert again.sameSemantics(spark.sql("SELECT id FROM flights WHERE dest = 'ATL'"))
    assert ids(df) == [1, 1, 2, 2, 7, 7]
    again.cache()
    try:
        assert ids(again) == [1, 2, 7]
        assert scan_report(again).scans == ()
    finally:
        again.unpersist()


def test_a_report_counts_each_scan_and_reads_well(spark: Session, flights: str) -> None:
    df = spark.sql("SELECT * FROM flights WHERE month = 2 AND id IN (SELECT id FROM flights WHERE dest = 'ORD')")
    report = scan_report(df)
    assert sorted((scan.kept.partitions, scan.kept.directories) for scan in report.scans) == [(1, 1), (1, 2)]
    assert {(scan.table, scan.total.directories) for scan in report.scans} == {("default.flights", 7)}
    assert "default.flights: 1 of 3 partitions, 2 of 7 directories, 2 of 7 files" in str(report)
    assert str(scan_report(spark.range(3))) == "the query reads no table of the metastore"


def test_input_files_and_the_plan_name_the_table(spark: Session, flights: str) -> None:
    assert len(spark.table("flights").inputFiles()) == 7
    plan = spark.table("flights").where("dest = 'ATL'")._jdf.queryExecution().toString()
    assert "HiveTableIndex" in plan
    assert "Batched: true" in plan


INPUTS = {
    "id >= 0": 40,
    "P = 7": 1,
    "p IN (1, 2, 3) AND id % 2 = 0": 3,
    "p = 1 OR (p = 2 AND id = 2)": 2,
    "p < 5 AND rand() < 2": 5,
    "p = (SELECT max(id) FROM range(3))": 40,
}


@pytest.mark.parametrize(
    "form",
    ["(id BIGINT, P INT) USING parquet PARTITIONED BY (P)", "(id BIGINT) PARTITIONED BY (p INT) STORED AS ORC"],
)
def test_input_files_are_those_of_the_partitions(spark: Session, table_name: str, form: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} {form}")
    spark.sql(f"INSERT INTO {table_name} SELECT id, id FROM range(40)")
    spark.table(table_name).createOrReplaceTempView("seen")
    for condition, count in INPUTS.items():
        matches = spark.sql(f"SELECT id + 1 AS n, _metadata.file_path FROM {table_name} WHERE {condition}")
        names = matches.inputFiles()
        assert len(names) == count, condition
        read = {row[1].replace("file:///", "file:/") for row in matches.collect()}
        assert read <= {name.replace("file:///", "file:/") for name in names}, condition
        assert len(spark.table("seen").where(condition).inputFiles()) == count, condition
    joined = spark.table(table_name).join(spark.table("seen").where("p = 3"), "p")
    assert len(joined.inputFiles()) == 1


def test_many_directories_are_listed_without_a_job(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT) PARTITIONED BY (p INT) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table_name} SELECT id, id FROM range(40)")
    context = spark.sparkContext

    def jobs(group: str) -> list[int]:
        context.setJobGroup(group, group)
        try:
            assert len(spark.table(table_name).inputFiles()) == 40
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type] # PySpark's own way to clear it
        return list(context.statusTracker().getJobIdsForGroup(group))

    assert jobs(f"{table_name} in the driver") == []
    threshold = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    spark.conf.set(threshold, "0")  # so Spark's own way is tested
    try:
        assert len(jobs(f"{table_name} by Spark")) == 1
    finally:
        spark.conf.unset(threshold)


def test_a_missing_directory_is_empty(spark: Session, table_name: str, metastore: MetastoreClient) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) "
        "SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS ORC"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 1)")
    (partition,) = metastore.get_partitions("default", table_name)
    for file in folder(partition.skew.locations["1",]).iterdir():
        file.unlink()
    folder(partition.skew.locations["1",]).rmdir()
    assert rows(spark.table(table_name)) == [(2, 1)]
    assert rows(spark.table(table_name).where("x = 1")) == []


def test_partition_types_and_values_equal_those_of_sparks_own_reader(spark: Session, table_name: str) -> None:
    columns = "i INT, s STRING, d DATE, m DECIMAL(6,2), b BOOLEAN, v VARCHAR(4), l BIGINT"
    for name, skew in ((table_name, "SKEWED BY (x) ON (1) STORED AS DIRECTORIES"), (f"{table_name}_plain", "")):
        spark.sql(f"CREATE TABLE {name} (x INT) PARTITIONED BY ({columns}) {skew} STORED AS PARQUET")
        spark.sql(
            f"INSERT INTO {name} VALUES "
            "(1, -7, 'a/b=c%d', DATE'2020-02-29', 1.50, true, 'x y', 5000000000),"
            "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL),"
            "(3, 0, 'ä:\"', DATE'0001-01-01', -0.01, false, '', -1)"
        )
    ours, theirs = spark.table(table_name), spark.table(f"{table_name}_plain")
    assert ours.schema == theirs.schema
    assert rows(ours) == rows(theirs)
    for condition in ("s = 'a/b=c%d'", "d = DATE'2020-02-29'", "m = 1.5", "NOT b", "v = 'x y'", "l < 0", "i IS NULL"):
        assert ids(ours.where(condition)) == ids(theirs.where(condition)) != []


def test_partitions_keep_the_skew_they_were_written_with(spark: Session, table_name: str) -> None:
    create = f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES"
    spark.sql(f"{create} STORED AS PARQUET")
    insert = f"INSERT INTO {table_name} VALUES (1, %d), (2, %d), (3, %d)"
    spark.sql(insert % (1, 1, 1))
    spark.sql(f"ALTER TABLE {table_name} SKEWED BY (x) ON (2, 3) STORED AS DIRECTORIES")
    spark.sql(insert % (2, 2, 2))
    spark.sql(f"ALTER TABLE {table_name} NOT STORED AS DIRECTORIES")
    spark.sql(insert % (3, 3, 3))
    spark.sql(f"ALTER TABLE {table_name} NOT SKEWED")
    spark.sql(insert % (4, 4, 4))
    assert rows(spark.table(table_name)) == sorted((x, p) for x in (1, 2, 3) for p in (1, 2, 3, 4))
    df = spark.table(table_name).where("x = 1")
    assert rows(df) == [(1, p) for p in (1, 2, 3, 4)]
    (scan,) = scan_report(df).scans
    assert scan.kept.directories == 4
    assert scan.total.directories == 2 + 3 + 1 + 1


def test_spark_s_own_alter_table_hides_no_row(spark: Session, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) "
        "SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 1)")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('a' = 'b')")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMNS (y STRING)")
    spark.sql(f"ANALYZE TABLE {table_name} PARTITION (p = 1) COMPUTE STATISTICS")
    spark.sql(f"ANALYZE TABLE {table_name} COMPUTE STATISTICS FOR ALL COLUMNS")
    assert rows(spark.table(table_name)) == [(1, None, 1), (2, None, 1)]
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'z', 2)")
    assert rows(spark.table(table_name).where("y = 'z'")) == [(1, "z", 2)]


def test_padded_characters(spark: Session, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT, c CHAR(3)) PARTITIONED BY (d DATE) "
        "SKEWED BY (c) ON ('a', 'bc ') STORED AS DIRECTORIES STORED AS PARQUET"
    )
    day = datetime.date(2020, 1, 1)
    spark.sql(
        f"INSERT INTO {table_name} SELECT x, c, DATE'{day}' FROM VALUES (1, 'a'), (2, 'bc'), (3, 'c') AS v (x, c)"
    )
    for condition, expected, directories in (
        ("c = 'a'", [1], 2),  # and the default directory, because only the writer knows where padded values are
        ("c = 'bc '", [2], 2),
        ("c IN ('a', 'c')", [1, 3], 2),
        ("c <> 'a'", [2, 3], 2),
        ("c < 'b'", [1], 3),
    ):
        df = spark.table(table_name).where(f"{condition} AND d = DATE'{day}'")
        assert (ids(df), scan_report(df).scans[0].kept.directories) == (expected, directories)


@since("4.0", "collations")
def test_collated_columns_are_not_pruned_by_their_bytes(spark: Session, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT, c STRING COLLATE UTF8_LCASE) "
        "SKEWED BY (c) ON ('a') STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'A'), (3, 'b')")
    assert ids(spark.table(table_name).where("c = 'A'")) == [1, 2]


def test_a_partition_in_another_format_is_named(
    spark: Session, table_name: str, hive_client: Any, metastore: MetastoreClient
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) "
        "SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (1, 2)")
    partition = hive_client.get_partition("default", table_name, ["2"])
    partition.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    partition.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    hive_client.alter_partition("default", table_name, partition)
    assert rows(spark.table(table_name).where("p = 1")) == [(1, 1)]
    with pytest.raises(QueryExecutionException, match=rf"partition \['2'\] of default.{table_name} is stored with"):
        spark.table(table_name).collect()


def test_skew_without_directories_leaves_other_formats_to_spark(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (x INT, s STRING) SKEWED BY (s) ON ('a') STORED AS TEXTFILE")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    assert rows(spark.table(table_name).where("s = 'a'")) == [(1, "a")]


def test_skew_directories_in_a_format_that_cannot_be_read_are_rejected(
    spark: Session, table_name: str, hive_client: Any
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (s STRING) PARTITIONED BY (p INT) SKEWED BY (s) ON ('a') STORED AS TEXTFILE")
    table = hive_client.get_table("default", table_name)
    table.sd.storedAsSubDirectories = True
    hive_client.alter_table("default", table_name, table)
    hive_client.append_partition("default", table_name, ["1"])
    with pytest.raises(QueryExecutionException, match=r"partition \['1'\] of default.\w+ has skew directories"):
        spark.table(table_name).collect()


def test_load_data_is_rejected(spark: Session, flights: str, tmp_path: Any) -> None:
    spark.range(1).selectExpr("1 AS id", "'ATL' AS dest").write.parquet(str(tmp_path / "new"))
    with pytest.raises(QueryExecutionException, match=r"\[Error 10195\].*INSERT INTO default.flights instead"):
        spark.sql(f"LOAD DATA INPATH '{tmp_path}/new' INTO TABLE flights PARTITION (month = 1)")
    assert len(rows(spark.table("flights"))) == 8


def test_a_dropped_table_is_gone(spark: Session, table_name: str) -> None:
    create = f"CREATE TABLE {table_name} (x INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET"
    for value in (1, 2):
        spark.sql(create)
        spark.sql(f"INSERT INTO {table_name} VALUES ({value})")
        assert spark.table(table_name).collect() == [Row(x=value)]
        spark.sql(f"DROP TABLE {table_name}")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table(table_name)
