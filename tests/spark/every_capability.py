"""Every capability of the client once, in one session: for a Spark that the other tests do not run on."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore", category=FutureWarning)

import spark_client  # noqa: E402
from spark_client import Session, by_bucket, check_buckets, find_skew, scan_report, skew_join  # noqa: E402

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.scripting.enabled": "true",  # of 4.0, where it is off
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
SKEWED = "SKEWED BY (x) ON ('a', 'b') STORED AS DIRECTORIES"


def exchanges(df: Any) -> int:
    return int(df._jdf.queryExecution().executedPlan().toString().count("Exchange "))


def rows(spark: Session, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


def skewed_tables(spark: Session) -> None:
    for format_ in ("PARQUET", "ORC"):
        name = f"skewed_{format_}"
        spark.sql(f"CREATE TABLE {name} (id INT, x STRING) PARTITIONED BY (ds STRING) {SKEWED} STORED AS {format_}")
        spark.sql(
            f"INSERT INTO {name} VALUES (1, 'a', '1'), (2, 'b', '1'), (3, 'c', '1'), (4, 'a', '2'), (5, NULL, '2')"
        )
        df = spark.sql(f"SELECT id FROM {name} WHERE x = 'a' AND ds = '1'")
        assert [row.id for row in df.collect()] == [1]
        report = scan_report(df)
        assert (report.scans[0].kept.partitions, report.scans[0].kept.directories) == (1, 1), report
        assert rows(spark, f"SELECT id FROM {name} WHERE x IN ('c', 'zz')") == [(3,)]
        assert rows(spark, f"SELECT ds, x, count(*) FROM {name} GROUP BY ds, x") == [
            *(("1", x, 1) for x in "abc"),
            ("2", "a", 1),
            ("2", None, 1),
        ]
    spark.sql("ALTER TABLE skewed_orc SKEWED BY (x) ON ('c') STORED AS DIRECTORIES")
    spark.sql("INSERT INTO skewed_orc VALUES (6, 'c', '3')")
    assert rows(spark, "SELECT id FROM skewed_orc WHERE x = 'c'") == [(3,), (6,)]


def statements_of_writing(spark: Session) -> None:
    spark.sql("CREATE TABLE plain (id INT, ds STRING) STORED AS PARQUET")
    spark.sql("CREATE TABLE days (id INT) PARTITIONED BY (ds STRING, hr INT) STORED AS ORC")
    spark.sql("INSERT INTO plain SELECT id, string(id % 3) FROM range(9)")
    spark.sql(
        "FROM plain INSERT INTO days SELECT id, ds, 1 INSERT OVERWRITE TABLE days PARTITION (ds='9', hr) SELECT id, 2"
    )
    assert rows(spark, "SELECT ds, hr, count(*) FROM days GROUP BY ds, hr") == [
        *((ds, 1, 3) for ds in "012"),
        ("9", 2, 9),
    ]
    spark.sql("INSERT OVERWRITE TABLE days PARTITION (ds, hr) SELECT 7, '0', 1")
    assert rows(spark, "SELECT id FROM days WHERE ds = 0") == [(7,)]
    spark.sql("CREATE TABLE made STORED AS PARQUET AS SELECT ds, count(*) AS n FROM plain GROUP BY ds")
    assert rows(spark, "SELECT * FROM made") == [(ds, 3) for ds in "012"]
    spark.sql("TRUNCATE TABLE made")
    assert rows(spark, "SELECT * FROM made") == []
    spark.table("plain").write.insertInto("plain")
    assert rows(spark, "SELECT count(*) FROM plain") == [(18,)]


def the_writer(spark: Session) -> None:
    spark.sql("CREATE TABLE written (id BIGINT) PARTITIONED BY (ds STRING) STORED AS PARQUET")
    df = spark.range(10).selectExpr("id", "string(id % 2) AS ds")
    spark_client.write(df).into("written").append()
    assert rows(spark, "SELECT ds, count(*) FROM written GROUP BY ds") == [("0", 5), ("1", 5)]
    spark_client.write(df.where("id < 3")).into("written").overwrite_partitions()
    assert rows(spark, "SELECT ds, id FROM written") == [("0", 0), ("0", 2), ("1", 1)]


def bucketed_tables(spark: Session) -> None:
    for version in (1, 2):
        spark.sql(
            f"CREATE TABLE buckets_{version} (id INT, name STRING, m MAP<STRING, INT>) CLUSTERED BY (id, name) INTO 4 "
            f"BUCKETS STORED AS PARQUET TBLPROPERTIES ('bucketing_version'='{version}')"
        )
        spark.sql(f"INSERT INTO buckets_{version} SELECT int(id), concat('n', id), map('k', int(id)) FROM range(40)")
        df = spark.sql(f"SELECT m FROM buckets_{version} WHERE id = 7 AND name = 'n7'")
        assert df.collect()[0].m == {"k": 7}
        assert scan_report(df).scans[0].kept.buckets == 1
        assert check_buckets(spark, f"buckets_{version}", rows=True) == ()
    spark.sql("CREATE TABLE by_map (m MAP<STRING, INT>, a ARRAY<INT>) CLUSTERED BY (m, a) INTO 3 BUCKETS STORED AS ORC")
    spark.sql("INSERT INTO by_map SELECT map('k', int(id), 'l', 2147483647), array(int(id)) FROM range(30)")
    assert check_buckets(spark, "by_map", rows=True) == ()


def joins_by_bucket(spark: Session) -> None:
    for name in ("left", "right"):
        spark.sql(f"CREATE TABLE {name}_side (id INT, v INT) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS PARQUET")
        spark.sql(f"INSERT INTO {name}_side SELECT int(id), int(id * 2) FROM range(50)")
    left, right = (by_bucket(spark.table(f"{name}_side")) for name in ("left", "right"))
    joined = left.join(right, "id")
    assert exchanges(joined) == 0
    assert joined.count() == 50
    other = spark.range(200).selectExpr("int(id % 60) AS id", "id AS w")
    for how, expected in (("inner", 170), ("left", 170), ("full", 200), ("leftanti", 0)):
        joined = left.join(other, "id", how)
        assert exchanges(joined) == 1, how
        assert joined.count() == expected, how
        assert joined.count() == spark.table("left_side").join(other, "id", how).count()
    assert exchanges(left.groupBy("id").count()) == 0


def joins_by_skew(spark: Session) -> None:
    spark.sql(f"CREATE TABLE facts (id INT, x STRING) {SKEWED} STORED AS PARQUET")
    spark.sql("INSERT INTO facts SELECT int(id), if(id % 10 < 7, 'a', concat('x', id % 10)) FROM range(100)")
    names = spark.sql("SELECT * FROM VALUES ('a', 1), ('x8', 2) AS t(x, n)")
    names.createOrReplaceTempView("names")
    expected = spark.sql("SELECT f.id, n FROM facts f JOIN names n ON f.x = n.x")
    hinted = spark.sql("SELECT /*+ SKEW_JOIN(f) */ f.id, n FROM facts f JOIN names n ON f.x = n.x")
    assert sorted(hinted.collect()) == sorted(expected.collect())
    assert "BroadcastHashJoin" in hinted._jdf.queryExecution().executedPlan().toString()
    assert skew_join(spark.table("facts"), names, "x").count() == 80
    assert "'a'" in find_skew("facts", "x", spark=spark).clause


def concatenation(spark: Session) -> None:
    spark.sql(f"CREATE TABLE small (id INT, x STRING) PARTITIONED BY (ds STRING) {SKEWED} STORED AS PARQUET")
    for number in range(3):
        spark.sql(f"INSERT INTO small VALUES ({number}, 'a', '1')")
    report = spark.sql("ALTER TABLE small PARTITION (ds='1') CONCATENATE").collect()
    assert [(row.files_before, row.files_after) for row in report if row.files_before] == [(3, 1)]
    assert rows(spark, "SELECT id FROM small") == [(0,), (1,), (2,)]


def dependent_tables(spark: Session) -> None:
    spark.sql("CREATE TABLE hourly (v INT) PARTITIONED BY (ds STRING, hr STRING) STORED AS PARQUET")
    spark.sql("INSERT INTO hourly VALUES (1, '1', '1'), (2, '1', '2'), (3, '2', '1')")
    spark.sql("CREATE DEPENDENT TABLE daily PARTITIONED BY (ds STRING) DEPENDS ON TABLE hourly")
    spark.sql("ALTER TABLE daily ADD PARTITION (ds='1')")
    df = spark.sql("SELECT v FROM daily WHERE ds = '1'")
    assert sorted(row.v for row in df.collect()) == [1, 2]
    assert scan_report(df).scans[0].kept.partitions == 2
    assert rows(spark, "SELECT count(*) FROM daily") == [(2,)]
    told = [row[0] for row in spark.sql("DESCRIBE EXTENDED daily").collect()]
    assert "# Partition Dependencies" in told
    spark.sql("DROP TABLE hourly CASCADE")
    assert not spark.catalog.tableExists("daily")


def filters(spark: Session) -> None:
    """This Spark's own expressions evaluate predicates that the metastore cannot."""
    spark.sql("CREATE TABLE events (v INT) PARTITIONED BY (day DATE, n INT) STORED AS PARQUET")
    spark.sql("INSERT INTO events SELECT int(id), date_add(date'2024-02-28', int(id)), int(id) FROM range(4)")
    df = spark.sql("SELECT v FROM events WHERE year(day) = 2024 AND day >= '2024-02-29' AND n % 2 = 1")
    assert sorted(row.v for row in df.collect()) == [1, 3]
    assert scan_report(df).scans[0].kept.partitions == 2
    many = ", ".join(map(str, range(1, 40)))
    assert scan_report(spark.sql(f"SELECT v FROM events WHERE n IN ({many})")).scans[0].kept.partitions == 3


def statements_from_everywhere(spark: Session) -> None:
    spark.sql(f"CREATE TABLE everywhere (id INT, x STRING) {SKEWED} STORED AS PARQUET")
    spark.sql("INSERT INTO everywhere VALUES (1, 'a'), (2, 'c')")
    spark.sql("CREATE TABLE typed (x STRING) STORED AS ORC AS SELECT x FROM everywhere WHERE id = :n", args={"n": 2})
    assert rows(spark, "SELECT x FROM typed") == [("c",)]
    spark.sql("CREATE TABLE placed (x STRING) STORED AS ORC AS SELECT x FROM everywhere WHERE id = ?", args=[1])
    assert rows(spark, "SELECT x FROM placed") == [("a",)]
    if spark.version >= "4":  # SQL scripts
        assert rows(spark, "BEGIN ALTER TABLE placed SKEWED BY (x) ON ('s'); SELECT 7; END") == [(7,)]
        assert "'s'" in rows(spark, "SHOW CREATE TABLE placed")[0][0]
        spark.sql("EXECUTE IMMEDIATE 'ALTER TABLE placed SKEWED BY (x) ON (?)' USING 'q'")
        assert "'q'" in rows(spark, "SHOW CREATE TABLE placed")[0][0]
    java: Any = spark._jsparkSession
    top = java.sql("INSERT INTO everywhere VALUES (3, 'b')").queryExecution().commandExecuted().nodeName()
    assert (top, spark.table("everywhere").count()) == ("CommandResult", 3)
    told = rows(spark, "EXPLAIN FORMATTED INSERT INTO everywhere SELECT * FROM everywhere WHERE x = 'a'")[0][0]
    assert ".everywhere: 1 of 1 partitions, 1 of 3 directories, 1 of 3 files, " in told, told
    assert rows(spark, "SHOW SCANS OF SELECT * FROM everywhere WHERE x = 'a'")[0][3:5] == (1, 3)


def types_unknown_to_hive(spark: Session) -> None:
    """Appends to partitions of data source tables, whose descriptors are placeholders for Hive."""
    types = {"TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2024-01-31 12:00:00'"}
    if spark.version >= "4":
        types["VARIANT"] = "parse_json('1')"
    for type_, value in types.items():
        name = f"with_{type_}"
        spark.sql(f"CREATE TABLE {name} (id INT, v {type_}, ds STRING) USING parquet PARTITIONED BY (ds)")
        spark.sql(f"ALTER TABLE {name} ADD PARTITION (ds = 'a')")
        spark.sql(f"INSERT INTO {name} SELECT 1, {value}, 'a'")
        spark.sql(f"INSERT INTO {name} SELECT 2, {value}, 'a'")
        spark.sql(f"SELECT 3, {value}, 'a'").write.insertInto(name)
        spark.sql(f"MERGE INTO {name} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 4")
        assert rows(spark, f"SELECT id FROM {name} WHERE v IS NOT NULL") == [(2,), (3,), (4,)]


CAPABILITIES: tuple[Callable[[Session], None], ...] = (
    skewed_tables,
    statements_of_writing,
    the_writer,
    filters,
    bucketed_tables,
    joins_by_bucket,
    joins_by_skew,
    concatenation,
    dependent_tables,
    statements_from_everywhere,
    types_unknown_to_hive,
)


def run(uri: str, database: str, folder: str) -> dict[str, str]:
    """Runs all capabilities in a new session and database. Returns the errors of those that fail."""
    spark = spark_client.session(uri, conf=SETTINGS)
    spark.sql(f"CREATE DATABASE {database} LOCATION '{Path(folder) / database}'")
    spark.sql(f"USE {database}")
    failures = {}
    for capability in CAPABILITIES:
        try:
            capability(spark)
        except Exception as error:  # noqa: BLE001 - each is told of
            at = traceback.extract_tb(error.__traceback__)[1]
            failures[capability.__name__] = f"{at.line} (line {at.lineno}): {type(error).__name__}: {error}"[:1000]
    spark.sql(f"DROP DATABASE {database} CASCADE")
    return failures
