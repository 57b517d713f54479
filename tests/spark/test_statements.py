"""CREATE TABLE … SKEWED BY, ALTER TABLE … SKEWED and INSERT in plain `spark.sql`."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException, QueryExecutionException
from pyspark.sql import DataFrame

from metastore.client import MetastoreClient
from metastore.client.structs import NOT_SKEWED, Skew
from spark_client import Session
from spark_client.errors import InvalidStatementError, SparkClientError, TableExistsError
from tests.spark.tables import folder

STORED = "STORED AS DIRECTORIES STORED AS PARQUET"


def rows(df: DataFrame) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=repr)


def test_create_table_is_spark_s_own_with_the_skew_in_it(
    spark: Session, table_name: str, metastore: MetastoreClient
) -> None:
    plain = f"{table_name}_plain"
    statement = (
        "CREATE TABLE {} (Id INT COMMENT 'number', s STRING, m DECIMAL(10,2)) COMMENT 'what it is' "
        "PARTITIONED BY (Day DATE COMMENT 'when') {} STORED AS PARQUET TBLPROPERTIES ('a' = 'b')"
    )
    result = spark.sql(statement.format(table_name, "SKEWED BY (id, s) ON ((1, 'x')) STORED AS DIRECTORIES"))
    assert (result.columns, result.collect()) == ([], [])
    spark.sql(statement.format(plain, ""))
    ours, theirs = metastore.get_table("default", table_name), metastore.get_table("default", plain)
    assert ours.skew == Skew(("id", "s"), (("1", "x"),), {}, directories=True)
    assert (ours.columns, ours.partition_columns, ours.storage, ours.owner, ours.table_type) == (
        theirs.columns,
        theirs.partition_columns,
        theirs.storage,
        theirs.owner,
        theirs.table_type,
    )
    assert spark.table(table_name).schema == spark.table(plain).schema
    described = [
        {row[0]: row[1] for row in spark.sql(f"DESCRIBE EXTENDED {name}").collect()} for name in (table_name, plain)
    ]
    for key in ("Comment", "Provider", "Type", "Partition Provider", "Created By", "Catalog", "Day", "Id"):
        assert described[0].get(key) == described[1].get(key), key
    extra = set(ours.parameters) - set(theirs.parameters)
    assert extra == {"skewed.directories"}
    assert folder(ours.location or "").parent == folder(theirs.location or "").parent


@pytest.mark.parametrize(
    ("column", "values", "stored"),
    [
        ("INT", "1, 01, '1', '2'", ["1", "2"]),
        ("BIGINT", "-5, 10L, '+7'", ["-5", "10", "7"]),
        ("STRING", "'A', 'a', \"it's\", 'x' 'y', r'\\d', 5", ["A", "a", "it's", "xy", "\\d", "5"]),
        ("DECIMAL(6,2)", "1, 1.5, '01.50', 2.0", ["1", "1.5", "2"]),
        ("DATE", "'2020-01-31', DATE'2020-01-31', DATE '1969-12-31'", ["2020-01-31", "1969-12-31"]),
        ("BOOLEAN", "true, 'FALSE', TRUE", ["true", "false"]),
        ("DOUBLE", "1, 1.50, '1e3'", ["1.0", "1.5", "1000.0"]),
        ("VARCHAR(5)", "'ab ', 'a'", ["ab ", "a"]),
        ("CHAR(5)", "'ab ', 'ab'", ["ab"]),
        ("STRING", "NULL, ''", ["__HIVE_DEFAULT_PARTITION__", ""]),
    ],
)
def test_values_have_the_columns_type(
    spark: Session, table_name: str, metastore: MetastoreClient, column: str, values: str, stored: list[str]
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (x {column}, y INT) SKEWED BY (x) ON ({values}) {STORED}")
    assert metastore.get_table("default", table_name).skew.values == tuple((value,) for value in stored)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("(x INT) SKEWED BY (x) ON ('a') STORED AS PARQUET", "'a' is not a value of type int"),
        ("(x INT) SKEWED BY (x) ON (1.5) STORED AS PARQUET", "1.5 is not a value of type int"),
        ("(x DATE) SKEWED BY (x) ON ('2020-02-30') STORED AS PARQUET", "'2020-02-30' is not a value of type date"),
        ("(x INT) SKEWED BY (y) ON (1) STORED AS PARQUET", r"\[Error 10203\]: Invalid skewed column name: y"),
        (
            "(x INT) PARTITIONED BY (p INT) SKEWED BY (p) ON (1) STORED AS PARQUET",
            r"\[Error 10203\].*: p \(.*\); .* are x",
        ),
        ("(x INT, y INT) SKEWED BY (x, y) ON (1) STORED AS PARQUET", r"\[Error 10206\].* 2 : 1"),
        ("(x ARRAY<INT>) SKEWED BY (x) ON (1) STORED AS PARQUET", "cannot be skewed by x, which is of type array<int>"),
        ("(x INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS TEXTFILE", "needs STORED AS PARQUET or ORC"),
        ("(x INT) CLUSTERED BY (x) INTO 4 BUCKETS SKEWED BY (x) ON (1) " + STORED, "is CLUSTERED BY"),
        ("(x INT) USING parquet SKEWED BY (x) ON (1)", "STORED AS PARQUET or STORED AS ORC"),
        ("SKEWED BY (x) ON (1) STORED AS PARQUET AS SELECT 1 AS x", "AS SELECT"),
    ],
)
def test_queries_that_do_not_fit_are_rejected_and_leave_no_table(
    spark: Session, table_name: str, statement: str, message: str
) -> None:
    with pytest.raises(InvalidStatementError, match=message) as raised:
        spark.sql(f"CREATE TABLE {table_name} {statement}")
    assert "\n" not in str(raised.value)
    assert not spark.catalog.tableExists(table_name)


def test_sparks_errors_are_unchanged(spark: Session, table_name: str) -> None:
    with pytest.raises(ParseException, match="rubbish"):
        spark.sql(f"CREATE TABLE {table_name} (x INT) rubbish SKEWED BY (x) ON (1) {STORED}")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
        spark.sql(f"CREATE TABLE nowhere.{table_name} (x INT) SKEWED BY (x) ON (1) {STORED}")
    with pytest.raises(AnalysisException, match="COLUMN_ALREADY_EXISTS"):
        spark.sql(f"CREATE TABLE {table_name} (x INT, X INT) SKEWED BY (x) ON (1) {STORED}")


def test_a_table_that_is_there(spark: Session, table_name: str, metastore: MetastoreClient) -> None:
    spark.sql(f"CREATE TABLE {table_name} (x INT) SKEWED BY (x) ON (1) {STORED}")
    again = f"(x STRING) SKEWED BY (x) ON ('a') {STORED}"
    with pytest.raises(TableExistsError, match=f"{table_name} already exists"):
        spark.sql(f"CREATE TABLE {table_name} {again}")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table_name} {again}")
    assert metastore.get_table("default", table_name).skew.values == (("1",),)


def test_databases_and_locations(spark: Session, table_name: str, metastore: MetastoreClient, tmp_path: object) -> None:
    database = f"d{table_name}"
    spark.sql(f"CREATE DATABASE {database}")
    other = spark.newSession()
    other.sql(f"USE {database}")
    other.sql(f"CREATE TABLE a (x INT) SKEWED BY (x) ON (1) {STORED} LOCATION '{tmp_path}/somewhere'")
    other.sql("ALTER TABLE a SKEWED BY (x) ON (2) STORED AS DIRECTORIES")
    other.sql("INSERT INTO a VALUES (1), (2)")
    assert rows(spark.table(f"{database}.a").where("x = 1")) == [(1,)]
    table = metastore.get_table(database, "a")
    assert table.skew.values == (("2",),)
    assert f"{tmp_path}/somewhere" in (table.location or "")
    spark.sql(f"DROP DATABASE {database} CASCADE")


def test_alter_table_changes_the_table_and_no_partition(
    spark: Session, table_name: str, metastore: MetastoreClient
) -> None:
    def skews() -> list[Skew]:
        partitions = metastore.get_partitions("default", table_name)
        return [metastore.get_table("default", table_name).skew, *(partition.skew for partition in partitions)]

    spark.sql(f"CREATE TABLE {table_name} (x INT, s STRING) PARTITIONED BY (p INT) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1)")
    spark.sql(f"ALTER TABLE {table_name} SKEWED BY (X) ON (1, 01) STORED AS DIRECTORIES")
    assert skews() == [Skew(("x",), (("1",),), {}, directories=True), NOT_SKEWED]
    spark.sql(f"ALTER TABLE default.{table_name} NOT STORED AS DIRECTORIES")
    assert skews() == [Skew(("x",), (("1",),), {}, directories=False), NOT_SKEWED]
    spark.sql(f"ALTER TABLE spark_catalog.default.{table_name} NOT SKEWED")
    assert skews() == [NOT_SKEWED, NOT_SKEWED]
    for statement, message in (
        ("NOT STORED AS DIRECTORIES", r"\[Error 10196\].*only valid on skewed table. default."),
        ("SKEWED BY (p) ON (1)", r"\[Error 10203\]"),
        ("PARTITION (p = 1) NOT SKEWED", "whole table"),
    ):
        with pytest.raises(InvalidStatementError, match=message):
            spark.sql(f"ALTER TABLE {table_name} {statement}")
    with pytest.raises(SparkClientError, match="not found"):
        spark.sql(f"ALTER TABLE {table_name}_no NOT SKEWED")


def test_rows_of_a_table_without_partitions_are_not_lost_by_alter_table(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (x INT) SKEWED BY (x) ON (1) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    spark.sql(f"ALTER TABLE {table_name} SKEWED BY (x) ON (2)")
    with pytest.raises(InvalidStatementError, match="TRUNCATE it first"):
        spark.sql(f"ALTER TABLE {table_name} SKEWED BY (x) ON (2) STORED AS DIRECTORIES")
    spark.sql(f"TRUNCATE TABLE {table_name}")
    spark.sql(f"ALTER TABLE {table_name} SKEWED BY (x) ON (2) STORED AS DIRECTORIES")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    for statement in ("NOT SKEWED", "NOT STORED AS DIRECTORIES", "SKEWED BY (x) ON (1)"):
        with pytest.raises(InvalidStatementError, match="TRUNCATE it first"):
            spark.sql(f"ALTER TABLE {table_name} {statement}")
    assert rows(spark.table(table_name)) == [(1,), (2,)]


def test_statements_about_skew_take_parameters(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (x INT) SKEWED BY (x) ON (:a) {STORED}", {"a": 1})
    assert spark.metastore.get_table("default", table_name).skew.values == (("1",),)


@pytest.fixture
def target(spark: Session, table_name: str) -> str:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, s STRING DEFAULT 'none') PARTITIONED BY (p INT, q STRING) "
        f"SKEWED BY (s) ON ('a') {STORED}"
    )
    return table_name


INSERTS = {
    "values": ("INSERT INTO {} VALUES (1, 'a', 1, 'x')", [(1, "a", 1, "x")]),
    "static": ("INSERT INTO {} PARTITION (p = 1, q = 'x') SELECT 1, 'a'", [(1, "a", 1, "x")]),
    "mixed": ("INSERT INTO {} PARTITION (p = 1, q) SELECT 1, 'a', 'x'", [(1, "a", 1, "x")]),
    "null partition": ("INSERT INTO {} PARTITION (p = NULL, q) SELECT 1, 'a', NULL", [(1, "a", None, None)]),
    "columns": ("INSERT INTO {} (q, p, id) SELECT 'x', 1, 1", [(1, "none", 1, "x")]),
    "by name": ("INSERT INTO {} BY NAME SELECT 'x' AS q, 1 AS p, 1 AS id, 'a' AS s", [(1, "a", 1, "x")]),
    "default": ("INSERT INTO {} VALUES (1, DEFAULT, 1, 'x')", [(1, "none", 1, "x")]),
    "widened": ("INSERT INTO {} SELECT CAST(1 AS TINYINT), 'a', CAST(1 AS SMALLINT), 'x'", [(1, "a", 1, "x")]),
    "CTE before": ("WITH r AS (SELECT 1 AS id, 'a', 1, 'x') INSERT INTO {} SELECT * FROM r", [(1, "a", 1, "x")]),
    "CTE behind": ("INSERT INTO {} WITH r AS (SELECT 1 AS id, 'a', 1, 'x') SELECT * FROM r", [(1, "a", 1, "x")]),
    "two at once": (
        "FROM (SELECT 1 AS id) INSERT INTO {0} SELECT id, 'a', 1, 'x' INSERT INTO {0} SELECT id + 1, 'b', 2, 'y'",
        [(1, "a", 1, "x"), (2, "b", 2, "y")],
    ),
    "TABLE": ("INSERT INTO TABLE {} TABLE source", [(1, "a", 1, "x")]),
}


@pytest.mark.parametrize("name", INSERTS)
def test_inserts(spark: Session, target: str, name: str) -> None:
    spark.sql("SELECT 1 AS id, 'a' AS s, 1 AS p, 'x' AS q").createOrReplaceTempView("source")
    statement, expected = INSERTS[name]
    result = spark.sql(statement.format(target))
    assert (result.columns, result.collect()) == ([], [])
    assert rows(spark.table(target)) == sorted(expected, key=repr)


def test_insert_from_itself_overwrite_and_if_not_exists(spark: Session, target: str) -> None:
    spark.sql(f"INSERT INTO {target} VALUES (1, 'a', 1, 'x'), (2, 'b', 2, 'y')")
    spark.sql(f"INSERT INTO {target} SELECT id + 10, s, p, q FROM {target}")
    spark.sql(f"INSERT OVERWRITE {target} SELECT id + 100, s, p, q FROM {target} WHERE p = 1")
    assert rows(spark.table(target)) == [(101, "a", 1, "x"), (111, "a", 1, "x"), (12, "b", 2, "y"), (2, "b", 2, "y")]
    spark.sql(f"INSERT OVERWRITE {target} PARTITION (p = 1, q = 'x') IF NOT EXISTS SELECT 9, 'a'")
    assert spark.table(target).count() == 4
    spark.sql(f"INSERT OVERWRITE {target} PARTITION (p = 1, q = 'x') SELECT 9, 'a' WHERE false")
    assert rows(spark.table(target)) == [(12, "b", 2, "y"), (2, "b", 2, "y")]


def test_data_frames_write(spark: Session, target: str) -> None:
    df = spark.createDataFrame([(1, "a", 1, "x")], "id int, s string, p int, q string")
    df.write.insertInto(target)
    df.write.insertInto(target, overwrite=True)
    df.write.mode("append").format("hive").partitionBy("p", "q").saveAsTable(target)
    assert rows(spark.table(target)) == [(1, "a", 1, "x")] * 2


def test_a_cached_table_shows_inserted_rows(spark: Session, target: str) -> None:
    spark.catalog.cacheTable(target)
    try:
        assert spark.table(target).count() == 0
        spark.sql(f"INSERT INTO {target} VALUES (1, 'a', 1, 'x')")
        assert spark.table(target).count() == 1
    finally:
        spark.catalog.uncacheTable(target)


def test_explain_inserts_nothing(spark: Session, target: str) -> None:
    (row,) = spark.sql(f"EXPLAIN INSERT INTO {target} VALUES (1, 'a', 1, 'x')").collect()
    assert target in row[0]
    assert spark.table(target).count() == 0


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("INSERT INTO {} VALUES (1, 'a')", QueryExecutionException, r"\[Error 10044\]"),
        ("INSERT INTO {} VALUES ('x', 'a', 1, 'x')", AnalysisException, "CANNOT_SAFELY_CAST"),
        ("INSERT INTO {} PARTITION (z = 1) VALUES (1, 'a')", QueryExecutionException, "contains non-partition columns"),
        ("INSERT INTO {} SELECT nothing", AnalysisException, "UNRESOLVED_COLUMN"),
        (
            "INSERT INTO {} PARTITION (p, q = 'x') VALUES (1, 'a', 1)",
            QueryExecutionException,
            "parent of a static partition",
        ),
        ("INSERT INTO {} SELECT 1, raise_error('no way'), 1, 'x'", QueryExecutionException, "no way"),
    ],
)
def test_failing_inserts_have_clear_errors_and_insert_nothing(
    spark: Session, target: str, statement: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        spark.sql(statement.format(target))
    assert spark.table(target).count() == 0


def test_the_error_names_the_column_whose_value_does_not_fit(spark: Session, target: str) -> None:
    spark.sql(f"INSERT INTO {target} VALUES (1, 'a', 1, 'x')")
    with pytest.raises(QueryExecutionException, match=r"column( or variable)? `id` due to an overflow"):
        spark.sql(f"UPDATE {target} SET id = id + 3000000000L")
