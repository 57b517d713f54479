"""First tables of a user: without a format, USING one, with a location; and what other clients find there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import QueryExecutionException
from pyspark.sql import SparkSession

import spark_client
from metastore.client import MetastoreClient
from spark_client import errors
from tests.spark.since import since
from tests.spark.tables import settings

TWO = "(1, '1', 'a'), (2, '1', 'b')"


def rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


def test_a_table_without_a_format_is_one_of_hives(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b INT DEFAULT 5) PARTITIONED BY (ds STRING, hr STRING)")
    spark.sql(f"INSERT INTO {table_name} (a, ds, hr) VALUES {TWO}")
    spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (ds, hr) VALUES (3, 0, '2', 'a')")
    assert rows(spark, table_name) == [(1, 5, "1", "a"), (2, 5, "1", "b"), (3, 0, "2", "a")]

    (shown,) = spark.sql(f"SHOW CREATE TABLE {table_name}").first() or ("",)
    assert "STORED AS PARQUET" in shown
    spark.sql(shown.replace(table_name, f"{table_name}_again"))
    made, again = (metastore.get_table("default", name) for name in (table_name, f"{table_name}_again"))
    assert (again.storage, again.columns, again.partition_columns) == (
        made.storage,
        made.columns,
        made.partition_columns,
    )
    assert spark.table(f"{table_name}_again").schema == spark.table(table_name).schema


def test_a_table_with_separators_is_one_of_text(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """As in plain Spark: the format of tables without one does not count."""
    file = tmp_path / "rows.csv"
    file.write_text("1;x:1,y:2;\\N\n2;;b\n")  # Spark ignores NULL DEFINED AS
    spark.sql(
        f"CREATE TABLE {table_name} (a INT, m MAP<STRING, INT>, s STRING) ROW FORMAT DELIMITED "
        "FIELDS TERMINATED BY ';' COLLECTION ITEMS TERMINATED BY ',' MAP KEYS TERMINATED BY ':' NULL DEFINED AS '-'"
    )
    spark.sql(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table_name}")
    assert rows(spark, table_name) == [(1, {"x": 1, "y": 2}, None), (2, {}, "b")]
    separated = "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|'"
    spark.sql(f"CREATE TABLE {table_name}_2 {separated} AS SELECT 1 a, 'x' s")
    spark.sql(f"CREATE EXTERNAL TABLE {table_name}_3 (a INT, b INT) {separated} LOCATION '{tmp_path}/three'")
    classes = "'org.apache.hadoop.mapred.TextInputFormat' OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.Any'"
    spark.sql(f"CREATE TABLE {table_name}_4 (a INT, b INT) {separated} STORED AS INPUTFORMAT {classes}")
    spark.sql(f"INSERT INTO {table_name}_4 VALUES (1, 2)")
    assert rows(spark, f"{table_name}_4") == [(1, 2)]
    spark.sql(f"INSERT INTO {table_name}_3 VALUES (1, 2)")
    assert [part.read_text() for part in (tmp_path / "three").glob("part-*")] == ["1|2\n"]
    for number in (2, 3, 4):
        (shown,) = spark.sql(f"SHOW CREATE TABLE {table_name}_{number} AS SERDE").first() or ("",)
        assert "org.apache.hadoop.mapred.TextInputFormat" in shown


def test_strict_mode_is_for_a_table_without_a_format(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT) PARTITIONED BY (ds STRING, hr STRING)")
    spark.conf.set("hive.exec.dynamic.partition.mode", "strict")
    try:
        with pytest.raises(QueryExecutionException, match="Error 10096"):
            spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (ds, hr) VALUES {TWO}")
    finally:
        spark.conf.set("hive.exec.dynamic.partition.mode", "nonstrict")


def test_show_create_hides_properties_of_writes(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE EXTERNAL TABLE {table_name} (a INT) LOCATION '{tmp_path}/t' TBLPROPERTIES ('mine' = 'x')")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('write.mode' = 'versions')")
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (1)")
    (shown,) = spark.sql(f"SHOW CREATE TABLE {table_name}").first() or ("",)
    assert shown.endswith(
        f"STORED AS PARQUET\nLOCATION 'file:{tmp_path}/t'\nTBLPROPERTIES ('mine' = 'x', 'write.mode' = 'versions')"
    )


def test_overwriting_tables_of_sparks_own_kind_keeps_other_partitions(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, ds STRING, hr STRING) USING parquet PARTITIONED BY (ds, hr)")
    spark.sql(f"INSERT INTO {table_name} VALUES {TWO}")
    spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (ds, hr) VALUES (3, '1', 'b')")
    assert rows(spark, table_name) == [(1, "1", "a"), (3, "1", "b")]
    spark.createDataFrame([(4, "2", "a")], "a INT, ds STRING, hr STRING").write.insertInto(table_name, overwrite=True)
    assert rows(spark, table_name) == [(1, "1", "a"), (3, "1", "b"), (4, "2", "a")]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    try:
        spark.sql(f"INSERT OVERWRITE {table_name} VALUES (5, '3', 'a')")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows(spark, table_name) == [(5, "3", "a")]


def test_readers_by_path_see_the_newest_rows_of_an_external_table(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    text = f"EXTERNAL TABLE {table_name} (a INT) PARTITIONED BY (ds INT) STORED AS PARQUET LOCATION '{tmp_path}/t'"
    spark.sql(f"CREATE {text}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 2)")
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (3, 2)")
    newest = [(1, 1), (3, 2)]
    assert sorted(tuple(row) for row in spark.read.parquet(f"{tmp_path}/t").collect()) == newest
    spark.sql(f"DROP TABLE {table_name}")
    spark.sql(f"CREATE {text}")
    spark.sql(f"MSCK REPAIR TABLE {table_name}")
    assert rows(spark, table_name) == newest


def test_an_external_table_is_not_made_over_rows_that_were_replaced(
    spark: SparkSession, metastore: MetastoreClient, table_name: str, tmp_path: Path
) -> None:
    text = (
        f"CREATE EXTERNAL TABLE {table_name} (a INT) PARTITIONED BY (ds INT) LOCATION '{tmp_path}/t' "
        "TBLPROPERTIES ('write.mode' = 'versions')"
    )
    spark.sql(text)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (2, 1)")
    spark.sql(f"DROP TABLE {table_name}")
    with pytest.raises(Exception, match=r"holds rows that were replaced\. Newer rows are in its _versions: UNDROP"):
        spark.sql(text)
    metastore.undrop("default", table_name)
    assert rows(spark, table_name) == [(2, 1)]
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (3, 1)")
    spark.sql(f"DROP TABLE {table_name}")
    for mark in (tmp_path / "t").rglob("_newer_rows_are_in__versions*"):
        mark.unlink()
    spark.sql(text)
    spark.sql(f"MSCK REPAIR TABLE {table_name}")
    assert rows(spark, table_name) == [(1, 1)]


@pytest.mark.parametrize("partitioned", ["", "PARTITIONED BY (ds INT)"])
def test_a_reader_by_path_gets_the_newest_rows_or_an_error(
    spark: SparkSession, metastore: MetastoreClient, table_name: str, partitioned: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT) {partitioned}")
    values = "(1, 1)" if partitioned else "(1)"
    spark.sql(f"INSERT INTO {table_name} VALUES {values}")
    root = metastore.get_table("default", table_name).location or ""
    assert [row[0] for row in spark.read.parquet(root).collect()] == [1]
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES {values.replace('(1', '(2')}")
    for path in (root, f"{root}/ds=1")[: 2 if partitioned else 1]:
        with pytest.raises(Exception, match=r"_newer_rows_are_in__versions|Conflicting directory structures"):
            spark.read.parquet(path).collect()
    assert [row[0] for row in spark.table(table_name).collect()] == [2]
    metastore.undrop("default", table_name)
    spark.catalog.refreshTable(table_name)
    assert [row[0] for row in spark.table(table_name).collect()] == [1]
    assert [row[0] for row in spark.read.parquet(f"{root}/ds=1" if partitioned else root).collect()] == [1]


def test_the_name_of_a_renamed_table_is_free(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT) STORED AS PARQUET")
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (1)")
    spark.sql(f"ALTER TABLE {table_name} RENAME TO {table_name}_bak")
    spark.sql(f"CREATE TABLE {table_name} (a INT) STORED AS PARQUET")
    assert (rows(spark, table_name), rows(spark, f"{table_name}_bak")) == ([], [(1,)])


def test_a_temporary_view_hides_the_table_from_statements_about_it(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT) SKEWED BY (a) ON (1) STORED AS PARQUET")
    spark.range(1).createOrReplaceTempView(table_name)
    try:
        described = [row[0] for row in spark.sql(f"DESCRIBE EXTENDED {table_name}").collect()]
        with pytest.raises(errors.NoSuchTableError, match="is a temporary view"):
            spark.sql(f"ALTER TABLE {table_name} NOT SKEWED")
    finally:
        spark.catalog.dropTempView(table_name)
    assert described == ["id"]
    assert metastore.get_table("default", table_name).skew.columns == ("a",)


def test_a_type_that_hive_lacks_is_rejected_with_skew(spark: SparkSession, table_name: str) -> None:
    with pytest.raises(errors.InvalidStatementError, match="column ds has a type"):
        spark.sql(f"CREATE TABLE {table_name} (a INT) PARTITIONED BY (ds TIMESTAMP_NTZ) SKEWED BY (a) ON (1)")
    assert not spark.catalog.tableExists(table_name)


def test_columns_that_the_writer_does_not_name_get_their_default(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b STRING DEFAULT 'x', c INT)")
    spark_client.write(spark.sql("SELECT 1")).into(table_name, columns=["a"]).append()
    assert rows(spark, table_name) == [(1, "x", None)]


def test_generated_columns_have_the_value_of_their_expression(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b INT GENERATED ALWAYS AS (a + 1)) PARTITIONED BY (ds INT)")
    spark_client.write(spark.sql("SELECT 1, 1")).into(table_name, columns=["a", "ds"]).append()
    spark.sql(f"INSERT INTO {table_name} (a, ds) VALUES (2, 1)")
    spark.sql(f"INSERT INTO {table_name} VALUES (3, 4, 2), (4, DEFAULT, 2)")
    spark.sql(f"UPDATE {table_name} SET a = 10 WHERE a = 1")
    spark.sql(
        f"MERGE INTO {table_name} t USING (SELECT explode(array(2, 8)) AS k) ON t.a = k "
        "WHEN MATCHED THEN UPDATE SET a = 20 WHEN NOT MATCHED THEN INSERT (a, ds) VALUES (k, 3)"
    )
    assert rows(spark, table_name) == [(3, 4, 2), (4, 5, 2), (8, 9, 3), (10, 11, 1), (20, 21, 1)]
    for statement in (f"INSERT INTO {table_name} VALUES (1, 7, 1)", f"UPDATE {table_name} SET b = 7 WHERE a = 10"):
        with pytest.raises(QueryExecutionException, match=r"b is GENERATED ALWAYS AS \(a \+ 1\)"):
            spark.sql(statement)
    (shown,) = spark.sql(f"SHOW CREATE TABLE {table_name}").first() or ("",)
    assert "b INT GENERATED ALWAYS AS (a + 1)" in shown


def test_generated_columns_are_found_where_case_is_minded(spark: SparkSession, table_name: str) -> None:
    with settings(spark, {"spark.sql.caseSensitive": "true"}):
        spark.sql(f"CREATE TABLE {table_name} (Id INT, Twice INT GENERATED ALWAYS AS (Id * 2)) PARTITIONED BY (ds INT)")
        spark.sql(f"INSERT INTO {table_name} (Id, ds) VALUES (1, 1)")
        spark.sql(f"UPDATE {table_name} SET Id = 5")
        assert rows(spark, table_name) == [(5, 10, 1)]


@since("4.0", "the syntax GENERATED ALWAYS AS IDENTITY")
def test_identity_columns_are_rejected(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b BIGINT GENERATED ALWAYS AS IDENTITY)")
    with pytest.raises(QueryExecutionException, match="b is GENERATED AS IDENTITY"):
        spark.sql(f"INSERT INTO {table_name} (a) VALUES (1)")


@since("4.0", "collations")
def test_generated_columns_compare_as_their_columns_do(spark: SparkSession, table_name: str) -> None:
    columns = "a INT, b STRING COLLATE UTF8_LCASE, c BOOLEAN GENERATED ALWAYS AS (b = 'u')"
    spark.sql(f"CREATE TABLE {table_name} ({columns})")
    spark.sql(f"INSERT INTO {table_name} (a, b) VALUES (1, 'U'), (2, 'u'), (3, 'v')")
    spark.sql(f"UPDATE {table_name} SET b = upper(b) WHERE a > 1")
    assert rows(spark, table_name) == [(1, "U", True), (2, "U", True), (3, "V", False)]


def test_new_partitions_of_an_overwrite_are_in_hives_default_directory(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (key STRING, value STRING) PARTITIONED BY (ds STRING, hr STRING)")
    for hr in ("1", "24"):
        spark.sql(f"INSERT OVERWRITE TABLE {table_name} PARTITION (ds='1', hr='{hr}') SELECT 'k', '{hr}'")
    path = f"{metastore.get_table('default', table_name).location}/ds=1"
    assert sorted(row["value"] for row in spark.read.parquet(path).collect()) == ["1", "24"]
    spark.sql(f"INSERT OVERWRITE TABLE {table_name} PARTITION (ds='1', hr='1') SELECT 'k', 'new'")
    with pytest.raises(Exception, match="_newer_rows_are_in__versions"):
        spark.read.parquet(path).collect()


def test_an_external_table_without_location_is_in_hives_default_directory(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    text = f"create external table if not exists {table_name} (key string, value string) partitioned by (ds string);"
    spark.sql(text)
    spark.sql(text)
    spark.sql(f"INSERT INTO {table_name} VALUES ('a', 'b', '1')")
    made = metastore.get_table("default", table_name)
    assert made.table_type == "EXTERNAL_TABLE"
    assert made.location == f"{metastore.get_database('default').location}/{table_name}"
    spark.sql(f"DROP TABLE {table_name}")
    spark.sql(text)
    spark.sql(f"MSCK REPAIR TABLE {table_name}")
    assert rows(spark, table_name) == [("a", "b", "1")]


@pytest.mark.parametrize(
    ("properties", "mend"),
    [
        ("'skew.layuot' = 'flat'", "'skew.layuot'; did you mean 'skew.layout'"),
        ("'skew.auto' = 'yes'", "skew.auto is 'yes'; it must be true or false"),
        ("write.mode = 'inplace'", "write.mode is 'inplace'; it must be versions or in-place"),
        ("'orc.compress' = 'zip'", "orc.compress is 'zip'; it must be"),
    ],
)
def test_misspelt_properties_are_rejected(spark: SparkSession, table_name: str, properties: str, mend: str) -> None:
    with pytest.raises(errors.InvalidStatementError, match=mend):
        spark.sql(f"CREATE TABLE {table_name} (a INT) TBLPROPERTIES ('a' = 'b', {properties})")
    spark.sql(f"CREATE TABLE {table_name} (a INT) TBLPROPERTIES ('a' = 'b', 'write.format' = 'x')")
    with pytest.raises(errors.InvalidStatementError, match=mend):
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ({properties})")
