"""Budgets as they are written."""

from __future__ import annotations

import pytest

from metastore.domain.budgets import Budget, parse_budgets
from metastore.errors import ConfigurationError


def test_rules_are_read() -> None:
    budgets = parse_budgets(" user *: calls=100 bytes=64M; user etl:calls=1000 ;client java : partitions=5K, calls=7;")
    assert budgets.of_user("alice") == Budget(calls=100, bytes=64 * 2**20)
    assert budgets.of_user("etl") == Budget(calls=1000)
    assert budgets.of_client("java") == Budget(partitions=5 * 2**10, calls=7)
    assert budgets.of_client("other") == Budget()


def test_nothing_is_no_budget() -> None:
    assert parse_budgets("").of_user("alice") == Budget()


@pytest.mark.parametrize(
    "text", ["alice: calls=1", "user a", "user a:", "user a: calls=x", "user a: rows=1", "calls=1"]
)
def test_what_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"budgets: '{text}' cannot be read"):
        parse_budgets(f"user *: calls=1; {text}")


def test_a_budget_leaves_something() -> None:
    with pytest.raises(ConfigurationError, match="a limit is 1 or more"):
        parse_budgets("user a: calls=0")
