"""UNDROP is handled; similar statements are left to Spark."""

from __future__ import annotations

import pytest

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.undrop import Undrop, parse


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("UNDROP TABLE t", Undrop("t")),
        ("undrop table `a b`.t as old ;", Undrop("`a b`.t", new_name="old")),
        (
            "UNDROP /* all */ TABLE a.t PARTITION (ds='x)', hr=1) -- back",
            Undrop("a.t", partition="(ds='x)', hr=1)"),
        ),
        ("UNDROP DATABASE d", Undrop("d", is_database=True)),
        ("UNDROP SCHEMA d", Undrop("d", is_database=True)),
    ],
)
def test_claimed(text: str, wanted: Undrop) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize("text", ["SELECT 'UNDROP TABLE t'", "SELECT undrop FROM t", "DROP TABLE undrop"])
def test_left_to_spark(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    "text", ["UNDROP", "UNDROP t", "UNDROP TABLE", "UNDROP TABLE t AS", "UNDROP TABLE t u", "UNDROP DATABASE d AS e"]
)
def test_refused(text: str) -> None:
    with pytest.raises(InvalidStatementError, match=r"expected .* Write: UNDROP TABLE name"):
        parse(text)
