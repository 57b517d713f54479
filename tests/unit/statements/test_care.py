"""EXPIRE and OPTIMIZE are handled; other statements are left to Spark and Delta Lake."""

from __future__ import annotations

import pytest

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.care import Advise, Discover, Expire, Optimize, Statement, parse


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ADVISE a.`t u`;", Advise("a.`t u`")),
        ("EXPIRE t", Expire("t")),
        ("expire `a b`.t dry run ;", Expire("`a b`.t", dry_run=True)),
        ("EXPIRE /* old */ a.b.t DRY RUN -- tonight", Expire("a.b.t", dry_run=True)),
        ("EXPIRE dry", Expire("dry")),
        ("DISCOVER PARTITIONS a.t", Discover("a.t")),
        ("discover partitions dry dry run", Discover("dry", dry_run=True)),
        ("OPTIMIZE t", Optimize("t")),
        ("optimize a.`t` dry run;", Optimize("a.`t`", dry_run=True)),
        (
            "OPTIMIZE t WHERE dt >= '2024-01-01' AND (h = 1 OR dry = 'DRY RUN') DRY RUN",
            Optimize("t", "dt >= '2024-01-01' AND (h = 1 OR dry = 'DRY RUN')", dry_run=True),
        ),
        ("OPTIMIZE t WHERE dry = run", Optimize("t", "dry = run")),
    ],
)
def test_claimed(text: str, wanted: Statement) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'EXPIRE t'",
        "SELECT advise FROM t",
        "SELECT expire FROM t",
        "DROP TABLE expire",
        "CREATE TABLE expire (a INT)",
    ],
)
def test_left_to_spark(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "ADVISE",
        "ADVISE t u",
        "EXPIRE",
        "EXPIRE t DRY",
        "EXPIRE t RUN",
        "EXPIRE t, u",
        "EXPIRE TABLE t",
        "EXPIRE t DRY RUN x",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(InvalidStatementError, match=r"expected .* Write: (ADVISE|EXPIRE) name"):
        parse(text)


def test_discover_takes_one_name() -> None:
    assert parse("DISCOVER t") is None
    with pytest.raises(InvalidStatementError, match=r"Write: DISCOVER PARTITIONS name \[DRY RUN\]"):
        parse("DISCOVER PARTITIONS t PARTITION (ds = 1)")


def test_the_word_table_is_refused_by_its_form() -> None:
    with pytest.raises(InvalidStatementError, match=r"expected .* Write: OPTIMIZE name"):
        parse("OPTIMIZE TABLE t")


def test_a_condition_is_required_after_where() -> None:
    with pytest.raises(InvalidStatementError, match=r"expected more, found the end .* Write: OPTIMIZE name"):
        parse("OPTIMIZE t WHERE")
