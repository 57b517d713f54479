"""Statements about skew: which are handled, which are left to Spark, and which are rejected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.skew_clause import SkewedBy
from spark_client.statements.grammar.skewed_tables import (
    AlterTableNotSkewed,
    AlterTableSkewed,
    CreateSkewedTable,
    CreateTableLike,
    SetSkewedLocation,
    parse,
)

ONE = SkewedBy(("x",), (("1",), ("2",)), directories=True)


@pytest.mark.parametrize(
    ("text", "table", "rest", "skewed_by"),
    [
        (
            "CREATE TABLE t (x INT) SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES STORED AS PARQUET",
            "t",
            "CREATE TABLE t (x INT) STORED AS PARQUET",
            ONE,
        ),
        (
            "create table if not exists a.t (x int, skewed int)\nskewed by (X) on ((1), (2))\nstored as directories;--",
            "a.t",
            "create table if not exists a.t (x int, skewed int)",
            ONE,
        ),
        (
            "CREATE EXTERNAL TABLE t (x INT) STORED AS ORC STORED AS DIRECTORIES LOCATION '/' SKEWED BY (`x`) ON (1,2)",
            "t",
            "CREATE EXTERNAL TABLE t (x INT) STORED AS ORC LOCATION '/'",
            ONE,
        ),
        (
            "CREATE TABLE t (x INT) SKEWED BY (x, `Y Z`) ON ((1,'a'), (-2.5, DATE '2020-01-01'), (NULL, true))",
            "t",
            "CREATE TABLE t (x INT)",
            SkewedBy(("x", "y z"), (("1", "'a'"), ("-2.5", "DATE '2020-01-01'"), ("NULL", "true")), directories=False),
        ),
        (
            """CREATE TABLE t /* SKEWED */ (x INT COMMENT 'SKEWED BY') SKEWED BY (x) ON ('it\\'s', 'a' "b", r'\\')""",
            "t",
            """CREATE TABLE t /* SKEWED */ (x INT COMMENT 'SKEWED BY')""",
            SkewedBy(("x",), (("'it\\'s'",), ("'a' \"b\"",), ("r'\\'",)), directories=False),
        ),
        (
            (
                "CREATE TABLE `like` (x INT) TBLPROPERTIES ('like' = 'STORED AS DIRECTORIES') SKEWED BY (x) ON (1,2) "
                "COMMENT 'SKEWED' STORED AS ORC PARTITIONED BY (p INT) STORED AS DIRECTORIES LOCATION '/AS'"
            ),
            "`like`",
            (
                "CREATE TABLE `like` (x INT) TBLPROPERTIES ('like' = 'STORED AS DIRECTORIES') "
                "COMMENT 'SKEWED' STORED AS ORC PARTITIONED BY (p INT) LOCATION '/AS'"
            ),
            ONE,
        ),
    ],
)
def test_create_table_is_cut_in_two(text: str, table: str, rest: str, skewed_by: SkewedBy) -> None:
    assert parse(text) == CreateSkewedTable(table, rest, skewed_by)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE TABLE a LIKE b", CreateTableLike("a", "CREATE TABLE a", "b", "", False, False, None)),
        (
            " create external table if not exists d.a /* */ like `b`.c location '/x' ;\n",
            CreateTableLike(
                "d.a", " create external table if not exists d.a", "`b`.c", "location '/x'", False, False, None
            ),
        ),
        (
            "CREATE TABLE a LIKE b SKEWED BY (x) ON (1, 2) STORED AS ORC STORED AS DIRECTORIES TBLPROPERTIES (k='v')",
            CreateTableLike("a", "CREATE TABLE a", "b", "STORED AS ORC TBLPROPERTIES (k='v')", True, False, ONE),
        ),
        (
            "CREATE TABLE a LIKE b SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES",
            CreateTableLike("a", "CREATE TABLE a", "b", "", False, False, ONE),
        ),
        (
            "CREATE TABLE a LIKE b USING parquet",
            CreateTableLike("a", "CREATE TABLE a", "b", "USING parquet", False, True, None),
        ),
    ],
)
def test_create_table_like(text: str, statement: CreateTableLike) -> None:
    assert parse(text) == statement


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE d.t SKEWED BY (x) ON (1) AS SELECT 1 AS x", "CREATE TABLE d.t AS SELECT cannot be SKEWED BY"),
        ("CREATE TABLE t STORED AS DIRECTORIES AS SELECT 1 AS x", "t AS SELECT cannot be SKEWED BY"),
        ("CREATE TABLE t (x INT) STORED AS DIRECTORIES", "t: STORED AS DIRECTORIES needs SKEWED BY"),
        ("CREATE TABLE t LIKE s STORED AS DIRECTORIES", "t: STORED AS DIRECTORIES needs SKEWED BY"),
    ],
)
def test_columns_that_cannot_be_skewed(text: str, message: str) -> None:
    with pytest.raises(InvalidStatementError, match=message):
        parse(text)


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
    ("text", "partition", "locations"),
    [
        ("ALTER TABLE t SET SKEWED LOCATION (1='file:/x')", None, [(("1",), "'file:/x'")]),
        (
            "alter table t partition (p = (1), q='a)') set skewed location ('A' = \"s3a://b/c\", (NULL) = 'x' 'y');",
            "(p = (1), q='a)')",
            [(("'A'",), '"s3a://b/c"'), (("NULL",), "'x' 'y'")],
        ),
        (
            "ALTER TABLE t SET SKEWED LOCATION ((1, 'a') = 'x', (-2, DATE '2020-01-01') = 'y')",
            None,
            [(("1", "'a'"), "'x'"), (("-2", "DATE '2020-01-01'"), "'y'")],
        ),
    ],
)
def test_set_skewed_location(text: str, partition: str | None, locations: list[tuple[tuple[str, ...], str]]) -> None:
    assert parse(text) == SetSkewedLocation("t", partition, tuple(locations))


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("()", r"\[Error 10197\].*\(table t\)"),
        ("(1)", r"\[Error 10198\].*\(table t: 1 = "),
        ("(1=2)", r"\[Error 10198\]"),
        ("(1=x)", r"\[Error 10198\]"),
        ("(x='y')", "expected a constant"),
        ("1='x'", r"expected '\('"),
        ("(1='x'", "the end of the statement"),
        ("(1='x') more", "found 'more'"),
    ],
)
def test_a_broken_location_is_named_on_one_line(clause: str, message: str) -> None:
    with pytest.raises(InvalidStatementError, match=message) as raised:
        parse(f"ALTER TABLE t SET SKEWED LOCATION {clause}")
    assert "\n" not in str(raised.value)


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
        "ALTER TABLE t SET LOCATION 'skewed'",
        "CREATE TABLE t",
        "SELECT * FROM t WHERE x LIKE 'a'",
        "CREATE VIEW t AS SELECT * FROM t WHERE x LIKE 'a'",
        "ALTER TABLE t SET TBLPROPERTIES ('skewed'='directories')",
        "EXPLAIN CREATE TABLE t (x INT) SKEWED BY (x) ON (1)",
        "skewed",
    ],
)
def test_ambiguous_statements_are_left_to_spark(text: str) -> None:
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
        ("SKEWED BY (x) ON (1) SKEWED BY (x) ON (1)", "has two SKEWED BY clauses"),
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
