"""DESCRIBE EXTENDED and SHOW CREATE TABLE: which are handled, and which are left to Spark."""

from __future__ import annotations

import pytest

from spark_client.statements.grammar.descriptions import DescribeTable, ShowCreateTable, parse


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("DESCRIBE EXTENDED t", DescribeTable("t", None)),
        ("desc formatted `a b`.t;", DescribeTable("`a b`.t", None)),
        ("DESCRIBE TABLE FORMATTED a.t PARTITION (p = ')', q=(1))", DescribeTable("a.t", "(p = ')', q=(1))")),
        ("SHOW CREATE TABLE c.a.t", ShowCreateTable("c.a.t")),
        ("show /* */ create table t as serde", ShowCreateTable("t")),
    ],
)
def test_described_statements(text: str, statement: DescribeTable | ShowCreateTable) -> None:
    assert parse(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "",
        "DESCRIBE t",
        "DESCRIBE EXTENDED t col",
        "DESCRIBE EXTENDED t AS JSON",
        "DESCRIBE EXTENDED SELECT 1",
        "DESCRIBE FUNCTION EXTENDED f",
        "DESCRIBE DATABASE EXTENDED d",
        "EXPLAIN EXTENDED SELECT 1",
        "CREATE TABLE formatted (x INT)",
        "SHOW CREATE TABLE",
        "SHOW CREATE TABLE t AS rubbish",
        "'extended",
    ],
)
def test_statements_left_to_spark(text: str) -> None:
    assert parse(text) is None
