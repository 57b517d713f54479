"""Statements about skew: what is claimed, what is left to Spark, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_client.errors import InvalidStatementError
from spark_client.statements.skewed import (
    AlterTableNotSkewed,
    AlterTableSkewed,
    CreateSkewedTable,
    SkewedBy,
    parse,
)

ONE = SkewedBy(("x",), (("1",), ("2",)), directories=True)


@pytest.mark.parametrize(
    ("text", "rest", "skewed_by"),
    [
        (
            "CREATE TABLE t (x INT) SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES STORED AS PARQUET",
            "CREATE TABLE t (x INT) STORED AS PARQUET",
            ONE,
        ),
        (
            "create table if not exists a.t (x int, skewed int)\nskewed by (X) on ((1), (2))\nstored as directories;",
            "create table if not exists a.t (x int, skewed int) ;",
            ONE,
        ),
        (
            "CREATE EXTERNAL TABLE t (x INT) STORED AS ORC STORED AS DIRECTORIES LOCATION '/' SKEWED BY (`x`) ON (1,2)",
            "CREATE EXTERNAL TABLE t (x INT) STORED AS ORC LOCATION '/'",
            ONE,
        ),
        (
            "CREATE TABLE t (x INT) SKEWED BY (x, `Y Z`) ON ((1,'a'), (-2.5, DATE '2020-01-01'), (NULL, true))",
            "CREATE TABLE t (x INT)",
            SkewedBy(("x", "y z"), (("1", "'a'"), ("-2.5", "DATE '2020-01-01'"), ("NULL", "true")), directories=False),
        ),
        (
            """CREATE TABLE t /* SKEWED */ (x INT COMMENT 'SKEWED BY') SKEWED BY (x) ON ('it\\'s', 'a' "b", r'\\')""",
            """CREATE TABLE t /* SKEWED */ (x INT COMMENT 'SKEWED BY')""",
            SkewedBy(("x",), (("'it\\'s'",), ("'a' \"b\"",), ("r'\\'",)), directories=False),
        ),
        (
            "CREATE TABLE t SKEWED BY (x) ON (1,2) STORED AS DIRECTORIES AS SELECT 1 AS x",
            "CREATE TABLE t AS SELECT 1 AS x",
            ONE,
        ),
    ],
)
def test_create_table_is_cut_in_two(text: str, rest: str, skewed_by: SkewedBy) -> None:
    assert parse(text) == CreateSkewedTable(rest, skewed_by)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("ALTER TABLE a.t SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES", AlterTableSkewed("a.t", ONE)),
        ("alter table `a b`.`c` not skewed", AlterTableNotSkewed("`a b`.`c`", keep_skew=False)),
        ("alter table t not /* . */ stored as directories;", AlterTableNotSkewed("t", keep_skew=True)),
    ],
)
def test_alter_table(text: str, statement: AlterTableSkewed | AlterTableNotSkewed) -> None:
    assert parse(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 1",
        "SELECT 'skewed by' FROM directories",
        "CREATE TABLE t (skewed INT, directories INT)",
        "CREATE TABLE t (x INT COMMENT 'SKEWED BY (x) ON (1)')",
        "CREATE TABLE t (x INT) -- SKEWED BY (x) ON (1)",
        "CREATE TABLE skewed AS SELECT * FROM directories",
        "CREATE TABLE t AS SELECT skewed by FROM x",
        "CREATE VIEW skewed AS SELECT 1",
        "CREATE FUNCTION skewed AS 'directories'",
        "ALTER TABLE skewed ADD COLUMNS (x INT)",
        "ALTER TABLE t SET SKEWED LOCATION (1='file:/x')",
        "ALTER TABLE t SET TBLPROPERTIES ('skewed'='directories')",
        "EXPLAIN CREATE TABLE t (x INT) SKEWED BY (x) ON (1)",
        "skewed",
    ],
)
def test_what_is_not_surely_ours_is_left_to_spark(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("SKEWED BY () ON (1)", r"\[Error 10200\]: No skewed column name."),
        ("SKEWED BY (x) ON ()", r"\[Error 10201\]: No skewed values."),
        ("SKEWED BY (x, X) ON ((1, 2))", r"\[Error 10202\]: Duplicate skewed column name: x"),
        ("SKEWED BY (x, y) ON (1, 2)", r"\[Error 10206\].* different: 2 : 1 in \(1\)"),
        ("SKEWED BY (x) ON ((1, 2))", r"\[Error 10206\].* different: 1 : 2 in \(1, 2\)"),
        ("SKEWED BY x ON (1)", r"expected '\('"),
        ("SKEWED BY (x) (1)", "expected 'ON'"),
        ("SKEWED BY (x) ON (1 + 2)", r"expected ',', found '\+' at character 44"),
        ("SKEWED BY (x) ON (f(1))", "expected a constant"),
        ("SKEWED BY (x) ON (y)", "expected a constant"),
        ("SKEWED BY (1) ON (1)", "expected a column name"),
        ("SKEWED BY (x) ON (1", "the end of the statement"),
        ("SKEWED BY (x) ON (-'a')", "expected a constant"),
        ("SKEWED BY (x) ON (1) SKEWED BY (x) ON (1)", "twice"),
    ],
)
def test_a_broken_clause_is_named_on_one_line(clause: str, message: str) -> None:
    with pytest.raises(InvalidStatementError, match=message) as raised:
        parse(f"CREATE TABLE t (x INT) {clause}")
    assert "\n" not in str(raised.value)


def test_skew_belongs_to_whole_tables() -> None:
    with pytest.raises(InvalidStatementError, match="whole table only"):
        parse("ALTER TABLE t PARTITION (p = (1)) NOT SKEWED")
    with pytest.raises(InvalidStatementError, match="found 'x'"):
        parse("ALTER TABLE t NOT SKEWED x")


@given(
    st.text(alphabet="skewdbyon directories()'\"`,1x\\/*- \n"), st.sampled_from(["CREATE TABLE t ", "ALTER TABLE t "])
)
def test_rubbish_is_left_to_spark_or_refused(text: str, start: str) -> None:
    for statement in (text, start + text, f"{start} (x INT) SKEWED BY {text}"):
        try:
            parse(statement)
        except InvalidStatementError as error:
            assert "\n" not in str(error)  # noqa: PT017 - the other outcome is no error
