"""Data source tables, USING parquet and orc: written and read with the guarantees of Hive tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import AnalysisException, QueryExecutionException
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from spark_client.scan.report import scan_report
from spark_client.table.datasource_tables import with_spark_schema
from tests.spark.since import is_there, since
from tests.spark.tables import files_below, folder

TWO = "(1, '1', 'a'), (2, '1', 'b')"


def rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in spark.table(table).collect()), key=repr)


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> str:
    """Two partitions, and names with capitals."""
    spark.sql(f"CREATE TABLE {table_name} (Aa INT, ds STRING, hr STRING) USING parquet PARTITIONED BY (ds, hr)")
    spark.sql(f"INSERT INTO {table_name} VALUES {TWO}")
    return table_name


@pytest.fixture
def setting(spark: SparkSession) -> Iterator[object]:
    """Sets a session variable until the test ends."""
    names: list[str] = []

    def put(name: str, value: str) -> None:
        names.append(name)
        spark.conf.set(name, value)

    yield put
    for name in names:
        spark.conf.unset(name)


def test_a_failed_statement_of_several_inserts_leaves_nothing(spark: SparkSession, table: str) -> None:
    spark.sql(f"CREATE TABLE {table}_2 LIKE {table}")
    with pytest.raises(QueryExecutionException, match="changed nothing"):
        spark.sql(
            f"FROM {table} INSERT INTO {table}_2 SELECT Aa, ds, hr INSERT INTO {table} SELECT raise_error('x'), ds, hr"
        )
    assert rows(spark, f"{table}_2") == []
    assert len(rows(spark, table)) == 2


def test_strict_mode_and_limits_are_kept(spark: SparkSession, table: str, setting: object) -> None:
    assert callable(setting)
    setting("hive.exec.max.dynamic.partitions", "1")
    with pytest.raises(QueryExecutionException, match=r"hive\.exec\.max\.dynamic\.partitions to at least 2"):
        spark.sql(f"INSERT INTO {table} VALUES (3, '2', 'a'), (3, '2', 'b')")
    setting("hive.exec.dynamic.partition.mode", "strict")
    with pytest.raises(QueryExecutionException, match="Error 10096"):
        spark.sql(f"INSERT OVERWRITE {table} PARTITION (ds, hr) VALUES {TWO}")
    assert len(rows(spark, table)) == 2


def test_static_mode_empties_the_partitions_of_the_clause(spark: SparkSession, table: str, setting: object) -> None:
    assert callable(setting)
    spark.sql(f"INSERT INTO {table} VALUES (3, '2', 'a')")
    setting("spark.sql.sources.partitionOverwriteMode", "static")
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (ds = '1', hr) VALUES (4, 'c')")
    assert rows(spark, table) == [(3, "2", "a"), (4, "1", "c")]


def test_readers_by_path_and_by_name_see_the_same(
    spark: SparkSession, metastore: MetastoreClient, table: str, setting: object
) -> None:
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (ds, hr) VALUES (5, '1', 'a')")
    location = metastore.get_table("default", table).location or ""
    by_path = spark.read.parquet(location).selectExpr("Aa", "CAST(ds AS STRING)", "hr")
    assert sorted(tuple(row) for row in by_path.collect()) == rows(spark, table) == [(2, "1", "b"), (5, "1", "a")]
    # As another case-sensitive Spark reads it: by the columns' names in the files.
    assert callable(setting)
    setting("spark.sql.caseSensitive", "true")
    assert spark.read.parquet(location).columns[0] == "Aa"


def test_directories_have_the_names_that_spark_gives_them(
    spark: SparkSession, metastore: MetastoreClient, table_name: str, setting: object
) -> None:
    """A case-sensitive reader by path would take other names for other columns."""
    spark.sql(f"CREATE TABLE {table_name} (a INT, Day INT) USING parquet PARTITIONED BY (Day)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 2)")
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (3, 1)")
    spark.sql(f"UPDATE {table_name} SET Day = 3 WHERE a = 2")
    location = metastore.get_table("default", table_name).location or ""
    assert {path.name for path in folder(location).glob("*=*")} == {"Day=1", "Day=2", "Day=3"}
    assert callable(setting)
    setting("spark.sql.caseSensitive", "true")
    by_path = spark.read.schema("a INT, Day INT").parquet(location)
    assert sorted(tuple(row) for row in by_path.collect()) == rows(spark, table_name) == [(2, 3), (3, 1)]


def test_partitions_are_pruned_by_the_metastore(spark: SparkSession, table: str) -> None:
    (scan,) = scan_report(spark.table(table).where("hr = 'b'")).scans
    assert (scan.kept.partitions, scan.total.partitions) == (1, 2)


def test_readers_do_not_see_files_of_open_writes(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT) USING parquet")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    table = metastore.get_table("default", table_name)
    (file,) = folder(table.location or "").glob("*.parquet")
    lease = metastore.begin_write("default", table_name)
    (file.parent / f"{lease.query_id}-0.parquet").write_bytes(file.read_bytes())
    spark.catalog.refreshTable(table_name)
    assert rows(spark, table_name) == [(1,)]
    metastore.end_write(lease.query_id)


def test_types_that_hive_lacks(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} USING orc AS SELECT 1 AS a, TIMESTAMP_NTZ'2020-01-01 00:00:00' AS n")
    spark.sql(f"INSERT INTO {table_name} VALUES (2, TIMESTAMP_NTZ'2021-01-01 00:00:00')")
    spark.sql(f"INSERT OVERWRITE {table_name} SELECT * FROM {table_name} WHERE a = 2")
    ((a, n),) = rows(spark, table_name)
    assert (a, str(n)) == (2, "2021-01-01 00:00:00")


def test_save_as_table_makes_a_table_whole_and_overwrites_it_in_place(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    data = spark.range(4).selectExpr("id", "id % 2 AS P", "CAST(id AS STRING) AS s")
    data.write.partitionBy("P").saveAsTable(table_name)
    before = metastore.get_table("default", table_name)
    assert not [name for name in files_below(before.location or "") if "_SUCCESS" in name]
    data.write.mode("append").partitionBy("P").saveAsTable(table_name)
    assert len(rows(spark, table_name)) == 8
    data.limit(1).write.mode("overwrite").partitionBy("P").saveAsTable(table_name)
    assert rows(spark, table_name) == [(0, "0", 0)]
    assert metastore.get_table("default", table_name).location == before.location
    data.selectExpr("id", "P", "id AS other").write.mode("overwrite").partitionBy("P").saveAsTable(table_name)
    assert rows(spark, table_name)[0] == (0, 0, 0)
    data.selectExpr("id AS once").write.format("hive").mode("overwrite").saveAsTable(table_name)
    data.selectExpr("id AS last").write.mode("overwrite").saveAsTable(table_name)
    spark.sql(f"INSERT INTO {table_name} VALUES (9)")
    assert rows(spark, table_name) == [(0,), (1,), (2,), (3,), (9,)]
    assert not spark.sql(f"SHOW TABLES LIKE '{table_name}__as_select_*'").collect()


def test_save_as_table_over_existing_files(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    data = spark.range(3).selectExpr("id")
    for _ in range(2):  # created again where the last table's files are
        data.write.option("path", f"{tmp_path}/t").mode("overwrite").saveAsTable(table_name)
        assert rows(spark, table_name) == [(0,), (1,), (2,)]
        spark.sql(f"INSERT OVERWRITE {table_name} VALUES (7)")
        assert (
            rows(spark, table_name) == [(7,)] == [tuple(row) for row in spark.read.parquet(f"{tmp_path}/t").collect()]
        )
        spark.sql(f"DROP TABLE {table_name}")


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_save_as_table_overwrites_at_its_path(
    spark: SparkSession, table_name: str, tmp_path: Path, scheme: str
) -> None:
    data = spark.range(3).selectExpr("id")
    for count in (3, 1):
        data.limit(count).write.option("path", f"{scheme}{tmp_path}/t").mode("overwrite").saveAsTable(table_name)
        assert rows(spark, table_name) == [(number,) for number in range(count)]
    if not is_there("4.0"):
        return  # Spark 3.5 itself replaces such a table
    with pytest.raises(QueryExecutionException, match=r"cannot be replaced by a table with other columns.*not empty"):
        data.selectExpr("id AS other").write.option("path", f"{tmp_path}/t").mode("overwrite").saveAsTable(table_name)
    assert rows(spark, table_name) == [(0,)]


def test_overwriting_with_save_as_table_keeps_the_skew_or_fails(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a BIGINT) PARTITIONED BY (ds STRING) SKEWED BY (a) ON (1)")
    data = spark.range(3).selectExpr("id AS a", "'1' AS ds")
    data.write.format("hive").mode("overwrite").partitionBy("ds").saveAsTable(table_name)
    assert metastore.get_table("default", table_name).skew.columns == ("a",)
    data.write.mode("overwrite").partitionBy("ds").saveAsTable(table_name)  # nothing names its format
    table = metastore.get_table("default", table_name)
    assert table.skew.columns == ("a",)
    assert "spark.sql.sources.provider" not in table.parameters
    with pytest.raises(QueryExecutionException, match="NOT SKEWED first"):
        data.withColumnRenamed("a", "b").write.format("hive").mode("overwrite").saveAsTable(table_name)
    assert len(rows(spark, table_name)) == 3


@since("4.0", "a place for rules that come before tables are looked up, which this needs,")
@pytest.mark.parametrize("kind", ["", "STORED AS ORC", "STORED AS TEXTFILE"])
def test_appending_with_save_as_table_to_tables_of_hives(spark: SparkSession, table_name: str, kind: str) -> None:
    """Columns go by name. Without a format, or with the table's name, it is the table's."""
    spark.sql(f"CREATE TABLE {table_name} (a BIGINT, b STRING) PARTITIONED BY (ds STRING) {kind}")
    data = spark.range(2).selectExpr("'1' AS ds", "'x' AS b", "id AS a")
    data.write.mode("append").partitionBy("ds").saveAsTable(table_name)
    if "ORC" in kind:
        data.write.mode("append").format("orc").partitionBy("ds").saveAsTable(table_name)
    else:
        with pytest.raises(AnalysisException, match="doesn't match the specified format"):
            data.write.mode("append").format("orc").partitionBy("ds").saveAsTable(table_name)
    wanted = [(0, "x", "1"), (1, "x", "1")] * (2 if "ORC" in kind else 1)
    assert rows(spark, table_name) == sorted(wanted)


@since("4.0", "a place for rules that come before tables are looked up, which writeTo needs,")
def test_given_properties_become_the_tables(spark: SparkSession, metastore: MetastoreClient, table_name: str) -> None:
    data = spark.range(2)
    data.writeTo(table_name).create()
    data.writeTo(table_name).tableProperty("x", "y").createOrReplace()
    assert metastore.get_table("default", table_name).parameters["x"] == "y"
    assert len(rows(spark, table_name)) == 2


def test_truncate_of_one_partition_keeps_the_other_partitions(
    spark: SparkSession, metastore: MetastoreClient, table: str
) -> None:
    spark.sql(f"TRUNCATE TABLE {table} PARTITION (ds = '1', hr = 'a')")
    assert rows(spark, table) == [(2, "1", "b")]
    assert len(metastore.get_partitions("default", table)) == 2


def test_show_create_hides_properties_of_writes(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT) USING parquet TBLPROPERTIES ('mine' = 'x')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    (shown,) = spark.sql(f"SHOW CREATE TABLE {table_name}").first() or ("",)
    assert "'mine' = 'x'" in shown
    assert "spark_query_id" not in shown
    spark.sql(shown.replace(table_name, f"{table_name}_2"))
    assert spark.table(f"{table_name}_2").schema == spark.table(table_name).schema


@pytest.mark.parametrize("clause", ["", "PARTITIONED BY (p)"])
def test_a_table_replaced_by_another_session_is_read_and_written(
    spark: SparkSession, table_name: str, clause: str
) -> None:
    other = spark.newSession()
    spark.sql(f"CREATE TABLE {table_name} (x INT, p STRING) USING parquet {clause}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    assert spark.table(table_name).count() == 1  # it is cached from now on
    for columns, kind, row in (("y STRING, p STRING", "orc", ("b", "c")), ("p STRING, z INT", "parquet", ("d", 2))):
        other.sql(f"DROP TABLE {table_name}")
        other.sql(f"CREATE TABLE {table_name} ({columns}) USING {kind} {clause}")
        spark.sql(f"INSERT INTO {table_name} BY NAME SELECT '{row[0]}' {columns[0]}, {row[1]!r} {columns.split()[2]}")
        names = columns.split()[0], columns.split()[2]
        assert spark.table(table_name).select(*names).collect() == [row]
        assert other.table(table_name).select(*names).collect() == [row]
        assert spark.sql(f"SELECT * FROM {table_name}").columns == other.table(table_name).columns


NTZ = ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2024-01-31 12:00:00'")
TYPES_UNKNOWN_TO_HIVE = [
    pytest.param("parquet", *NTZ, marks=pytest.mark.long),
    pytest.param("orc", *NTZ, marks=pytest.mark.long),
    pytest.param("parquet", "VARIANT", "parse_json('1')", marks=since("4.0", "VARIANT")),
]


@pytest.mark.parametrize(("format_", "type_", "value"), TYPES_UNKNOWN_TO_HIVE)
def test_partitions_with_types_that_hive_lacks_are_appended_to_and_changed(
    spark: SparkSession, table_name: str, format_: str, type_: str, value: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v {type_}, ds STRING) USING {format_} PARTITIONED BY (ds)")
    spark.sql(f"INSERT INTO {table_name} SELECT 1, {value}, 'a'")
    spark.sql(f"INSERT INTO {table_name} SELECT 2, {value}, 'a'")
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION (ds = 'b')")
    spark.sql(f"INSERT INTO {table_name} PARTITION (ds = 'b') SELECT 3, {value}")
    frame = spark.sql(f"SELECT 4 AS id, {value} AS v, 'b' AS ds")
    frame.write.insertInto(table_name)
    more = frame.withColumn("id", frame.id + 1)
    if is_there("4.0"):  # writeTo: see test_write_to
        more.writeTo(table_name).append()
    else:
        more.write.insertInto(table_name)
    frame.withColumn("id", frame.id + 2).write.mode("append").format(format_).partitionBy("ds").saveAsTable(table_name)
    spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (ds = 'c') SELECT 7, {value}")
    spark.sql(
        f"MERGE INTO {table_name} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 10 "
        f"WHEN NOT MATCHED BY SOURCE AND t.id = 2 THEN DELETE"
    )
    spark.sql(f"UPDATE {table_name} SET id = 30 WHERE id = 3")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 7")
    actual = spark.sql(f"SELECT id, ds, v IS NOT NULL AS known FROM {table_name} ORDER BY id").collect()
    assert [tuple(row) for row in actual] == [
        (4, "b", True), (5, "b", True), (6, "b", True), (10, "a", True), (30, "b", True)
    ]  # fmt: skip


def test_a_partition_column_may_have_a_type_that_hive_lacks(spark: SparkSession, table_name: str) -> None:
    first, second = "TIMESTAMP_NTZ'2024-01-31 00:00:00'", "TIMESTAMP_NTZ'2024-01-31 12:00:00.5'"
    if pyspark.__version__.startswith(("4.0", "4.1", "4.2")):  # cannot rename it, which AS SELECT does at its end
        spark.sql(f"CREATE TABLE {table_name} (id INT, ds TIMESTAMP_NTZ) USING parquet PARTITIONED BY (ds)")
        spark.sql(f"INSERT INTO {table_name} SELECT 1, {first}")
    else:
        spark.sql(f"CREATE TABLE {table_name} USING parquet PARTITIONED BY (ds) AS SELECT 1 AS id, {first} AS ds")
    spark.sql(f"INSERT INTO {table_name} VALUES (2, {first}), (3, {second}), (4, NULL)")
    spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (ds = {second}) SELECT 5")
    spark.sql(f"UPDATE {table_name} SET ds = {second} WHERE id = 2")
    actual = spark.sql(f"SELECT id, ds = {second} AS later FROM {table_name} ORDER BY id").collect()
    assert [tuple(row) for row in actual] == [(1, False), (2, True), (4, None), (5, True)]


def test_columns_whose_names_differ_in_case_only_are_all_known(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        spark.sql(f"CREATE TABLE {table_name} (a INT, A INT, p STRING) USING parquet PARTITIONED BY (p)")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    table = with_spark_schema(metastore.get_table("default", table_name))
    assert [column.name for column in table.columns] == ["a", "A"]


@pytest.mark.parametrize(
    "form", ["USING parquet", pytest.param("USING orc", marks=pytest.mark.long), "STORED AS PARQUET"]
)
def test_blanks_around_the_name_of_a_column_are_part_of_it(spark: SparkSession, table_name: str, form: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} {form} PARTITIONED BY (` k`) AS SELECT 1 AS a, 2 AS ` b `, 'x' AS ` k`")
    spark.sql(f"INSERT INTO {table_name} PARTITION (` k` = 'y') SELECT 3, 4")
    spark.sql(f"INSERT OVERWRITE {table_name} SELECT a, 5, ` k` FROM {table_name} WHERE ` k` = 'y'")
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION (` k` = 'z')")
    rows_now = spark.sql(f"SELECT a, ` b `, ` k` FROM {table_name} WHERE ` b ` > 1 ORDER BY a").collect()
    assert [tuple(row) for row in rows_now] == [(1, 2, "x"), (3, 5, "y")]
    partitions = [row[0] for row in spark.sql(f"SHOW PARTITIONS {table_name}").collect()]
    assert partitions == [" k=x", " k=y", " k=z"]
