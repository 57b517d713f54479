"""ALTER TABLE … CONCATENATE is handled; similar statements are left to Spark."""

from __future__ import annotations

import pytest

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.concatenate import Concatenate, parse


@pytest.mark.parametrize(
    ("text", "table", "partition"),
    [
        ("ALTER TABLE t CONCATENATE", "t", None),
        ("alter table `a b`.t partition (ds='x)', hr=1) concatenate ;", "`a b`.t", "(ds='x)', hr=1)"),
        ("ALTER /* small */ TABLE a.b.t PARTITION (p) CONCATENATE -- files", "a.b.t", "(p)"),
    ],
)
def test_claimed(text: str, table: str, partition: str | None) -> None:
    assert parse(text) == Concatenate(table, partition)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE concatenate SET TBLPROPERTIES ('a'='b')",
        "SELECT 'ALTER TABLE t CONCATENATE'",
        "ALTER TABLE t RENAME TO concatenate",
        "ALTER VIEW t CONCATENATE",
        "ALTER TABLE CONCATENATE",
    ],
)
def test_left_to_spark(text: str) -> None:
    assert parse(text) is None


def test_nothing_may_follow() -> None:
    with pytest.raises(InvalidStatementError, match="expected the end of the statement, found 'CASCADE'"):
        parse("ALTER TABLE t CONCATENATE CASCADE")
