"""The statements about dependent tables, and similar texts that are left to Spark."""

from __future__ import annotations

import pytest

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.dependent_tables import (
    CreateDependentTable,
    DependsOn,
    DropCascade,
    TableStatement,
    parse,
)


def test_create() -> None:
    text = (
        "create dependent table if not exists a.`T d` comment 'c' partitioned by (ds string, Hr decimal(3, 2), m) "
        "depends on table b.T tblproperties ('x' = 'y', 'z' = '1') ;"
    )
    assert parse(text) == CreateDependentTable(
        table="a.`T d`",
        keys=(("ds", "string"), ("hr", "decimal(3, 2)"), ("m", None)),
        base="b.T",
        if_not_exists=True,
        comment="'c'",
        properties=(("'x'", "'y'"), ("'z'", "'1'")),
    )
    short = parse("CREATE DEPENDENT TABLE d PARTITIONED BY (ds) DEPENDS ON t")
    assert short == CreateDependentTable("d", (("ds", None),), "t", False, None, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALTER TABLE d DEPENDS ON TABLE b.t", DependsOn("d", "b.t", None)),
        ("alter table d partition (ds='1)', hr = 2) depends on t", DependsOn("d", "t", "(ds='1)', hr = 2)")),
        ("/* c */ DROP TABLE IF EXISTS b.`t` PURGE CASCADE;", DropCascade("b.`t`", if_exists=True)),
        ("drop view d cascade", DropCascade("d", if_exists=False)),
    ],
)
def test_statements_that_are_claimed(text: str, expected: object) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "table", "kind", "partition"),
    [
        ("ALTER TABLE a.d ADD PARTITION (ds=1)", "a.d", "ADD", None),
        ("alter table d add if not exists partition (ds=1)", "d", "ADD", None),
        ("ALTER VIEW d DROP IF EXISTS PARTITION (ds=1)", "d", "DROP", None),
        ("alter table d partition (ds=1) rename to partition (ds=2)", "d", "RENAME", None),
        ("alter table d rename to e", "d", "ALTER", None),
        ("ALTER VIEW a.d SET TBLPROPERTIES ('x' = 'y')", "a.d", "ALTER", None),
        ("alter table d unset tblproperties if exists ('x')", "d", "ALTER", None),
        ("drop table if exists a.d purge;", "a.d", "DROP TABLE", None),
        ("show create table a.d", "a.d", "SHOW CREATE", None),
        ("show create table d as serde", "d", "SHOW CREATE", None),
        ("show partitions d partition (ds=1)", "d", "SHOW", None),
        ("desc extended d", "d", "DESCRIBE", None),
        ("DESCRIBE TABLE FORMATTED a.d PARTITION(ds=1)", "a.d", "DESCRIBE", "(ds=1)"),
        ("load data local inpath 'into table x' overwrite into table d", "d", "WRITE", None),
        ("TRUNCATE TABLE d PARTITION (ds=1)", "d", "WRITE", None),
        ("delete from a.d where ds=1", "a.d", "WRITE", None),
        ("UPDATE d SET k='x'", "d", "WRITE", None),
        ("merge into d using t on true when matched then delete", "d", "WRITE", None),
        ("create or replace view a.d (x) as select 1", "a.d", "VIEW", None),
        ("ALTER VIEW d AS SELECT 1", "d", "VIEW", None),
    ],
)
def test_statements_that_may_be_about_a_dependent_table(
    text: str, table: str, kind: str, partition: str | None
) -> None:
    assert parse(text) == TableStatement(table, kind, text, partition)


def test_the_clauses_after_the_kind() -> None:
    """Spark's parser receives the statement with another kind of object in it."""
    statement = parse("/* alter table x */ ALTER  TABLE\n`a b`.d RENAME TO e")
    assert isinstance(statement, TableStatement)
    assert statement.statement[statement.name_start :] == "\n`a b`.d RENAME TO e"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "select dependent, depends from dependent",
        "create table dependent (a int)",
        "alter table d rename column a to b",
        "alter table d add columns (b int)",
        "alter table d partition (ds=1) set location '/x'",
        "describe d",
        "describe extended d a",
        "describe extended d as json",
        "describe function extended depends",
        "show tables",
        "drop database d cascade",
        "drop view if exists d",
        "create view d as select 1",
        "create or replace temporary view d as select 1",
        "show create table",
        "show create table d e",
        "drop view d",
        "drop table",
        "-- c\ninsert into table d select depends from t",
        "insert overwrite directory '/x' select 1",
        "with x as (select 1) select * from x",
    ],
)
def test_statements_left_to_spark(text: str) -> None:
    assert parse(text) is None or parse(text) == TableStatement("directory", "WRITE", text)


@pytest.mark.parametrize(
    "text",
    [
        "create dependent table",
        "create dependent table d",
        "create dependent table d partitioned by ds depends on t",
        "create dependent table d partitioned by (ds depends on t",
        "create dependent table d partitioned by (ds) depends on",
        "create dependent table d partitioned by (ds) depends on t stored as parquet",
        "create dependent table d (a int) partitioned by (ds) depends on t",
        "create dependent table d partitioned by (ds) depends on t location '/x'",
        "alter table d depends on",
        "alter table d depends on t, t2",
        "alter table d depends t",
        "drop table d cascade restrict",
    ],
)
def test_malformed_statements(text: str) -> None:
    with pytest.raises(InvalidStatementError, match="expected"):
        parse(text)
