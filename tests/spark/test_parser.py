"""Statements are parsed wherever SQL is accepted: with parameters, in scripts, in EXECUTE IMMEDIATE, from Java."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_client import Session
from spark_client.errors import InvalidStatementError
from tests.spark.since import since

SKEWED = "SKEWED BY (x) ON ('a', 'b') STORED AS DIRECTORIES STORED AS PARQUET"
needs_scripts = since("4.0", "SQL scripts and EXECUTE IMMEDIATE")


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> str:
    spark.sql(f"CREATE TABLE {table_name} (id INT, x STRING) PARTITIONED BY (ds STRING) {SKEWED}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', '1'), (2, 'c', '1')")
    return table_name


def plan_of(spark: SparkSession, text: str) -> Any:
    java: Any = spark._jsparkSession
    return java.sql(text).queryExecution()


def skew_of(spark: Session, table: str) -> Any:
    return spark.metastore.get_table("default", table).skew


def test_parameters_by_name(spark: Session, table: str) -> None:
    report = spark.sql(f"ALTER TABLE {table} PARTITION (ds = :ds) CONCATENATE", args={"ds": "1"})
    assert {row.partition for row in report.collect()} == {"ds=1"}
    spark.sql(f"ALTER TABLE {table} SKEWED BY (x) ON (:one, 'z') STORED AS DIRECTORIES", args={"one": "it's"})
    assert skew_of(spark, table).values == (("it's",), ("z",))


def test_parameters_by_position(spark: Session, table: str) -> None:
    spark.sql(f"ALTER TABLE {table} SKEWED BY (x) ON (?, 'q?', ?) STORED AS DIRECTORIES", args=["m", "n"])
    assert skew_of(spark, table).values == (("m",), ("q?",), ("n",))


def test_parameters_of_a_query(spark: Session, table_name: str) -> None:
    made = f"CREATE TABLE {table_name} (s STRUCT<a: INT>, n INT) STORED AS PARQUET AS SELECT named_struct('a', :n), :n"
    spark.sql(made, args={"n": 7, "a": 1})
    assert [tuple(row) for row in spark.table(table_name).selectExpr("s.a", "n").collect()] == [(7, 7)]


def test_a_parameter_without_a_value_is_named(spark: Session, table: str) -> None:
    with pytest.raises(PySparkException, match="UNBOUND_SQL_PARAMETER"):
        spark.sql(f"ALTER TABLE {table} PARTITION (ds = :day) CONCATENATE")


@needs_scripts
def test_a_script_in_which_statements_follow_each_other(spark: Session, table_name: str) -> None:
    rows = spark.sql(
        f"""BEGIN
          DECLARE n INT DEFAULT 2;
          CREATE TABLE {table_name} (v INT) PARTITIONED BY (x STRING) STORED AS PARQUET;
          INSERT INTO {table_name} VALUES (1, 'a;b'), (2, 'b');
          IF n = 2 THEN
            CREATE DEPENDENT TABLE {table_name}_d PARTITIONED BY (x STRING) DEPENDS ON TABLE {table_name};
            ALTER TABLE {table_name}_d ADD PARTITION (x = 'a;b');
          END IF;
          SELECT v FROM {table_name}_d;
        END"""
    )
    assert [row.v for row in rows.collect()] == [1]


@needs_scripts
def test_execute_immediate(spark: Session, table: str) -> None:
    text = f"ALTER TABLE {table} SKEWED BY (x) ON (?) STORED AS DIRECTORIES"
    spark.sql(f"EXECUTE IMMEDIATE \"{text}\" USING 'k'")
    assert skew_of(spark, table).values == (("k",),)


def test_from_java(spark: Session, table: str) -> None:
    assert plan_of(spark, f"ALTER TABLE {table} NOT SKEWED").commandExecuted().nodeName() == "CommandResult"
    assert skew_of(spark, table).values == ()


def test_variables_are_put_in(spark: Session, table: str) -> None:
    spark.sql("SET wanted = w")
    spark.sql(f"ALTER TABLE {table} SKEWED BY (x) ON ('${{wanted}}') STORED AS DIRECTORIES")
    assert skew_of(spark, table).values == (("w",),)


def test_commands_are_the_top_of_their_plans(spark: SparkSession, table: str) -> None:
    """A command runs once however often its rows are requested: Spark Connect relies on that."""
    for text in (
        f"INSERT INTO {table} VALUES (3, 'b', '2')",
        f"FROM {table} INSERT INTO {table} SELECT id, x, '8' INSERT INTO {table} SELECT id, x, '9'",
        f"CREATE TABLE {table}_made STORED AS PARQUET AS SELECT * FROM {table}",
        f"TRUNCATE TABLE {table}_made",
        f"DESCRIBE EXTENDED {table}",
        f"ALTER TABLE {table} PARTITION (ds = '1') CONCATENATE",
    ):
        assert plan_of(spark, text).commandExecuted().nodeName() == "CommandResult", text


def test_other_statements_do_not_reach_python(spark: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_client.statements.run import handlers

    def refuse(*_: object) -> bool:
        raise InvalidStatementError("it was asked")

    monkeypatch.setattr(handlers, "is_candidate", refuse)
    for text in ("SELECT 1", "-- ALTER\n/* DROP */ WITH t AS (SELECT 1) SELECT * FROM t", "SET a = 1", "VALUES (1)"):
        spark.sql(text)
    with pytest.raises(InvalidStatementError, match="it was asked"):
        spark.sql("/* ordinary */ -- comment\n ALTER TABLE nobody SKEWED BY (x) ON (1)")


def explained(spark: SparkSession, text: str) -> str:
    return str(spark.sql(text).collect()[0][0])


def test_explain_shows_the_files_that_are_read_and_their_total(spark: SparkSession, table: str) -> None:
    spark.sql(f"INSERT INTO {table} VALUES (3, 'a', '2')")
    query = f"SELECT id FROM {table} WHERE x = 'a' AND ds = '1'"
    line = f"default.{table}: 1 of 2 partitions, 1 of 4 directories, 1 of 3 files, "
    for mode in ("", "EXTENDED", "FORMATTED"):
        assert line in explained(spark, f"EXPLAIN {mode} {query}"), mode
    assert "Scans of" not in explained(spark, "EXPLAIN SELECT 1")


def test_explain_shows_the_queries_under_a_command(spark: SparkSession, table: str) -> None:
    line = f"default.{table}: 1 of 1 partitions, 1 of 2 directories, 1 of 2 files, "
    query = f"SELECT id, x, ds FROM {table} WHERE x = 'a'"
    spark.sql(f"CREATE TABLE {table}_other (id INT, x STRING, ds STRING) STORED AS ORC")
    for text in (
        f"INSERT INTO {table} {query}",
        f"CREATE TABLE {table}_made STORED AS PARQUET AS {query}",
        f"FROM {table} INSERT INTO {table} SELECT * WHERE x = 'a' INSERT INTO {table} SELECT * WHERE x = 'b'",
        f"DELETE FROM {table} WHERE x = 'a'",
        f"UPDATE {table} SET id = 7 WHERE x = 'a'",
        f"MERGE INTO {table} t USING (SELECT 1 AS i) s ON t.x = 'a' AND t.id = s.i WHEN MATCHED THEN DELETE",
        f"MERGE INTO {table}_other t USING ({query}) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
        f"INSERT INTO {table}_other REPLACE WHERE id = 1 {query}",
    ):
        told = explained(spark, f"EXPLAIN {text}")
        assert line in told, told
        assert "FileScan parquet" in told
        if text.startswith(("DELETE", "UPDATE", "MERGE")):
            assert f"{text.split()[0]} spark_catalog.default.{table}" in told
    assert spark.table(table).count() == 2
    assert not spark.catalog.tableExists(f"{table}_made")
