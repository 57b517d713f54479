"""CREATE TABLE with types and AS SELECT, SHOW CREATE DATABASE: what is handled, and what is left to Spark."""

from __future__ import annotations

import pytest

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar import databases, external_tables, skewed_tables, text_tables
from spark_client.statements.grammar.databases import ShowCreateDatabase
from spark_client.statements.grammar.new_tables import CreateTableAsSelect, parse


def test_the_statement_of_hives_design() -> None:
    text = """
   CREATE TABLE T (key int, value string) PARTITIONED BY (ds string, hr int) AS
   SELECT key, value, ds, hr+1 hr1 FROM srcpart WHERE ds is not null and hr>10;
"""
    statement = parse(text)
    assert isinstance(statement, CreateTableAsSelect)
    assert (statement.table, statement.keys, statement.has_format) == ("T", 2, False)
    definition = "CREATE TABLE T (key int, value string) PARTITIONED BY (ds string, hr int)"
    assert " ".join(statement.definition("").split()) == definition
    assert statement.query == "SELECT key, value, ds, hr+1 hr1 FROM srcpart WHERE ds is not null and hr>10"


@pytest.mark.parametrize(
    ("text", "definition", "query"),
    [
        (
            "create external table if not exists `b` (k int) options ('x'='as s') as with x as (select 1) select *",
            "create external table if not exists `b` (k int) options ('x'='as s')",
            "with x as (select 1) select *",
        ),
        (
            "CREATE TABLE t PARTITIONED BY (n decimal(10,2), m map<int,string>) STORED AS PARQUET AS (SELECT 1)",
            "CREATE TABLE t (GIVEN) PARTITIONED BY (n decimal(10,2), m map<int,string>) STORED AS PARQUET",
            "(SELECT 1)",
        ),
        ("CREATE TABLE t (a int) USING hive SELECT 1", "CREATE TABLE t (a int) USING hive", "SELECT 1"),
        ("CREATE TABLE t (a int) FROM x SELECT 1", "CREATE TABLE t (a int)", "FROM x SELECT 1"),
    ],
)
def test_statements_that_are_parsed(text: str, definition: str, query: str) -> None:
    statement = parse(text)
    assert isinstance(statement, CreateTableAsSelect)
    assert statement.definition("(GIVEN)").split() == definition.split()
    assert statement.query == query


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t STORED AS PARQUET PARTITIONED BY (ds, hr) AS SELECT 1",
        "CREATE TABLE t (a int) USING parquet AS SELECT 1",
        "CREATE TABLE t (a int) PARTITIONED BY (ds string) STORED AS PARQUET",
        "CREATE TABLE t LIKE u",
        "CREATE TABLE t (a int",
        "CREATE TABLE t (a int) AS",
        "CREATE TABLE t (a int) ROW FORMAT DELIMITED NULL DEFINED AS '-' STORED AS TEXTFILE",
        "CREATE TABLE t (a map<int,int>) ROW FORMAT DELIMITED MAP KEYS TERMINATED BY ':'",
        "CREATE TABLE t PARTITIONED BY ds AS SELECT 1",
        "CREATE TABLE",
        "CREATE DATABASE d",
        "SHOW CREATE TABLE t",
        "SELECT 'create table t (a int) as select 1'",
        "CREATE VIEW v AS SELECT 'create database'",
    ],
)
def test_statements_left_to_spark(text: str) -> None:
    assert parse(text) is None


def test_show_create_database() -> None:
    assert databases.parse("show create database `a b`;") == ShowCreateDatabase("`a b`")
    assert databases.parse("SHOW CREATE SCHEMA d") == ShowCreateDatabase("d")
    with pytest.raises(InvalidStatementError, match="needs the name of a database"):
        databases.parse("SHOW CREATE DATABASE")
    with pytest.raises(InvalidStatementError, match="the end of the statement"):
        databases.parse("SHOW CREATE DATABASE d e")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE EXTERNAL TABLE t (a INT) LOCATION '/x'",
        "CREATE EXTERNAL TABLE t (a INT) SKEWED BY (a) ON (1)",
        "CREATE EXTERNAL TABLE t LIKE s",
        "CREATE EXTERNAL TABLE t STORED AS ORC AS SELECT 1",
        "CREATE TABLE external (a INT)",
    ],
)
def test_only_external_tables_without_a_location_are_claimed(text: str) -> None:
    assert external_tables.parse(text) is None


def test_an_external_table_without_a_place() -> None:
    text = "create external table if not exists d.`T` (location INT, `using` STRING) STORED AS ORC"
    assert external_tables.parse(f"{text} ; ") == external_tables.CreateExternalTable("d.`T`", text)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("CREATE TABLE t (a INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' NULL DEFINED AS '-'", "ROW"),
        ("create external table if not exists d.t (`row` INT) row  format serde 'x' LOCATION '/y'", "row  "),
        ("CREATE TABLE t ROW FORMAT DELIMITED MAP KEYS TERMINATED BY ':' AS SELECT 1 x WHERE 'a' LIKE 'b'", "ROW"),
        ("CREATE TABLE t (a INT) SKEWED BY (a) ON (1) STORED AS DIRECTORIES ROW FORMAT DELIMITED", "ROW"),
    ],
)
def test_row_format_without_a_format_means_text(text: str, position: str) -> None:
    start = text.index(position)
    translation = text_tables.parse(text)
    assert translation is not None
    assert translation.text == f"{text[:start]}STORED AS TEXTFILE {text[start:]}"
    assert text_tables.parse(translation.text) is None


CLASSES = "INPUTFORMAT 'org.apache.hadoop.mapred.TextInputFormat' OUTPUTFORMAT \"org.apache.hadoop.hive.ql.io.Any\""


@pytest.mark.parametrize("row_format", ["", "ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' "])
def test_the_classes_of_text_without_a_serde_mean_text(row_format: str) -> None:
    """As Athena writes them."""
    translation = text_tables.parse(f"CREATE TABLE t (a INT) {row_format}STORED AS {CLASSES} LOCATION '/x'")
    assert translation is not None
    assert translation.text == f"CREATE TABLE t (a INT) {row_format}STORED AS TEXTFILE LOCATION '/x'"


@pytest.mark.parametrize(
    "text",
    [
        f"CREATE TABLE t (a INT) ROW FORMAT SERDE 'x.Y' STORED AS {CLASSES}",
        "CREATE TABLE t (a INT) STORED AS INPUTFORMAT 'x.OtherInputFormat' OUTPUTFORMAT 'y'",
        "CREATE TABLE t (a INT) STORED AS INPUTFORMAT",
        "CREATE TABLE inputformat (a INT)",
        "CREATE TABLE t (a INT) ROW FORMAT DELIMITED STORED AS SEQUENCEFILE",
        "CREATE TABLE t (a INT) STORED AS TEXTFILE ROW FORMAT DELIMITED",
        "CREATE TABLE t LIKE s ROW FORMAT DELIMITED",
        "CREATE TABLE t (a INT) USING hive ROW FORMAT DELIMITED",
        "CREATE TABLE t (a INT COMMENT 'row format')",
        "CREATE TABLE t (a INT ROW FORMAT DELIMITED",
        "SELECT 'row format'",
    ],
)
def test_other_formats_stay(text: str) -> None:
    assert text_tables.parse(text) is None


def test_null_defined_as_begins_no_query() -> None:
    """Its last word is the one before a query."""
    rest = "ROW FORMAT DELIMITED NULL DEFINED AS '-' STORED AS TEXTFILE"
    skewed = skewed_tables.parse(f"CREATE TABLE t (a INT) {rest} SKEWED BY (a) ON (1)")
    assert isinstance(skewed, skewed_tables.CreateSkewedTable)
    text = f"CREATE EXTERNAL TABLE t (a INT) {rest}"
    assert external_tables.parse(text) == external_tables.CreateExternalTable("t", text)
